// Tests that kept bursts are read as they were added, take little memory, and no more than allowed.
#include "collect/first_bursts.h"

#include <cstdint>
#include <vector>

#include "collect/code_location.h"
#include "collect/recorder.h"
#include "profile/kept_burst_reader.h"
#include "profile/kept_bursts.h"
#include "support/catch.h"
#include "support/failing_host.h"
#include "support/made_up_samples.h"

namespace hbbp {
namespace {

using test::kBase;
using test::kPid;
using test::kSpan;
using test::MakeBursts;

constexpr uint64_t kPlenty = 16 << 20;

struct Added {
  BurstKeeper::Head head;
  std::vector<TakenBranch> branches;
};

// Has two sources, threads and modules.
ProfileData EmptyProfile() {
  ProfileData data;
  data.sources.resize(2);
  data.threads.resize(2);
  data.modules.resize(2);
  return data;
}

TakenBranch BranchAt(uint64_t from, uint64_t to) {
  return {LocationInModule(0, from), LocationInModule(1, to)};
}

Added MakeLoop(uint64_t iterations) {
  Added added{{1, 0, 1000, 2.5}, {}};
  for (uint64_t i = 0; i < iterations; ++i) {
    added.branches.push_back(BranchAt(10, 20));
    added.branches.push_back(BranchAt(30, 40));
    added.branches.push_back(BranchAt(50, 60));
  }
  return added;
}

// A walk through memory, which began elsewhere, and one access in the last stream.
std::vector<RecordedAccess> MakeAccesses(uint64_t iterations, uint64_t start) {
  std::vector<RecordedAccess> accesses;
  for (uint32_t i = 0; i < iterations; ++i) {
    accesses.push_back({start + 8 * i, 3 * i, 2});
    accesses.push_back({0x7fff0000, 3 * i, 4});
    accesses.push_back({start - 8 * i, 3 * i + 1, 0});
  }
  return accesses;
}

KeptBursts Parse(const BurstKeeper& keeper) {
  ProfileData data = EmptyProfile();
  data.kept_bursts = keeper.Encode(data, kNoModule, nullptr);
  StatusOr<KeptBursts> bursts = ParseKeptBursts(data);
  REQUIRE(bursts.ok());
  return *std::move(bursts);
}

void CheckAreThese(const RecordedBursts& recording, const std::vector<Added>& all) {
  REQUIRE(recording.number == all.size());
  KeptBurstReader reader(recording);
  KeptBurst burst;
  for (const Added& added : all) {
    REQUIRE(reader.Next(&burst));
    CHECK(burst.source == added.head.source);
    CHECK(burst.thread == added.head.thread);
    CHECK(burst.time_ns == added.head.time_ns);
    CHECK(burst.weight == added.head.weight);
    std::vector<RecordedAccess> accesses;
    std::vector<RecordedAccess> values;
    for (const RecordedAccess& access : added.head.accesses) {
      (access.kind == RecordedKind::kAddress ? accesses : values).push_back(access);
    }
    CHECK(burst.accesses == accesses);
    CHECK(burst.values == values);
    REQUIRE(burst.branches.size() == added.branches.size());
    for (size_t i = 0; i < added.branches.size(); ++i) {
      const KeptBranch& branch = recording.branches[burst.branches[i]];
      const CodeLocation from = UnpackLocation(added.branches[i].from, kNoModule);
      const CodeLocation to = UnpackLocation(added.branches[i].to, kNoModule);
      REQUIRE(branch == KeptBranch{from.module, to.module, from.offset, to.offset});
    }
  }
  CHECK_FALSE(reader.Next(&burst));
  CHECK(reader.status().ok());
}

TEST_CASE("values are read as they were added, between accesses and without") {
  CountedMemory memory;
  const RecordedKinds kinds =
      SetOf(RecordedKind::kAddress) | SetOf(RecordedKind::kDivisor) | SetOf(RecordedKind::kR9);
  FirstBursts keeper(&memory, kPlenty, kinds);
  constexpr uint32_t kLargestOffset = 0xffffff;
  const std::vector<RecordedAccess> both = {{0x1000, 0, 2},
                                            {7, 0, 2, RecordedKind::kDivisor},
                                            {UINT64_MAX, 1, 5, RecordedKind::kDivisor},
                                            {3, 1, 5, RecordedKind::kR9},
                                            {0x1008, 1, kLargestOffset},
                                            {9, 1, kLargestOffset, RecordedKind::kR9}};
  const std::vector<RecordedAccess> values = {both[1], both[3]};
  std::vector<Added> all = {MakeLoop(3), MakeLoop(5), MakeLoop(2), MakeLoop(2)};
  all[0].head.accesses = values;
  all[2].head.accesses = both;
  all[3].head.accesses = std::span(both).first(1);
  for (const Added& added : all) keeper.Add(added.head, added.branches);
  const KeptBursts bursts = Parse(keeper);
  REQUIRE(bursts.recordings.size() == 1);
  CHECK(bursts.recordings[0].kinds == kinds);
  CheckAreThese(bursts.recordings[0], all);
  // What was recorded is known even if there was nothing.
  keeper.Clear();
  keeper.Add(all[1].head, all[1].branches);
  CHECK(Parse(keeper).recordings[0].kinds == kinds);
}

TEST_CASE("accesses are read as they were added, in about three bytes each") {
  CountedMemory memory;
  FirstBursts keeper(&memory, kPlenty);
  const std::vector<RecordedAccess> walk = MakeAccesses(100, 0x1000);
  const std::vector<RecordedAccess> other = MakeAccesses(10, 0x7f0012345000);
  std::vector<Added> all = {MakeLoop(100), MakeLoop(5), MakeLoop(10), MakeLoop(100)};
  all[0].head.accesses = walk;
  all[2].head.accesses = other;
  all[3].head.accesses = walk;
  for (const Added& added : all) keeper.Add(added.head, added.branches);
  const KeptBursts bursts = Parse(keeper);
  REQUIRE(bursts.recordings.size() == 1);
  CheckAreThese(bursts.recordings[0], all);
  CHECK(bursts.recordings[0].access_bytes.size() < 4 * (2 * walk.size() + other.size()));
  keeper.Clear();
  const Added again = {{0, 0, 5, 1, walk}, MakeLoop(100).branches};
  keeper.Add(again.head, again.branches);
  CheckAreThese(Parse(keeper).recordings[0], {again});
}

TEST_CASE("bursts are read as they were added") {
  CountedMemory memory;
  FirstBursts keeper(&memory, kPlenty);
  std::vector<Added> all = {MakeLoop(1), MakeLoop(1000), MakeLoop(2)};
  all.push_back({{0, 1, 0, 0}, {BranchAt(7, 8)}});
  all.push_back({{0, 1, UINT64_MAX, 1e9}, {BranchAt(7, 8), BranchAt(7, 8), BranchAt(10, 20)}});
  all.push_back({{0, 1, 5, 0.5}, {{LocationInNoModule(0xdead), BranchAt(0, 9).to}}});
  MakeBursts(500, 300, [&](const BurstSample& burst, uint64_t number) {
    Added added{{number % 2 == 0 ? 0u : 1u, 0, burst.time_ns, 1}, {}};
    for (const TakenBranch& branch : burst.branches) {
      added.branches.push_back(BranchAt(branch.from, branch.to));
    }
    all.push_back(added);
  });
  for (const Added& added : all) keeper.Add(added.head, added.branches);
  const KeptBursts bursts = Parse(keeper);
  CHECK(bursts.not_kept == 0);
  REQUIRE(bursts.recordings.size() == 1);
  CheckAreThese(bursts.recordings[0], all);
}

TEST_CASE("a loop takes no more room the longer it runs") {
  const auto bytes_of = [](uint64_t iterations) {
    CountedMemory memory;
    FirstBursts keeper(&memory, kPlenty);
    const Added added = MakeLoop(iterations);
    keeper.Add(added.head, added.branches);
    return Parse(keeper).recordings[0].bytes.size();
  };
  CHECK(bytes_of(1000) <= bytes_of(2) + 2);
}

TEST_CASE("bursts that find no room are counted, and so are those of more branches than any has") {
  CountedMemory memory;
  FirstBursts keeper(&memory, 65536);
  std::vector<Added> all;
  MakeBursts(3000, 100'000, [&](const BurstSample& burst, uint64_t) {
    Added added{{0, 0, burst.time_ns, 1}, {}};
    for (const TakenBranch& branch : burst.branches) {
      added.branches.push_back(BranchAt(branch.from, branch.to));
    }
    all.push_back(added);
    keeper.Add(added.head, added.branches);
  });
  const KeptBursts bursts = Parse(keeper);
  CHECK(memory.peak() <= 65536);
  CHECK(bursts.number() > 10);
  CHECK(bursts.number() + bursts.not_kept == 3000);
  all.resize(bursts.number());
  CheckAreThese(bursts.recordings[0], all);

