// Tests productions on whole bursts of a library whose instructions are known: which instructions
// they see, what a record weighs, what is unknown, and what is refused.
#include "probes/burst_probe.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/analyze_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/probes/probe_stream.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

constexpr uint64_t kTinyJump = 11;         // the branch of the loop of tiny_work
constexpr uint64_t kTinyTwiceReturn = 19;  // that of tiny_twice

// The indices of the branches of all bursts.
constexpr uint8_t kEnter = 0;    // from outside to tiny_work
constexpr uint8_t kAgain = 1;    // the loop
constexpr uint8_t kToTwice = 2;  // from the end of tiny_work
constexpr uint8_t kLeave = 3;    // from the end of tiny_twice to code in no module

// Executes tiny_work, with 10 iterations, and tiny_twice: 36 instructions.
const std::vector<uint8_t> kWhole = {kEnter, kAgain, kAgain, kAgain, kAgain,   kAgain,
                                     kAgain, kAgain, kAgain, kAgain, kToTwice, kLeave};
constexpr double kInstructions = 36;

struct Burst {
  std::vector<uint8_t> branches;
  float weight = 1;
  uint8_t source = 0;
};

RecordedBursts MakeBursts(const std::string& library, const std::vector<Burst>& bursts) {
  const uint64_t work = TinyWorkOffset(library);
  RecordedBursts recorded;
  recorded.number = bursts.size();
  recorded.sources = {0, 1};
  recorded.threads = {0};
  recorded.branches = {{kNoModule, 0, 0x1234, work},
                       {0, 0, work + kTinyJump, work + kTinyLoop},
                       {0, 0, work + kTinyReturn, work + kTinyTwice},
                       {0, kNoModule, work + kTinyTwiceReturn, 0x5678}};
  for (const Burst& burst : bursts) {
    uint8_t weight[sizeof(float)];
    std::memcpy(weight, &burst.weight, sizeof(weight));
    recorded.bytes.insert(recorded.bytes.end(), {burst.source, 0, 0});
    recorded.bytes.insert(recorded.bytes.end(), weight, weight + sizeof(weight));
    recorded.bytes.push_back(static_cast<uint8_t>(burst.branches.size()));
    for (size_t i = 0; i < burst.branches.size(); ++i) {
      if (i != 0) recorded.bytes.push_back(0);  // none is as predicted
      recorded.bytes.push_back(burst.branches[i]);
    }
  }
  return recorded;
}

class BurstsOfLibrary {
 public:
  BurstsOfLibrary() : library_(directory_.File("lib.so")) {
    if (!BuildTinyLibrary(library_)) HBBP_SKIP("there is no compiler");
  }

  ProfileData Profile(const std::vector<Burst>& bursts, uint64_t not_kept = 0) const {
    ProfileData data = TinyProfile(library_);
    data.sources[1].event = EventKind::kOther;
    data.sources[1].event_name = "other";
    data.kept_bursts = SerializeKeptBursts(Kept(bursts, not_kept));
    return data;
  }
  KeptBursts Kept(const std::vector<Burst>& bursts, uint64_t not_kept = 0) const {
    return {not_kept, {MakeBursts(library_, bursts)}};
  }
  // The code number of an instruction.
  uint64_t Number(const BurstProbe& probe, uint64_t offset) const {
    return probe.code().Number(0, TinyWorkOffset(library_) + offset);
  }

 private:
  const TemporaryFolder directory_;
  const std::string library_;
};

std::shared_ptr<const Analysis> Shared(ProfileData data) {
  return std::make_shared<const Analysis>(AnalyzeOrFail(std::move(data)));
}

constexpr char kFramework[] = "burst_length = 3\nuse framework\n";

