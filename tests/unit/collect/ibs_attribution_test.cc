// Tests what IbsAttribution keeps of samples: sums of events by instruction, latencies by bucket
// and of loads by level of memory, cache lines, and what is dropped when its tables are full.
#include "collect/ibs_attribution.h"

#include <map>
#include <string>
#include <tuple>

#include "events/ibs_level.h"
#include "profile/ibs_buckets.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint32_t kSource = 3;

SampleLocation At(uint64_t offset, uint32_t thread = 0) { return {thread, 1, offset}; }

IbsOp Load(uint64_t address, uint16_t miss_cycles = 0) {
  IbsOp op;
  op.is_load = true;
  op.has_linear_address = true;
  op.linear_address = address;
  op.missed_dc = miss_cycles != 0;
  op.dc_miss_cycles = miss_cycles;
  op.tag_to_retire_cycles = 9;
  return op;
}

ProfileData DataOf(IbsAttribution* attribution) {
  ProfileData data;
  attribution->CopyTo(&data);
  return data;
}

// Returns the sums over all instructions.
std::map<std::string, uint64_t> SumsOf(const ProfileData& data) {
  std::map<std::string, uint64_t> sums;
  for (const IbsCount& count : data.ibs_counts) sums[data.ibs_names[count.name]] += count.sum;
  return sums;
}

std::map<std::string, uint64_t> LossesOf(const IbsAttribution& attribution) {
  std::vector<std::pair<std::string, uint64_t>> counters;
  attribution.AppendLosses(kSource, &counters);
  return {counters.begin(), counters.end()};
}

TEST_CASE("buckets are to a quarter, and every latency is in its own") {
  for (uint32_t cycles = 0; cycles <= UINT16_MAX; ++cycles) {
    const uint32_t bucket = IbsBucketOf(static_cast<uint16_t>(cycles));
    if (cycles < IbsBucketStart(bucket) || cycles >= IbsBucketStart(bucket + 1)) {
      FAIL(cycles << " is not in bucket " << bucket);
    }
  }
  CHECK(IbsBucketStart(8) == 8);
  CHECK(IbsBucketStart(9) == 10);
  CHECK(IbsBucketStart(12) == 16);
  CHECK(IbsBucketOf(476) == IbsBucketOf(448));
  CHECK(IbsBucketOf(476) != IbsBucketOf(447));
}

TEST_CASE("events of samples are added up by instruction, without those that are 0") {
  IbsAttribution attribution;
  attribution.Add(kSource, At(0x10), Load(0x1000, 100));
  attribution.Add(kSource, At(0x10), Load(0x1000, 50));
  attribution.Add(kSource, At(0x20), IbsOp());
  const ProfileData data = DataOf(&attribution);
  const auto sum_of = [&](uint64_t offset, const std::string& event) {
    uint64_t sum = 0;
    for (const IbsCount& count : data.ibs_counts) {
      if (count.offset == offset && data.ibs_names[count.name] == event) sum += count.sum;
    }
    return sum;
  };
  CHECK(sum_of(0x10, "op-samples") == 2);
  CHECK(sum_of(0x10, "op-loads") == 2);
  CHECK(sum_of(0x10, "op-dc-load-miss-cycles") == 150);
  CHECK(sum_of(0x20, "op-samples") == 1);
  for (const IbsCount& count : data.ibs_counts) {
    CHECK(count.sum != 0);
    CHECK(count.source == kSource);
    CHECK(count.module == 1);
    CHECK((count.offset == 0x10 || data.ibs_names[count.name] == "op-samples"));
  }
}