  FirstBursts empty(&memory, kPlenty);
  const Added too_long = MakeLoop(kMaxKeptBranches / 3 + 1);
  empty.Add(too_long.head, too_long.branches);
  CHECK(Parse(empty).not_kept == 1);
  CHECK(Parse(empty).number() == 0);
}

TEST_CASE("encoding bursts of many branches can be cancelled") {
  CountedMemory memory;
  FirstBursts keeper(&memory, kPlenty);
  for (uint64_t i = 0; i < 10'000; ++i) keeper.Add({}, std::vector<TakenBranch>{BranchAt(i, i)});
  CancelFlag flag;
  CancelCheck check(&flag);
  CHECK(keeper.Encode(EmptyProfile(), kNoModule, &check) ==
        keeper.Encode(EmptyProfile(), kNoModule, nullptr));
  flag.Set(true);
  CHECK_THROWS_AS(keeper.Encode(EmptyProfile(), kNoModule, &check), WorkCancelled);
}

TEST_CASE("of a limited memory, bursts take an eighth") {
  CountedMemory memory({}, 1 << 20);
  FirstBursts keeper(&memory, kPlenty);
  MakeBursts(20'000, 100'000, [&](const BurstSample& burst, uint64_t) {
    keeper.Add({0, 0, burst.time_ns, 1}, burst.branches);
  });
  CHECK(memory.peak() > (1 << 20) / 16);
  CHECK(memory.peak() <= (1 << 20) / 8);
}

TEST_CASE("bursts are kept or counted, whichever allocation fails") {
  for (const int every : {1, 2, 3, 5, 17}) {
    CAPTURE(every);
    FailingHost host;
    CountedMemory memory(host.allocator());
    {
      host.every = every;
      FirstBursts keeper(&memory, kPlenty);
      MakeBursts(300, 2000, [&](const BurstSample& burst, uint64_t) {
        keeper.Add({0, 0, burst.time_ns, 1}, burst.branches);
      });
      host.every = 0;
      const KeptBursts bursts = Parse(keeper);
      CHECK(bursts.number() + bursts.not_kept == 300);
      CHECK(bursts.not_kept > 0);
    }
    CHECK(host.live == 0);
    CHECK(memory.used() == 0);
  }
}

TEST_CASE("a recorder is cleared where there is no memory, and keeps bursts again") {
  FailingHost host;
  CountedMemory memory(host.allocator());
  {
    KeptDetail detail;
    KeepBursts(kPlenty, &detail);
    Recorder recorder(1, detail, &memory);
    for (int run = 0; run < 3; ++run) {
      CAPTURE(run);
      recorder.AddSource(SourceRecord());
      MakeBursts(50, 40, [&](const BurstSample& burst, uint64_t) { recorder.OnBurst(burst); });
      recorder.Commit(UINT64_MAX);
      const KeptBurstTotals totals = ReadKeptBurstTotals(recorder.Snapshot().kept_bursts);
      CHECK(totals.kept == 50);
      CHECK(totals.not_kept == 0);
      host.every = 1;
      REQUIRE_NOTHROW(recorder.Clear());
      host.every = 0;
      CHECK(memory.used() == 0);
    }
  }
  CHECK(host.live == 0);
}

TEST_CASE("a recorder keeps the bursts that it counts, and none unless it is asked to") {
  for (const bool keeps : {false, true}) {
    CAPTURE(keeps);
    KeptDetail detail;
    KeepBursts(keeps ? kPlenty : 0, &detail);
    Recorder recorder(1, detail);
    SourceRecord source;
    source.kind = SourceKind::kSwbt;
    source.period = 100;
    recorder.AddSource(std::move(source));
    MappingEvent mapping;
    mapping.start = {kBase};
    mapping.end = {kBase + kSpan};
    mapping.inode = 7;
    mapping.path = "/no/such/library";
    recorder.OnMapping(mapping);
    MakeBursts(50, 40, [&](const BurstSample& burst, uint64_t) { recorder.OnBurst(burst); });
    recorder.Commit(UINT64_MAX);
    const ProfileData data = recorder.Snapshot();
    CHECK(data.kept_bursts.empty() == !keeps);
    if (!keeps) continue;
    const StatusOr<KeptBursts> bursts = ParseKeptBursts(data);
    REQUIRE(bursts.ok());
    KeptBurstReader reader(bursts->recordings[0]);
    KeptBurst burst;
    MakeBursts(50, 40, [&](const BurstSample& given, uint64_t) {
      REQUIRE(reader.Next(&burst));
      CHECK(burst.time_ns == given.time_ns);
      CHECK(burst.weight == Approx(100.0 / 15));
      REQUIRE(burst.branches.size() == given.branches.size());
      for (size_t i = 0; i < burst.branches.size(); ++i) {
        const KeptBranch& branch = bursts->recordings[0].branches[burst.branches[i]];
        CHECK(branch.from == given.branches[i].from - kBase);
        CHECK(branch.to == given.branches[i].to - kBase);
        CHECK(data.modules[branch.to_module].path == "/no/such/library");
      }
    });
    CHECK_FALSE(reader.Next(&burst));
    recorder.Clear();
    CHECK(ReadKeptBurstTotals(recorder.Snapshot().kept_bursts).kept == 0);
  }
}

}  // namespace
}  // namespace hbbp