TEST_CASE("bursts: productions see each instruction, with where it went") {
  const BurstsOfLibrary bursts;
  const auto analysis = Shared(bursts.Profile({{kWhole, 5}}));
  const ProductionSet set = ParseProductions(
      "all: pc > 0 => null, null\n"
      "back: branch && backward && taken => count(pc, next, function), null\n"
      "through: conditional && !taken => count(pc, next), null\n"
      "named: name = tiny_twice && entry && module ~ lib* => count(pc, function), null\n"
      "returns: return => count(target), null\n");
  BurstProbe probe(&set, {});
  const Status status = probe.Run(*analysis);
  REQUIRE(status.ok());
  const auto number = [&](uint64_t offset) { return bursts.Number(probe, offset); };
  CHECK(probe.engine().firings(0) == kInstructions);
  CHECK(probe.totals().instructions == kInstructions);
  CHECK(probe.totals().streams == kWhole.size() - 1);
  CHECK(probe.totals().faults == 0);
  const auto rows = [&](size_t table) { return probe.engine().counts(table).Sorted(); };
  REQUIRE(rows(0).size() == 1);
  CHECK(rows(0)[0].row == ProbeRow{number(kTinyJump), number(kTinyLoop), number(0)});
  CHECK(rows(0)[0].count == 9);
  CHECK(rows(0)[0].estimate == 45);
  REQUIRE(rows(1).size() == 1);
  CHECK(rows(1)[0].row == ProbeRow{number(kTinyJump), number(kTinyReturn)});
  REQUIRE(rows(2).size() == 1);
  CHECK(rows(2)[0].row == ProbeRow{number(kTinyTwice), number(kTinyTwice)});
  // The other return went to an unknown address.
  REQUIRE(rows(3).size() == 1);
  CHECK(rows(3)[0].row == ProbeRow{number(kTinyTwice)});
  CHECK(probe.engine().unknown_records(3) == 1);
  CHECK(probe.engine().unknown_fields(3) == SetOf(ProbeKey::kTarget));

  const BurstCodeLocation location = probe.code().Locate(number(kTinyTwice + 2));
  CHECK(location.module == 0);
  CHECK(location.address.value - location.function.value == 2);
  CHECK(probe.code().Locate(kNoCodeNumber).is_known == false);
}

TEST_CASE("bursts: the part up to the reset stands for the whole burst") {
  const BurstsOfLibrary bursts;
  const auto analysis = Shared(bursts.Profile({{kWhole, 100}}));
  const ProductionSet set = ParseProductions(
      kFramework + std::string("in: branch && backward && sample_flag => count(pc), null\n"
                               "always: branch && backward => count any(pc), null\n"
                               "begin: pc > 0 && sample_counter = 0 && burst_counter = 0 && "
                               "sample_flag => count first(pc), null\n"));
  BurstProbe probe(&set, {});
  REQUIRE(probe.Run(*analysis).ok());
  const ProductionEngine& engine = probe.engine();
  // burst_length and the boundary that resets, in 5 + 3 + 3 + 3 instructions.
  constexpr double kInBurst = 14;
  CHECK(engine.counts(0).total() == 4);
  CHECK(engine.counts(0).total_estimate() == Approx(4 * 100 * kInstructions / kInBurst));
  CHECK(engine.counts(1).total() == 10);
  CHECK(engine.counts(1).total_estimate() == 1000);
  CHECK(engine.counts(2).total() == 5);
  CHECK(engine.bursts() == 1);

  BurstProbe exhaustive(&set, {.is_exhaustive = true});
  REQUIRE(exhaustive.Run(*analysis).ok());
  CHECK(exhaustive.engine().counts(0).total_estimate() == 1000);
  // After the reset a long burst goes on, and so do productions.
  BurstProbe again(&set, {.sample_freq = 4, .burst_length = 3});
  REQUIRE(again.Run(*analysis).ok());
  CHECK(again.engine().bursts() == 2);
  CHECK(again.engine().counts(0).total() == 4 + 2);
  // The last iteration, the return, and tiny_twice are 4 + 3 more, and so is the iteration before.
  CHECK(again.engine().counts(0).total_estimate() == Approx(6 * 100 * kInstructions / (14 + 10)));
}