TEST_CASE("latencies are counted by bucket") {
  IbsAttribution attribution;
  for (int i = 0; i < 3; ++i) attribution.Add(kSource, At(0x10), Load(0x1000, 476));
  attribution.Add(kSource, At(0x10), Load(0x1000));
  IbsFetch fetch;
  fetch.is_complete = true;
  fetch.latency_cycles = 17;
  attribution.Add(kSource, At(0x10), fetch);
  const ProfileData data = DataOf(&attribution);
  std::map<std::pair<std::string, uint32_t>, uint64_t> buckets;
  for (const IbsCount& bucket : data.ibs_buckets) {
    if (bucket.module != kNoModule) continue;
    buckets[{data.ibs_names[bucket.name], IbsBucketStart(bucket.bucket)}] += bucket.sum;
  }
  CHECK(buckets ==
        std::map<std::pair<std::string, uint32_t>, uint64_t>{{{"tag-to-retire", 8}, 4},
                                                             {{"completion-to-retire", 0}, 4},
                                                             {{"dc-miss", 448}, 3},
                                                             {{"fetch", 16}, 1}});
}

TEST_CASE("latencies of loads are by instruction, thread and level of memory") {
  IbsAttribution attribution;
  IbsOp from_dram = Load(0x1000, 476);
  from_dram.data_source = IbsDataSource::kDram;
  attribution.Add(kSource, At(0x10), from_dram);
  attribution.Add(kSource, At(0x10), from_dram);
  attribution.Add(kSource, At(0x20), from_dram);
  attribution.Add(kSource, At(0x10, 1), from_dram);
  from_dram.is_remote = true;
  attribution.Add(kSource, At(0x10), from_dram);
  attribution.Add(kSource, At(0x10), Load(0x1000, 12));
  attribution.Add(kSource, At(0x10), Load(0x1000));
  IbsOp store;
  store.is_store = true;
  store.missed_dc = true;
  attribution.Add(kSource, At(0x10), store);
  using Bucket = std::tuple<uint64_t, uint32_t, std::string, uint32_t>;
  std::map<Bucket, uint64_t> buckets;
  for (const IbsCount& bucket : DataOf(&attribution).ibs_buckets) {
    if (bucket.module == kNoModule) continue;
    CHECK(bucket.module == 1);
    CHECK(bucket.source == kSource);
    buckets[{bucket.offset, bucket.thread, IbsLevelName(static_cast<IbsLevel>(bucket.level)),
             IbsBucketStart(bucket.bucket)}] += bucket.sum;
  }
  CHECK(buckets == std::map<Bucket, uint64_t>{{{0x10, 0, "local-dram", 448}, 2},
                                              {{0x20, 0, "local-dram", 448}, 1},
                                              {{0x10, 1, "local-dram", 448}, 1},
                                              {{0x10, 0, "remote-dram", 448}, 1},
                                              {{0x10, 0, "l2", 12}, 1},
                                              {{0x10, 0, "l1", 0}, 1}});
}

TEST_CASE("accesses are by cache line and thread") {
  IbsAttribution attribution;
  attribution.Add(kSource, At(0x10), Load(0x1000, 30));
  attribution.Add(kSource, At(0x20), Load(0x103f));
  attribution.Add(kSource, At(0x20, 1), Load(0x103f));
  attribution.Add(kSource, At(0x20), Load(0x1040));
  IbsOp store;
  store.is_store = true;
  store.has_linear_address = true;
  store.linear_address = 0x1008;
  attribution.Add(kSource, At(0x30), store);
  store.has_linear_address = false;
  attribution.Add(kSource, At(0x30), store);
  const ProfileData data = DataOf(&attribution);
  REQUIRE(data.ibs_lines.size() == 3);
  const IbsAccesses& line = data.ibs_lines[0];
  CHECK(line.address == 0x1000);
  CHECK(line.loads == 2);
  CHECK(line.stores == 1);
  CHECK(line.misses == 1);
  CHECK(line.miss_cycles == 30);
  CHECK(data.ibs_lines[1].thread == 1);
  CHECK(data.ibs_lines[2].address == 0x1040);
}

