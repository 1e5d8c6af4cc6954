// Tests the decoding of IBS records (DecodeIbsOp(), DecodeIbsFetch()) and the events that a sample
// counts for. The inputs are registers of real processors with what perf says of them (Raw(), Op()
// and Fetch() make records of them), and recordings of Zen 2 and Zen 4 (HBBP_TEST_DATA).
#include "perf/ibs.h"

#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "events/ibs_level.h"
#include "perf/ibs_events.h"
#include "perf_data/perf_data_reader.h"
#include "support/catch.h"
#include "unit/perf_data/recordings.h"

namespace hbbp {
namespace {

constexpr uint32_t kZen4 = 1u << 11, kBranchTarget = 1u << 5;

std::vector<uint8_t> Raw(uint32_t capabilities, const std::vector<uint64_t>& registers) {
  std::vector<uint8_t> bytes(sizeof(capabilities) + registers.size() * sizeof(uint64_t));
  std::memcpy(bytes.data(), &capabilities, sizeof(capabilities));
  std::memcpy(bytes.data() + sizeof(capabilities), registers.data(),
              registers.size() * sizeof(uint64_t));
  return bytes;
}

IbsOp Op(uint64_t control, uint64_t data, uint64_t data2, uint64_t data3, uint32_t capabilities = 0,
         IbsQuirks quirks = {}) {
  const auto op = DecodeIbsOp(
      Raw(capabilities, {control, 0x401000, data, data2, data3, 0x7000, 0x9000, 0x402000}),
      ByteOrder::kNative, quirks);
  REQUIRE(op);
  return *op;
}

IbsFetch Fetch(uint64_t control) {
  const auto fetch = DecodeIbsFetch(Raw(0, {control, 0x401000, 0x9000, 0x12}), ByteOrder::kNative);
  REQUIRE(fetch);
  return *fetch;
}

template <typename Sample>
std::map<std::string, uint64_t> FindEvents(const Sample& sample) {
  std::map<std::string, uint64_t> values;
  VisitIbsEvents(sample, [&values](const char* event, uint64_t value) {
    if (value != 0) values[event] = value;
  });
  return values;
}

TEST_CASE("what erratum 1293 makes wrong is not known") {
  CHECK(IbsQuirksOf("AuthenticAMD,25,1,1").has_1293);
  CHECK(IbsQuirksOf("AuthenticAMD,25,15").has_1293);
  CHECK(!IbsQuirksOf("AuthenticAMD,25,17,1").has_1293);
  CHECK(!IbsQuirksOf("AuthenticAMD,23,1,1").has_1293);
  CHECK(!IbsQuirksOf("GenuineIntel,25,1,1").has_1293);
  CHECK(!IbsQuirksOf("").has_1293);

  constexpr uint64_t kLoadMissed = 0x81, kL2Miss = 1 << 20, kUnderway = 1 << 16,
                     kPrefetch = 1 << 21, kRemoteDram = 0x13;
  constexpr uint32_t kL2IsKnown = 1u << 9;
  const auto decoded = [](uint64_t data3, bool has_1293) {
    return Op(0, 0, kRemoteDram, kLoadMissed | data3, kL2IsKnown, {has_1293});
  };
  for (const uint64_t l2 : {uint64_t{0}, kL2Miss}) {
    const IbsOp underway = decoded(l2 | kUnderway, true), prefetch = decoded(l2 | kPrefetch, true);
    CHECK(IbsLevelOf(underway) == IbsLevel::kMissUnderway);
    CHECK(IbsLevelOf(prefetch) == IbsLevel::kUnknown);
    for (const IbsOp& op : {underway, prefetch}) {
      CHECK(IbsNodeOf(op) == IbsNode::kNone);
      CHECK(FindEvents(op).count("op-l2-misses") == 0);
    }
  }
  CHECK(IbsLevelOf(decoded(kL2Miss, true)) == IbsLevel::kRemoteDram);
  CHECK(IbsLevelOf(decoded(0, true)) == IbsLevel::kL2);
  CHECK(IbsLevelOf(decoded(kUnderway, false)) == IbsLevel::kL2);
  CHECK(IbsLevelOf(decoded(kL2Miss | kPrefetch, false)) == IbsLevel::kRemoteDram);
}

TEST_CASE("bits that a family reserves mean nothing") {
  constexpr uint64_t kAll = UINT64_MAX;
  const auto decoded = [](const char* cpu_id) {
    return Op(0, kAll, kAll, kAll, 0, IbsQuirksOf(cpu_id));
  };
  const auto has_node = [](const IbsOp& op) { return op.is_remote || op.hit_owned_line; };
  const auto has_conflicts = [](const IbsOp& op) {
    return op.has_load_bank_conflict || op.has_store_bank_conflict || op.is_forwarding_cancelled;
  };
  const auto has_1g = [](const IbsOp& op) { return op.hit_l1_dtlb_1g || op.hit_l2_dtlb_1g; };
  struct Family {
    const char* cpu_id;
    bool ip_is_invalid, has_node, has_conflicts, has_1g;
  };
  for (const Family& expected : {Family{"AuthenticAMD,16,4,2", false, true, true, true},
                                 Family{"AuthenticAMD,18,1,0", true, false, true, true},
                                 Family{"AuthenticAMD,20,1", true, false, false, false},
                                 Family{"AuthenticAMD,21,2,0", true, true, true, true},
                                 Family{"AuthenticAMD,272,1,0", true, true, true, true},
                                 Family{"GenuineIntel,20,1,0", true, true, true, true},
                                 Family{"AuthenticAMD", true, true, true, true}}) {
    INFO(expected.cpu_id);
    const IbsOp op = decoded(expected.cpu_id);
    CHECK(op.ip_is_invalid == expected.ip_is_invalid);
    CHECK(has_node(op) == expected.has_node);
    CHECK(has_conflicts(op) == expected.has_conflicts);
    CHECK(has_1g(op) == expected.has_1g);
    // Their neighbours are those of all families.
    CHECK(op.is_branch);
    CHECK(op.is_fused_branch);
    CHECK(op.data_source == static_cast<IbsDataSource>(7));
    CHECK(op.hit_l1_dtlb_2m);
    CHECK(op.hit_l2_dtlb_2m);
    CHECK(op.is_misaligned);
    CHECK(op.is_forwarded);
    CHECK(op.is_write_combining);
    CHECK(op.has_physical_address);
    CHECK(op.missed_l2);
  }
}

// Registers of real processors with their meaning, from the recordings' README.
TEST_CASE("ops mean what perf says that they mean") {
  IbsOp op = Op(0x0000009e009e8968, 0x00000000000b0002, 0x2, 0x0000000000c60002);
  CHECK(op.max_count == 10'000'000);
  CHECK(op.current_count == 158);
  CHECK(op.is_valid);
  CHECK(op.counts_uops);
  CHECK(op.completion_to_retire_cycles == 2);
  CHECK(op.tag_to_retire_cycles == 11);
  CHECK(!op.is_branch);
  CHECK(op.data_source == IbsDataSource::kNearCache);
  CHECK(op.is_store);
  CHECK(!op.is_load);
  CHECK(op.linear_address == 0x7000);
  CHECK(op.physical_address == 0x9000);
  CHECK(op.width_bytes == 4);

  op = Op(0x000002c30006186a, 0x0000010002550001, 0x13, 0x0000000031960092);
  CHECK(op.max_count == 100'000);
  CHECK(!op.counts_uops);
  CHECK(op.current_count == 707);
  CHECK(op.tag_to_retire_cycles == 597);
  CHECK(op.is_microcode);
  CHECK(op.is_remote);
  CHECK(op.data_source == IbsDataSource::kDram);
  CHECK(op.hit_l1_dtlb_2m);
  CHECK(op.missed_dc);
  CHECK(op.missed_l2);
  CHECK(op.width_bytes == 32);
  CHECK(op.open_requests == 12);

  op = Op(0x0000004500070008, 0, 0, 0x000000681d1700a1);
  CHECK(op.max_count == 128);
  CHECK(op.only_l3_misses);
  CHECK(op.width_bytes == 8);
  CHECK(op.open_requests == 7);
  CHECK(op.dc_miss_cycles == 104);
}

TEST_CASE("fetches mean what perf says that they mean") {
  IbsFetch fetch = Fetch(0x3c1f00c700080008);
  CHECK(fetch.max_count == 128);
  CHECK(fetch.current_count == 128);
  CHECK(fetch.latency_cycles == 199);
  CHECK(fetch.missed_ic);
  CHECK(fetch.missed_l2);
  CHECK(fetch.only_l3_misses);
  CHECK(fetch.itlb_refill_cycles == 0x12);

  fetch = Fetch(0x02170007ffffffff);
  CHECK(fetch.max_count == 1'048'560);
  CHECK(fetch.latency_cycles == 7);
  CHECK(!fetch.missed_ic);
  CHECK(fetch.page_bytes == 4096);
  CHECK(fetch.is_randomized);
  CHECK(fetch.physical_address == 0x9000);
}

TEST_CASE("what a register keeps from an earlier op is not reported") {
  constexpr uint64_t kTakenBranch = uint64_t{1} << 37 | uint64_t{1} << 35;
  CHECK(Op(0, 0, 0, 0, kBranchTarget).branch_target == 0);
  CHECK(Op(0, kTakenBranch, 0, 0, kBranchTarget).branch_target == 0x402000);
  CHECK(Op(0, kTakenBranch, 0, 0).branch_target == 0);
  CHECK(Op(0, 0, 0, 0).linear_address == 0);
}

TEST_CASE("the source of data has more values since Zen 4") {
  CHECK(Op(0, 0, 0x40, 0, kZen4).data_source == IbsDataSource::kExtension);
  CHECK(Op(0, 0, 0x84, 0).data_source == static_cast<IbsDataSource>(4));
  CHECK(Op(0, 0, 0x44, 0, kZen4).data_source == IbsDataSource::kPeerAgent);
}

TEST_CASE("raw data that is too short is none") {
  const std::vector<uint8_t> whole = Raw(0, std::vector<uint64_t>(7));
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK(!DecodeIbsOp(std::span(whole).first(size), ByteOrder::kNative));
  }
  CHECK(DecodeIbsOp(whole, ByteOrder::kNative));
  CHECK(!DecodeIbsFetch(std::span(whole).first(27), ByteOrder::kNative));
  CHECK(DecodeIbsFetch(std::span(whole).first(28), ByteOrder::kNative));
}

TEST_CASE("a load that missed everything is counted for each thing that it missed") {
  constexpr uint64_t kLoad = 1, kMissedDtlbs = 0xc, kMissedDc = 0x80, kLinear = 1 << 17,
                     kMissedL2 = 1 << 20;
  const uint64_t data3 = uint64_t{50} << 48 | uint64_t{300} << 32 | kMissedL2 | kLinear |
                         kMissedDc | kMissedDtlbs | kLoad;
  const auto events = FindEvents(Op(0, uint64_t{40} << 16, 0x13, data3));
  const std::map<std::string, uint64_t> expected = {
      {"op-samples", 1},   {"op-tag-to-retire-cycles", 40}, {"op-loads-and-stores", 1},
      {"op-loads", 1},     {"op-dtlb-misses", 1},           {"op-dc-misses", 1},
      {"op-l2-misses", 1}, {"op-dc-load-miss-cycles", 300}, {"op-dtlb-refill-cycles", 50},
      {"op-nb-remote", 1}, {"op-nb-remote-dram", 1},        {"op-nb-remote-cycles", 300}};
  CHECK(events == expected);
}

TEST_CASE("a mispredicted taken branch is a branch, a taken one and a mispredicted one") {
  const uint64_t data = uint64_t{1} << 37 | uint64_t{1} << 36 | uint64_t{1} << 35;
  const std::map<std::string, uint64_t> expected = {{"op-samples", 1},
                                                    {"op-branches", 1},
                                                    {"op-taken-branches", 1},
                                                    {"op-mispredicted-branches", 1},
                                                    {"op-mispredicted-taken-branches", 1}};
  CHECK(FindEvents(Op(0, data, 0, 0)) == expected);
}

TEST_CASE("a fetch of which nothing is known was killed, and others were attempted") {
  constexpr uint64_t kComplete = uint64_t{1} << 50, kMissedIc = uint64_t{1} << 51,
                     kPhysicalAddress = uint64_t{1} << 52, kMissedL1Itlb = uint64_t{1} << 55,
                     kMissedL2Itlb = uint64_t{1} << 56;
  CHECK(FindEvents(Fetch(0)) ==
        std::map<std::string, uint64_t>{
            {"fetch-samples", 1}, {"fetch-killed", 1}, {"fetch-itlb-refill-cycles", 0x12}});
  for (const uint64_t known :
       {kComplete, kMissedIc, kPhysicalAddress, kMissedL1Itlb, kMissedL2Itlb}) {
    const auto events = FindEvents(Fetch(known));
    CHECK(events.contains("fetch-attempted"));
    CHECK(!events.contains("fetch-killed"));
    CHECK(events.contains("fetch-completed") == (known == kComplete));
    CHECK(events.contains("fetch-aborted") == (known != kComplete));
  }
  CHECK(FindEvents(Fetch(kComplete)).contains("fetch-ic-hits"));
  CHECK(FindEvents(Fetch(kPhysicalAddress)).contains("fetch-4k-pages"));
}

TEST_CASE("a return is a branch that retired") {
  constexpr uint64_t kReturn = uint64_t{1} << 34, kMispredicted = uint64_t{1} << 36,
                     kBranch = uint64_t{1} << 37;
  CHECK(!FindEvents(Op(0, kReturn | kMispredicted, 0, 0)).contains("op-returns"));
  CHECK(!FindEvents(Op(0, kReturn | kMispredicted, 0, 0)).contains("op-mispredicted-returns"));
  CHECK(FindEvents(Op(0, kBranch | kReturn, 0, 0)).contains("op-returns"));
  CHECK(FindEvents(Op(0, kBranch | kReturn | kMispredicted, 0, 0))
            .contains("op-mispredicted-returns"));
}

TEST_CASE("bank conflicts and forwarding are those of loads and stores") {
  constexpr uint64_t kLoad = 1, kStore = 2;
  const struct {
    unsigned bit;
    const char* event;
    bool is_of_stores;
  } kCases[] = {{9, "op-load-bank-conflicts", true},
                {10, "op-store-bank-conflicts", true},
                {11, "op-forwarded", false},
                {12, "op-forwarding-cancelled", false}};
  for (const auto& each : kCases) {
    const uint64_t bit = uint64_t{1} << each.bit;
    CAPTURE(each.event);
    CHECK(FindEvents(Op(0, 0, 0, kLoad | bit)).contains(each.event));
    CHECK(!FindEvents(Op(0, 0, 0, kLoad)).contains(each.event));
    CHECK(FindEvents(Op(0, 0, 0, kStore | bit)).contains(each.event) == each.is_of_stores);
    CHECK(!FindEvents(Op(0, 0, 0, bit)).contains(each.event));
  }
}

TEST_CASE("data came from beyond the core only for loads that missed, and from one source") {
  constexpr uint64_t kLoad = 1, kStore = 2, kMissedDc = 0x80, kRemote = 0x10, kOwned = 0x20,
                     kUncacheable = 1 << 14, kMissedL2 = 1 << 20, kPrefetch = 1 << 21;
  constexpr uint32_t kL2IsKnown = 1u << 9;
  using Names = std::vector<std::string>;
  const auto from = [](uint64_t data2, uint64_t data3, uint32_t capabilities = 0) {
    Names names;
    for (const auto& [event, value] : FindEvents(Op(0, 0, data2, data3, capabilities))) {
      if (event.starts_with("op-nb-")) names.push_back(event.substr(6));
    }
    return names;
  };
  CHECK(from(2, kLoad).empty());
  CHECK(from(2, kStore | kMissedDc).empty());
  CHECK(from(0, kLoad | kMissedDc).empty());
  CHECK(from(1, kLoad | kMissedDc) == Names{"local", "local-l3"});
  CHECK(from(2, kLoad | kMissedDc) == Names{"local", "local-cache", "modified-lines"});
  CHECK(from(2 | kOwned, kLoad | kMissedDc) == Names{"local", "local-cache", "owned-lines"});
  CHECK(from(2 | kRemote, kLoad | kMissedDc) == Names{"modified-lines", "remote", "remote-cache"});
  CHECK(from(3, kLoad | kMissedDc) == Names{"local", "local-dram"});
  CHECK(from(3 | kRemote, kLoad | kMissedDc) == Names{"remote", "remote-dram"});
  CHECK(from(5, kLoad | kMissedDc) == Names{"remote", "remote-cache"});
  CHECK(from(7, kLoad | kMissedDc) == Names{"local", "local-other"});
  CHECK(from(7 | kRemote, kLoad | kMissedDc) == Names{"remote", "remote-other"});
  CHECK(from(5 | kRemote, kLoad | kMissedDc) == Names{"remote", "remote-cache"});

  // The register has what an earlier op left.
  CHECK(from(3, kLoad | kMissedDc | kUncacheable).empty());
  CHECK(from(7, kLoad | kMissedDc | kUncacheable) == Names{"local", "local-other"});
  CHECK(from(3, kLoad | kMissedDc, kL2IsKnown).empty());
  CHECK(from(3, kLoad | kMissedDc | kMissedL2, kL2IsKnown) == Names{"local", "local-dram"});

  constexpr uint64_t kHundredCycles = uint64_t{100} << 32;
  CHECK(from(3, kLoad | kMissedDc | kHundredCycles) ==
        Names{"local", "local-cycles", "local-dram"});
  CHECK(from(3, kLoad | kMissedDc | kHundredCycles | kPrefetch) == Names{"local", "local-dram"});
}

TEST_CASE("the latency of a load that missed is in its events, and that of no prefetch") {
  constexpr uint64_t kLoad = 1, kStore = 2, kMissedDc = 0x80, kPrefetch = 1 << 21,
                     kHundredCycles = uint64_t{100} << 32;
  const auto cycles = [](uint64_t data3) {
    return FindEvents(Op(0, 0, 3, data3 | kHundredCycles))["op-dc-load-miss-cycles"];
  };
  CHECK(cycles(kLoad | kMissedDc) == 100);
  CHECK(cycles(kLoad) == 0);
  CHECK(cycles(kStore | kMissedDc) == 0);
  CHECK(cycles(kLoad | kMissedDc | kPrefetch) == 0);
}

TEST_CASE("a load has its data from one level of memory") {
  constexpr uint64_t kLoad = 1, kStore = 2, kMissedDc = 0x80, kMissedL2 = 1 << 20, kRemote = 0x10,
                     kUnderway = 1 << 16;
  const auto level = [](uint64_t data2, uint64_t data3) {
    return std::string(IbsLevelName(IbsLevelOf(Op(0, 0, data2, data3))));
  };
  constexpr uint64_t kMissedBoth = kLoad | kMissedDc | kMissedL2;
  CHECK(level(3, kStore | kMissedDc) == "none");
  CHECK(level(3, 0) == "none");
  CHECK(level(3, kLoad) == "l1");
  CHECK(level(0, kLoad | kMissedDc) == "l2");
  CHECK(level(0, kLoad | kMissedDc | kUnderway) == "l2");
  CHECK(level(0, kMissedBoth | kUnderway) == "miss-underway");
  CHECK(level(0, kMissedBoth) == "unknown");
  const std::pair<const char*, const char*> kByNode[] = {
      {"unknown", "unknown"},
      {"local-l3", "unknown"},
      {"local-cache", "remote-cache"},
      {"local-dram", "remote-dram"},
      {"unknown", "unknown"},
      {"remote-cache", "remote-cache"},
      {"long-latency-memory", "long-latency-memory"},
      {"local-other", "remote-other"}};
  for (uint64_t source = 1; source < 8; ++source) {
    CAPTURE(source);
    CHECK(level(source, kMissedBoth) == kByNode[source].first);
    CHECK(level(source | kRemote, kMissedBoth) == kByNode[source].second);
  }
}

TEST_CASE("sources of data since Zen 4 have five bits") {
  IbsOp op;
  op.is_load = op.missed_dc = op.missed_l2 = true;
  for (uint8_t source = 0; source < 32; ++source) {
    CAPTURE(source);
    op.data_source = static_cast<IbsDataSource>(source);
    const IbsLevel level = IbsLevelOf(op);
    CHECK((level == IbsLevel::kExtensionMemory) == (source == 8));
    CHECK((level == IbsLevel::kPeerMemory) == (source == 12));
    if (source > 12) CHECK(level == IbsLevel::kUnknown);
    if (source == 0) continue;
    for (const bool is_remote : {false, true}) {
      op.is_remote = is_remote;
      CHECK((IbsNodeOf(op) == IbsNode::kRemote) == (is_remote || source == 5));
    }
  }
}

TEST_CASE("recorded samples of Zen 2 and Zen 4 are decoded as perf decodes them") {
  struct Visitor : PerfDataVisitor {
    void OnSample(const PerfEvent& event, const SampleRecord& sample) override {
      if (event.name.starts_with("ibs_op")) op = DecodeIbsOp(sample.raw, ByteOrder::kNative);
      if (event.name.starts_with("ibs_fetch"))
        fetch = DecodeIbsFetch(sample.raw, ByteOrder::kNative);
    }
    std::optional<IbsOp> op;
    std::optional<IbsFetch> fetch;
  };
  const auto read = [](const std::string& name) {
    Visitor visitor;
    auto reader = PerfDataReader::Open(*RecordingPath(name));
    REQUIRE(reader.ok());
    REQUIRE((*reader)->Read(&visitor).ok());
    return visitor;
  };
  if (!RecordingPath("ibs/zen4_genoa.ibs.perf.data")) {
    HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  }
  const Visitor zen4 = read("ibs/zen4_genoa.ibs.perf.data");
  REQUIRE(zen4.op);
  CHECK(zen4.op->max_count == 1'000'000);
  CHECK(zen4.op->ip == 0xffffffff81143526);
  CHECK(zen4.op->tag_to_retire_cycles == 1271);
  CHECK(zen4.op->data_source == IbsDataSource::kDram);
  CHECK(zen4.op->hit_l1_dtlb_1g);
  CHECK(zen4.op->dc_miss_cycles == 476);
  CHECK(zen4.op->linear_address == 0xffff899f7c3b5784);
  CHECK(zen4.op->physical_address == 0x11f7c3b5784);
  CHECK(zen4.op->branch_target == 0);

  const Visitor zen2 = read("ibs/zen2_rome.ibs.perf.data");
  REQUIRE(zen2.op);
  REQUIRE(zen2.fetch);
  CHECK(zen2.fetch->latency_cycles == 190);
  CHECK(zen2.fetch->max_count == 35'040);
  CHECK(zen2.fetch->linear_address == 0xdee91a);
  CHECK(zen2.op->is_microcode);
  CHECK(zen2.op->hit_owned_line);
  CHECK(zen2.op->data_source == IbsDataSource::kNearCache);
}

}  // namespace
}  // namespace hbbp