TEST_CASE("bursts: productions extend and stop the burst that is replayed") {
  const BurstsOfLibrary bursts;
  const auto analysis = Shared(bursts.Profile({{kWhole, 100}}));
  const struct {
    const char* production;
    uint64_t boundaries;  // burst_length and the one that resets, without it
  } kCases[] = {
      {"more: entry && name = tiny_work => null, extend_burst 2\n", 4 + 2},
      {"enough: branch && backward && taken => null, stop_burst\n", 2},
  };
  for (const auto& [production, boundaries] : kCases) {
    INFO(production);
    const ProductionSet set = ParseProductions(
        kFramework + std::string("in: branch && backward && sample_flag => count(pc), null\n") +
        production);
    BurstProbe probe(&set, {});
    REQUIRE(probe.Run(*analysis).ok());
    CHECK(probe.engine().counts(0).total() == boundaries);
    // Boundaries are 3 instructions, behind 2 others.
    CHECK(probe.engine().counts(0).total_estimate() ==
          Approx(boundaries * 100 * kInstructions / (2 + 3 * static_cast<double>(boundaries))));
  }
}

TEST_CASE("bursts: each counts by its weight, if its source counts") {
  const BurstsOfLibrary bursts;
  ProfileData data = bursts.Profile(
      {{{kEnter, kAgain, kAgain}, 2}, {{kEnter, kAgain}, 7}, {kWhole, 1000, 1}, {kWhole, 0}});
  const auto analysis = Shared(std::move(data));
  REQUIRE(analysis->IsCounted(0));
  REQUIRE_FALSE(analysis->IsCounted(1));
  const ProductionSet set = ParseProductions("back: branch && backward => count(pc), null\n");
  BurstProbe probe(&set, {});
  REQUIRE(probe.Run(*analysis).ok());
  CHECK(probe.engine().counts(0).total() == 3);
  CHECK(probe.engine().counts(0).total_estimate() == 2 * 2 + 7);
  CHECK(probe.totals().other_sources == 1);
  CHECK(probe.totals().bursts == 2);
  REQUIRE(probe.sources().size() == 1);
  CHECK(probe.sources()[0].bursts == 2);
}

TEST_CASE("bursts: what was before is unknown until the burst shows it") {
  const BurstsOfLibrary bursts;
  std::vector<uint8_t> twice(kWhole.begin(), kWhole.end() - 2);
  // Ends the loop a second time; in between it has streams that nothing explains.
  const bool has_gap = GENERATE(false, true);
  CAPTURE(has_gap);
  twice.insert(twice.end(), {kToTwice, kLeave});
  if (has_gap) twice.push_back(kLeave);
  twice.insert(twice.end(), kWhole.begin(), kWhole.end());
  const auto analysis = Shared(bursts.Profile({{kWhole}, {twice}}));
  const ProductionSet set = ParseProductions(
      "t: return => trace(pc), null\n"
      "loops: conditional && backward && !taken => count(pc, trips), null\n"
      "long: conditional && backward && !taken && trips = 10 => null, null\n"
      "other: conditional && backward && !taken && !(trips = 10) => null, null\n"
      "who: return => count(caller), null\n");
  BurstProbe probe(&set, {});
  REQUIRE(probe.Run(*analysis).ok());
  const ProductionEngine& engine = probe.engine();
  // Code outside of modules is a gap in any case: the branch to it, and that from it.
  CHECK(probe.totals().faults == (has_gap ? 2 : 1));
  CHECK(probe.totals().without_code == probe.totals().faults);
  CHECK(engine.counts(1).total() == 0);
  CHECK(engine.unknown_records(1) == 3);
  CHECK(engine.unknown_fields(1) == SetOf(ProbeKey::kTrips));
  CHECK(engine.firings(2) == 0);
  CHECK(engine.firings(3) == 0);
  CHECK(engine.counts(2).total() == 0);
  CHECK(engine.unknown_records(2) == 6);
  // Two bursts, one of which has a gap.
  CHECK(engine.trace(0).sequences().size() == 3);
}

