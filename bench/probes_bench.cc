// Measures productions by the executed instruction: the loop of a program with a call, a load, a
// store and a backward branch, with productions that never fire, fire in bursts, or always do.
//
// RunOnProfile does it through the C ABI, on the whole bursts of the profile that the environment
// variable HBBP_BENCH_PROFILE names.
#include <benchmark/benchmark.h>
#include <hbbp/hbbp.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "probes/hot_streams.h"
#include "probes/production_engine.h"
#include "probes/thread_history.h"

namespace hbbp {
namespace {

const std::vector<std::vector<uint8_t>> kLoop = {
    {0x8b, 0x04, 0x0f},              // mov eax, [rdi+rcx]
    {0x01, 0xc2},                    // add edx, eax
    {0x89, 0x14, 0x0e},              // mov [rsi+rcx], edx
    {0xe8, 0x00, 0x01, 0x00, 0x00},  // call
    {0x0f, 0xaf, 0xc2},              // imul eax, edx
    {0x31, 0xd0},                    // xor eax, edx
    {0xc3},                          // ret
    {0x48, 0x83, 0xc1, 0x04},        // add rcx, 4
    {0x48, 0x39, 0xd9},              // cmp rcx, rbx
    {0x75, 0xe0},                    // jne, backward
};

// The history of the thread is kept for those productions that need it.
template <bool kHasHistory = false>
void RunLoop(benchmark::State& state, const std::string& text,
             const ProductionEngineOptions& options) {
  const StatusOr<ProductionSet> set = ProductionSet::Parse(text, {});
  if (!set.ok()) std::abort();
  std::vector<ProbedInstruction> instructions(kLoop.size());
  std::vector<InstructionEvent> events(kLoop.size());
  uint64_t pc = 0x1000;
  for (size_t i = 0; i < kLoop.size(); ++i) {
    if (!set->Prepare(kLoop[i], {pc, 0x1000}, &instructions[i])) std::abort();
    pc = instructions[i].end();
  }
  uint64_t return_address = 0;
  for (size_t i = 0; i < kLoop.size(); ++i) {
    events[i].instruction = &instructions[i];
    const ControlFlow& flow = instructions[i].flow;
    events[i].next = flow.has_target ? flow.target : instructions[(i + 1) % kLoop.size()].pc;
    if (flow.kind == BranchKind::kCall) return_address = instructions[i].end();
    if (flow.kind == BranchKind::kReturn) events[i].next = return_address;
  }
  ProductionEngine engine(&*set, options);
  BurstState thread = engine.StartThread();
  ThreadHistory history;
  [[maybe_unused]] const ProbeKeySet keys = set->keys();
  uint64_t address = 0;
  for (auto _ : state) {
    address = (address + 4) & 0xfff;
    for (InstructionEvent& event : events) {
      event.address = address;
      event.size = event.instruction->properties.read_bytes;
      if constexpr (kHasHistory) history.Complete(keys, &event);
      engine.Run(event, 1, &thread);
      if constexpr (kHasHistory) history.Follow(keys, event);
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kLoop.size()));
}

// The loop alone.
void NoProductions(benchmark::State& state) {
  std::vector<InstructionEvent> events(kLoop.size());
  uint64_t address = 0;
  for (auto _ : state) {
    address = (address + 4) & 0xfff;
    for (InstructionEvent& event : events) {
      event.address = address;
      event.size = 4;
      benchmark::DoNotOptimize(event);
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kLoop.size()));
}
BENCHMARK(NoProductions);

constexpr char kNeverFires[] = "p: mnemonic = cpuid => null, null\n";

void NoProductionFires(benchmark::State& state) { RunLoop(state, kNeverFires, {}); }
BENCHMARK(NoProductionFires);

// Counters alone: P1 to P6, of which one fires at each boundary.
void Framework(benchmark::State& state) { RunLoop(state, "use framework", {}); }
BENCHMARK(Framework);

void OneProfileInBursts(benchmark::State& state) { RunLoop(state, "use call-pairs", {}); }
BENCHMARK(OneProfileInBursts);

void FourProfilesInBursts(benchmark::State& state) {
  RunLoop(state, "use hot-methods\nuse call-pairs\nuse edges\nuse indirect-targets", {});
}
BENCHMARK(FourProfilesInBursts);

void OneProfileExhaustive(benchmark::State& state) {
  RunLoop(state, "use call-pairs", {.is_exhaustive = true});
}
BENCHMARK(OneProfileExhaustive);

void FourProfilesExhaustive(benchmark::State& state) {
  RunLoop(state, "use hot-methods\nuse call-pairs\nuse edges\nuse indirect-targets",
          {.is_exhaustive = true});
}
BENCHMARK(FourProfilesExhaustive);

uint64_t calls = 0;

ProbeHandler Handler() {
  return [](const ProbeCall& call) {
    calls += call.values[1];
    return false;
  };
}

constexpr char kCallsOfPairs[] =
    "use framework\nc: proc_call && sample_flag => call(function, target), null\n";
constexpr char kCallsOfAll[] = "c: pc > 0 => call(pc, function), null\n";

void HandlerOfCallsInBursts(benchmark::State& state) {
  RunLoop(state, kCallsOfPairs, {.handler = Handler()});
}
BENCHMARK(HandlerOfCallsInBursts);

void HandlerOfCallsExhaustive(benchmark::State& state) {
  RunLoop(state, kCallsOfPairs, {.is_exhaustive = true, .handler = Handler()});
}
BENCHMARK(HandlerOfCallsExhaustive);

void HandlerOfEachInstruction(benchmark::State& state) {
  RunLoop(state, kCallsOfAll, {.is_exhaustive = true, .handler = Handler()});
}
BENCHMARK(HandlerOfEachInstruction);

void CallContextsExhaustive(benchmark::State& state) {
  RunLoop<true>(state, "use call-contexts", {.is_exhaustive = true});
}
BENCHMARK(CallContextsExhaustive);

void PathsExhaustive(benchmark::State& state) {
  RunLoop<true>(state, "use paths", {.is_exhaustive = true});
}
BENCHMARK(PathsExhaustive);

void ReuseDistancesExhaustive(benchmark::State& state) {
  RunLoop<true>(state, "use reuse-distances", {.is_exhaustive = true});
}
BENCHMARK(ReuseDistancesExhaustive);

// A condition that depends on each execution of each load and store.
void OperandsOfEachAccess(benchmark::State& state) {
  RunLoop(state, "p: mem_op && address < 8 && size != 3 => count(pc), null\n", {});
}
BENCHMARK(OperandsOfEachAccess);

// Accesses to lines in no order.
void AccessLines(benchmark::State& state) {
  ReuseDistances distances;
  const auto lines = static_cast<uint64_t>(state.range(0));
  for (uint64_t line = 0; line < lines; ++line) distances.Access(line);
  uint64_t random = 1;
  for (auto _ : state) {
    random = random * 6364136223846793005 + 1442695040888963407;
    benchmark::DoNotOptimize(distances.Access((random >> 32) % lines));
  }
}
BENCHMARK(AccessLines)->Arg(1 << 6)->Arg(1 << 14)->Arg(1 << 20);

void InferGrammar(benchmark::State& state) {
  std::vector<std::vector<uint32_t>> sequences(1);
  for (uint32_t i = 0; i < 1 << 20; ++i) sequences[0].push_back((i * i >> 3) % 1021);
  for (auto _ : state) benchmark::DoNotOptimize(FindHotStreams(sequences, {}).streams.size());
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() << 20));
}
BENCHMARK(InferGrammar);