TEST_CASE("lines have loads from beyond the caches of the core by node") {
  IbsAttribution attribution;
  IbsOp load = Load(0x1000, 30);
  attribution.Add(kSource, At(0x10), load);  // from L2
  load.data_source = IbsDataSource::kDram;
  attribution.Add(kSource, At(0x10), load);
  load.is_remote = true;
  attribution.Add(kSource, At(0x10), load);
  load.is_remote = false;
  load.data_source = IbsDataSource::kFarCache;
  attribution.Add(kSource, At(0x10), load);
  load.missed_dc = false;
  attribution.Add(kSource, At(0x10), load);
  const ProfileData data = DataOf(&attribution);
  REQUIRE(data.ibs_lines.size() == 1);
  CHECK(data.ibs_lines[0].loads == 5);
  CHECK(data.ibs_lines[0].local == 1);
  CHECK(data.ibs_lines[0].remote == 2);
  CHECK(SumsOf(data).at("op-nb-local") == 1);
  CHECK(SumsOf(data).at("op-nb-remote") == 2);
}

TEST_CASE("accesses to a line are by the node of its memory") {
  MemoryNodes nodes = {0x1000, {{0, {0b0110}}, {3, {0b1000}}}};
  IbsAttribution attribution;
  IbsOp load = Load(0x7040);
  load.has_physical_address = true;
  load.physical_address = 0x1040;
  attribution.Add(kSource, At(0x10), load);
  attribution.SetMemoryNodes(&nodes);
  attribution.Add(kSource, At(0x10), load);
  load.physical_address = 0x2040;
  attribution.Add(kSource, At(0x10), load);
  load.physical_address = 0x3040;  // the page was moved
  attribution.Add(kSource, At(0x10), load);
  load.physical_address = 0x4040;
  attribution.Add(kSource, At(0x10), load);
  // A valid address that the kernel has cleared.
  nodes.nodes[0].blocks[0] |= 1;
  load.physical_address = 0;
  attribution.Add(kSource, At(0x10), load);
  std::map<uint32_t, uint64_t> loads;
  for (const IbsAccesses& line : DataOf(&attribution).ibs_lines) {
    CHECK(line.address == 0x7040);
    loads[line.node] += line.loads;
  }
  CHECK(loads == std::map<uint32_t, uint64_t>{{0, 2}, {3, 1}, {kUnknownNode, 3}});
}

TEST_CASE("the lines with the most samples stay, and the number that was dropped is reported") {
  IbsAttribution::Limits limits;
  limits.lines = 8;
  IbsAttribution attribution(limits);
  constexpr uint64_t kHot = 0x100000;
  for (uint64_t i = 0; i < 1000; ++i) {
    attribution.Add(kSource, At(0x10), Load(kHot + 64 * (i % 4)));
    attribution.Add(kSource, At(0x10), Load(64 * i));
  }
  const uint64_t dropped = LossesOf(attribution).at("ibs-accesses-dropped");
  const ProfileData data = DataOf(&attribution);
  CHECK(data.ibs_lines.size() < 2 * limits.lines);
  uint64_t kept = 0, hot = 0;
  for (const IbsAccesses& line : data.ibs_lines) {
    kept += line.loads;
    if (line.address >= kHot) hot += line.loads;
  }
  CHECK(hot == 1000);
  CHECK(kept + dropped == 2000);
  CHECK(SumsOf(data).at("op-loads") == 2000);
}

TEST_CASE("sums and latencies have a limit, and the number beyond it is reported") {
  IbsAttribution::Limits limits;
  limits.sums = 10;
  limits.buckets = 2;
  IbsAttribution attribution(limits);
  IbsOp load;
  load.is_load = true;
  for (uint64_t i = 0; i < 100; ++i) {
    attribution.Add(kSource, At(i, static_cast<uint32_t>(i)), load);
  }
  const auto losses = LossesOf(attribution);
  CHECK(losses.at("ibs-sums-dropped") == 390);
  // Two of each thread are of all instructions, which do not crowd each other out.
  CHECK(losses.at("ibs-latencies-dropped") == 98 + 2);
  const ProfileData data = DataOf(&attribution);
  CHECK(data.ibs_counts.size() == 10);
  uint64_t of_all = 0;
  for (const IbsCount& bucket : data.ibs_buckets) of_all += bucket.module == kNoModule;
  CHECK(of_all == 200);
}

}  // namespace
}  // namespace hbbp