TEST_CASE("bursts: code that does not lead to the next branch is skipped") {
  const BurstsOfLibrary bursts;
  const std::vector<uint8_t> faults = GENERATE(std::vector<uint8_t>{kEnter, kLeave},    // a return
                                               std::vector<uint8_t>{kToTwice, kAgain},  // backwards
                                               std::vector<uint8_t>{kLeave, kAgain});   // no code
  const auto analysis = Shared(bursts.Profile({{faults}, {{kEnter, kAgain}}}));
  const ProductionSet set = ParseProductions("all: pc > 0 => null, null\n");
  BurstProbe probe(&set, {});
  REQUIRE(probe.Run(*analysis).ok());
  CHECK(probe.totals().streams == 2);
  CHECK(probe.totals().faults == 1);
  CHECK(probe.totals().without_code == (faults[0] == kLeave ? 1 : 0));
  CHECK(probe.engine().firings(0) == 5);
}

TEST_CASE("bursts: a profile without bursts, or without what productions use, is refused") {
  const BurstsOfLibrary bursts;
  const auto error_of = [&](ProfileData data, const char* production) {
    const auto analysis = Shared(std::move(data));
    const ProductionSet set = ParseProductions(production);
    BurstProbe probe(&set, {});
    const Status status = probe.Run(*analysis);
    REQUIRE_FALSE(status.ok());
    CHECK(probe.totals().instructions == 0);
    return status.message();
  };
  using Catch::Matchers::Contains;
  const char* const any = "all: pc > 0 => null, null\n";
  CHECK_THAT(error_of(bursts.Profile({}), any), Contains("with --keep-bursts 64M"));
  CHECK_THAT(error_of(bursts.Profile({}, 3), any), Contains("no room for any of 3"));
  CHECK_THAT(error_of(bursts.Profile({{kWhole, 1, 1}}), any), Contains("1 are of another event"));
  CHECK_THAT(error_of(bursts.Profile({{kWhole}}), "a: return => count(rax), null\n"),
             Contains("use 'rax'") && Contains("--stream step"));
  CHECK_THAT(error_of(bursts.Profile({{kWhole}}), "a: value = 3 => null, null\n"),
             Contains("use 'value'"));
  CHECK_THAT(error_of(bursts.Profile({{kWhole}}), "a: load => count(stride), null\n"),
             Contains("use 'stride'") && Contains("--keep-accesses"));
  CHECK_THAT(error_of(bursts.Profile({{kWhole}}), "a: entry => count(rdx), null\n"),
             Contains("use 'rdx'") && Contains("--keep-values rdx"));
  ProfileData damaged = bursts.Profile({{kWhole}});
  damaged.kept_bursts.back() = 99;
  const auto analysis = Shared(std::move(damaged));
  const ProductionSet set = ParseProductions(any);
  CHECK(BurstProbe(&set, {}).Run(*analysis).code() == StatusCode::kBadFormat);
}

// Returns an analysis of a burst for which such kinds were recorded, but of which there were none.
auto RecordedWith(RecordedKinds kinds, const BurstsOfLibrary& bursts) {
  ProfileData data = bursts.Profile({});
  KeptBursts kept = bursts.Kept({{kWhole}});
  kept.recordings[0].kinds = kinds;
  data.kept_bursts = SerializeKeptBursts(kept);
  return Shared(std::move(data));
}

TEST_CASE("bursts: accesses that were recorded will do, also if there were none") {
  const BurstsOfLibrary bursts;
  const auto analysis = RecordedWith(SetOf(RecordedKind::kAddress), bursts);
  const ProductionSet set = ParseProductions("a: mem_op => count(address), null\n");
  BurstProbe probe(&set, {});
  REQUIRE(probe.Run(*analysis).ok());
  CHECK(probe.engine().counts(0).total() == 0);
  CHECK(probe.engine().unknown_records(0) > 0);
}