// The bursts of a profile, as often as there are iterations. The analysis is made once.
class BurstsOfProfile {
 public:
  explicit BurstsOfProfile(benchmark::State& state) : state_(state) {
    error_.struct_size = sizeof(error_);
    const char* const path = std::getenv("HBBP_BENCH_PROFILE");
    if (path == nullptr) {
      state.SkipWithError("HBBP_BENCH_PROFILE names no profile with whole bursts");
    } else if (hbbp_profile_load(path, nullptr, &profile_, &error_) != HBBP_OK ||
               hbbp_analysis_create(profile_, nullptr, nullptr, &analysis_, &error_) != HBBP_OK) {
      state.SkipWithError(error_.message);
    }
  }
  ~BurstsOfProfile() {
    hbbp_analysis_destroy(analysis_);
    hbbp_profile_destroy(profile_);
  }
  BurstsOfProfile(const BurstsOfProfile&) = delete;
  BurstsOfProfile& operator=(const BurstsOfProfile&) = delete;

  // Returns whether it could be done.
  bool Run(const char* productions, bool is_exhaustive) {
    if (analysis_ == nullptr) return false;
    HBBP_INIT(hbbp_probe_options, options);
    options.productions = productions;
    options.is_exhaustive = is_exhaustive ? 1 : 0;
    options.handler = [](const hbbp_probe_call* call, void*) {
      calls += call->values[1];
      return hbbp_probe_answer{HBBP_PROBE_GO_ON};
    };
    HBBP_INIT(hbbp_probe_info, info);
    hbbp_probe* probe = nullptr;
    const bool is_done =
        hbbp_probe_create(&options, &probe, &error_) == HBBP_OK &&
        hbbp_probe_run(probe, analysis_, 0, nullptr, nullptr, &error_) == HBBP_OK &&
        hbbp_probe_get_info(probe, &info, &error_) == HBBP_OK;
    hbbp_probe_destroy(probe);
    if (!is_done) state_.SkipWithError(error_.message);
    instructions_ += info.instructions;
    return is_done;
  }

  uint64_t instructions() const { return instructions_; }

 private:
  benchmark::State& state_;
  hbbp_error error_{};
  hbbp_profile* profile_ = nullptr;
  hbbp_analysis* analysis_ = nullptr;
  uint64_t instructions_ = 0;
};

void RunOnProfile(benchmark::State& state, const char* productions, bool is_exhaustive) {
  BurstsOfProfile bursts(state);
  for (auto _ : state) {
    if (!bursts.Run(productions, is_exhaustive)) break;
  }
  state.SetItemsProcessed(static_cast<int64_t>(bursts.instructions()));
}
constexpr char kFourProfiles[] =
    "use hot-methods\nuse call-pairs\nuse edges\nuse indirect-targets\n";
BENCHMARK_CAPTURE(RunOnProfile, never_fires, kNeverFires, false);
BENCHMARK_CAPTURE(RunOnProfile, framework, "use framework\n", false);
BENCHMARK_CAPTURE(RunOnProfile, one, "use call-pairs\n", false);
BENCHMARK_CAPTURE(RunOnProfile, one_exhaustive, "use call-pairs\n", true);
BENCHMARK_CAPTURE(RunOnProfile, four, kFourProfiles, false);
BENCHMARK_CAPTURE(RunOnProfile, four_exhaustive, kFourProfiles, true);
BENCHMARK_CAPTURE(RunOnProfile, handler_of_calls, kCallsOfPairs, false);
BENCHMARK_CAPTURE(RunOnProfile, handler_of_calls_exhaustive, kCallsOfPairs, true);
BENCHMARK_CAPTURE(RunOnProfile, handler_of_each_instruction, kCallsOfAll, true);

}  // namespace
}  // namespace hbbp