TEST_CASE("bursts: values that were recorded of another kind do not do") {
  const BurstsOfLibrary bursts;
  const auto analysis = RecordedWith(SetOf(RecordedKind::kRdi), bursts);
  const ProductionSet rdx = ParseProductions("a: entry => count(rdx), null\n");
  CHECK(BurstProbe(&rdx, {}).Run(*analysis).code() == StatusCode::kUnsupported);
  const ProductionSet rdi = ParseProductions("a: entry => count(rdi), null\n");
  BurstProbe probe(&rdi, {});
  REQUIRE(probe.Run(*analysis).ok());
  CHECK(probe.engine().counts(0).total() == 0);
  CHECK(probe.engine().unknown_records(0) == 2);
  CHECK(probe.engine().unknown_fields(0) == SetOf(ProbeKey::kRdi));
}

TEST_CASE("bursts: calls have the weight and the number of their burst") {
  const BurstsOfLibrary bursts;
  const auto analysis =
      Shared(bursts.Profile({{kWhole, 5}, {kWhole, 1000, 1}, {{kEnter, kAgain, kAgain}, 7}}));
  const ProductionSet set =
      ParseProductions("back: branch && backward && taken => call(pc), null\n");
  std::map<std::pair<uint64_t, double>, uint64_t> calls;
  BurstProbe probe(&set, {}, [&](const BurstCall& call) {
    CHECK(call.thread == 0);
    CHECK(call.call.values[0] == call.call.event.instruction->pc);
    ++calls[{call.burst, call.weight}];
    return false;
  });
  REQUIRE(probe.Run(*analysis).ok());
  CHECK(calls == std::map<std::pair<uint64_t, double>, uint64_t>{{{0, 5}, 9}, {{2, 7}, 2}});
}

TEST_CASE("bursts: calls have the addresses that were recorded") {
  const BurstsOfLibrary bursts;
  ProfileData data = bursts.Profile({});
  KeptBursts kept = bursts.Kept({{kWhole}});
  // One access, by the return of tiny_twice, to 0x1000.
  constexpr uint8_t kStream = 10;
  static_assert(kTinyTwiceReturn > kTinyTwice);
  kept.recordings[0].access_bytes = {0, 1, kStream, kTinyTwiceReturn - kTinyTwice, 0x80, 0x40};
  data.kept_bursts = SerializeKeptBursts(kept);
  const auto analysis = Shared(std::move(data));
  const ProductionSet set = ParseProductions("returns: return => call(address, size), null\n");
  std::vector<std::pair<uint64_t, uint32_t>> calls;
  BurstProbe probe(&set, {}, [&](const BurstCall& call) {
    CHECK(call.call.values[1] == 8);
    calls.emplace_back(call.call.values[0], call.call.unknown);
    return false;
  });
  REQUIRE(probe.Run(*analysis).ok());
  CHECK(calls == std::vector<std::pair<uint64_t, uint32_t>>{{0, 1}, {0x1000, 0}});
}

TEST_CASE("bursts: something is called behind each burst that was replayed") {
  const BurstsOfLibrary bursts;
  const auto analysis = Shared(bursts.Profile({{kWhole}, {kWhole, 1, 1}, {kWhole}}));
  const ProductionSet set = ParseProductions("back: branch && backward => trace(pc), null\n");
  std::vector<uint64_t> traced;
  const BurstProbe* running = nullptr;
  BurstProbe probe(&set, {}, nullptr,
                   [&] { traced.push_back(running->engine().trace(0).total()); });
  running = &probe;
  REQUIRE(probe.Run(*analysis).ok());
  CHECK(traced == std::vector<uint64_t>{10, 20});
}

TEST_CASE("bursts: later profiles of a session add their new bursts") {
  const BurstsOfLibrary bursts;
  const Burst first = {kWhole, 5};
  const Burst second = {{kEnter, kAgain, kAgain}, 7};
  const ProductionSet set =
      ParseProductions("back: branch && backward && taken => count(pc), null\n");
  BurstProbe probe(&set, {});
  REQUIRE(probe.Run(*Shared(bursts.Profile({first}))).ok());
  CHECK(probe.next() == 1);
  CHECK(probe.engine().counts(0).total_estimate() == 9 * 5);
  const auto later = Shared(bursts.Profile({first, second}));
  REQUIRE(probe.Run(*later, probe.next()).ok());
  CHECK(probe.next() == 2);
  CHECK(probe.engine().counts(0).total_estimate() == 9 * 5 + 2 * 7);
  REQUIRE(probe.Run(*later, 2).ok());
  CHECK(probe.totals().bursts == 2);
  const Status status = probe.Run(*later, 3);
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(status.message(), Catch::Matchers::Contains("has 2 whole bursts"));
}

TEST_CASE("bursts: a module has one number in all profiles") {
  const BurstsOfLibrary bursts;
  const auto alone = Shared(bursts.Profile({{kWhole, 5}}));
  // Another module is before the library.
  ProfileData data = bursts.Profile({});
  KeptBursts kept = bursts.Kept({{kWhole, 7}});
  for (KeptBranch& branch : kept.recordings[0].branches) {
    for (uint32_t* module : {&branch.from_module, &branch.to_module}) {
      if (*module != kNoModule) *module = 1;
    }
  }
  data.kept_bursts = SerializeKeptBursts(kept);
  for (IpCount& count : data.counts) count.module = 1;
  data.modules.insert(data.modules.begin(), ModuleRecord());
  data.modules[0].path = "/nowhere/other.so";
  const auto later = Shared(std::move(data));
  const ProductionSet set =
      ParseProductions("back: branch && backward && taken => count(pc, function), null\n");
  BurstProbe probe(&set, {});
  REQUIRE(probe.Run(*alone).ok());
  CHECK(probe.code().Locate(bursts.Number(probe, 0)).module == 0);
  REQUIRE(probe.Run(*later).ok());
  const auto rows = probe.engine().counts(0).Sorted();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].estimate == 9 * (5 + 7));
  const BurstCodeLocation location = probe.code().Locate(rows[0].row[1]);
  CHECK(location.module == 1);
  CHECK(location.path == later->data().modules[1].path);
  CHECK(location.function_name == "tiny_work");
  // Of a profile without the library, its code is still known.
  ProfileData without = later->data();
  without.modules.resize(1);
  without.counts.clear();
  without.kept_bursts.clear();
  CHECK(probe.Run(*Shared(std::move(without))).code() == StatusCode::kNotFound);
  const BurstCodeLocation gone = probe.code().Locate(rows[0].row[1]);
  CHECK(gone.is_known);
  CHECK(gone.module == kNoModule);
  CHECK(gone.function_name == "tiny_work");
}

TEST_CASE("bursts: a run is cancelled between two bursts, and goes on there") {
  const BurstsOfLibrary bursts;
  const auto analysis = Shared(bursts.Profile({{kWhole, 5}, {kWhole, 5}, {kWhole, 5}}));
  const ProductionSet set = ParseProductions("first: entry && name = tiny_work => call, null\n");
  CancelFlag flag;
  BurstProbe probe(&set, {}, [&](const BurstCall& call) {
    if (call.burst == 1) flag.Set(true);
    return false;
  });
  uint64_t reports = 0;
  Work work;
  work.progress = [&](uint64_t, uint64_t all) {
    CHECK(all == 3);
    ++reports;
  };
  work.cancel = &flag;
  CHECK(probe.Run(*analysis, 0, work).code() == StatusCode::kCancelled);
  CHECK(reports == 1);
  CHECK(probe.next() == 2);
  REQUIRE(probe.Run(*analysis, probe.next()).ok());
  CHECK(probe.totals().bursts == 3);
  CHECK(probe.engine().calls(0) == 3);
}

}  // namespace
}  // namespace hbbp
