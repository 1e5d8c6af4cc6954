// Compares what the model says of code with what limits that code on any processor. The code is run
// by a look-ahead, which fills the cache that the model reads.
#include "backends/burst_time.h"

#include <immintrin.h>

#include <algorithm>
#include <vector>

#include "backends/cycle_time.h"
#include "backends/instruction_latency.h"
#include "support/catch.h"
#include "trace/interpreter/look_ahead.h"

namespace hbbp {
namespace {

extern "C" {
void hbbp_test_short_loop(uint64_t rounds);
void hbbp_test_chain(uint64_t rounds);
void hbbp_test_independent(uint64_t rounds);
void hbbp_test_through_memory(uint64_t rounds, uint64_t* word);
void hbbp_test_vector_moves(uint64_t rounds, const double* value);
void hbbp_test_zeros(uint64_t rounds);
void hbbp_test_divisions(uint64_t rounds);
void hbbp_test_stride(uint64_t rounds, const uint8_t* memory);
}

asm(R"(
  .text
  .p2align 6
  .globl hbbp_test_short_loop, hbbp_test_chain, hbbp_test_independent
  .globl hbbp_test_through_memory, hbbp_test_vector_moves, hbbp_test_stride
  .globl hbbp_test_zeros, hbbp_test_divisions
hbbp_test_short_loop:
  dec %rdi
  jne hbbp_test_short_loop
  ret
hbbp_test_chain:
  .rept 98
  lea (%rax,%rcx), %rax
  .endr
  dec %rdi
  jne hbbp_test_chain
  ret
hbbp_test_independent:
  .rept 14
  lea 1(%rcx), %rax
  lea 2(%rcx), %rdx
  lea 3(%rcx), %r8
  lea 4(%rcx), %r9
  lea 5(%rcx), %r10
  lea 6(%rcx), %r11
  lea 7(%rcx), %rsi
  .endr
  dec %rdi
  jne hbbp_test_independent
  ret
hbbp_test_through_memory:
  mov (%rsi), %rax
  inc %rax
  mov %rax, (%rsi)
  dec %rdi
  jne hbbp_test_through_memory
  ret
hbbp_test_vector_moves:
  .rept 16
  movsd (%rsi), %xmm0
  mulsd %xmm0, %xmm0
  .endr
  dec %rdi
  jne hbbp_test_vector_moves
  ret
hbbp_test_zeros:
  .rept 16
  pxor %xmm0, %xmm0
  mulsd %xmm1, %xmm0
  mulsd %xmm1, %xmm0
  .endr
  dec %rdi
  jne hbbp_test_zeros
  ret
hbbp_test_divisions:
  .rept 4
  xor %edx, %edx
  mov $100, %eax
  div %ecx
  .endr
  dec %rdi
  jne hbbp_test_divisions
  ret
hbbp_test_stride:
  movzbl (%rsi), %eax
  add $158656, %rsi
  dec %rdi
  jne hbbp_test_stride
  ret
)");

constexpr uint64_t kStride = 158'656;

class Model {
 public:
  Model() {
    cache_ = trace::CodeCache::Create(4 << 20, nullptr);
    REQUIRE(cache_ != nullptr);
    memory_.resize(trace::LookAhead::Size() + trace::LookAhead::Alignment());
    const auto start = reinterpret_cast<uint64_t>(memory_.data());
    const uint64_t alignment = trace::LookAhead::Alignment();
    look_ahead_ = trace::LookAhead::Create(
        reinterpret_cast<void*>((start + alignment - 1) / alignment * alignment), cache_);
  }
  ~Model() { trace::CodeCache::Destroy(cache_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Returns the cycles of an instruction.
  template <typename... Arguments>
  double CyclesPerInstruction(void (*function)(uint64_t, Arguments...), Arguments... arguments) {
    std::vector<TakenBranch> branches(40);
    const trace::RunResult result = Run(&branches, function, arguments...);
    const uint64_t instructions = result.last_branch - result.first_branch;
    BurstTime time(cache_, {1, 1, true});
    (void)time.StreamsNs(branches, instructions);  // the predictor learns
    return time.StreamsNs(branches, instructions) / static_cast<double>(instructions);
  }

  template <typename... Arguments>
  uint64_t MissTicks(size_t rounds, void (*function)(uint64_t, Arguments...),
                     Arguments... arguments) {
    std::vector<TakenBranch> branches(rounds);
    (void)Run(&branches, function, arguments...);
    return look_ahead_->stats().miss_ticks;
  }

  void SetTimesAccesses(bool times) { cache_->SetTimesAccesses(times); }

 private:
  // Runs until there are as many branches.
  template <typename... Arguments>
  trace::RunResult Run(std::vector<TakenBranch>* branches, void (*function)(uint64_t, Arguments...),
                       Arguments... arguments) {
    trace::MachineState state = {};
    state.rip = reinterpret_cast<uint64_t>(function);
    state.gpr[trace::kRdi] = 1 << 20;
    state.gpr[trace::kRcx] = 7;
    ((state.gpr[trace::kRsi] = reinterpret_cast<uint64_t>(arguments)), ...);
    state.gpr[trace::kRsp] = reinterpret_cast<uint64_t>(stack_ + std::size(stack_) - 8);
    state.has_vector_state = 1;
    state.mxcsr = 0x1f80;
    look_ahead_->Begin(state, true);  // all memory is readable
    const trace::RunResult result =
        look_ahead_->Run(branches->data(), static_cast<uint32_t>(branches->size()), 1 << 20);
    REQUIRE(result.branches == branches->size());
    return result;
  }

  trace::CodeCache* cache_ = nullptr;
  std::vector<uint8_t> memory_;
  trace::LookAhead* look_ahead_ = nullptr;
  uint64_t stack_[1024] = {};
};

TEST_CASE("each instruction of a chain takes a cycle, and a round of the shortest loop") {
  Model model;
  CHECK(model.CyclesPerInstruction(hbbp_test_chain) == Approx(1).epsilon(0.03));
  CHECK(model.CyclesPerInstruction(hbbp_test_short_loop) == Approx(0.5).epsilon(0.1));
}

TEST_CASE("independent instructions flow at the width of the processor") {
  Model model;
  CHECK(model.CyclesPerInstruction(hbbp_test_independent) == Approx(1.0 / 6).epsilon(0.1));
}

TEST_CASE("a value that goes through memory is waited for") {
  Model model;
  uint64_t word = 0;
  // To load it and to add takes 6 cycles, of 5 instructions.
  CHECK(model.CyclesPerInstruction(hbbp_test_through_memory, &word) ==
        Approx(6.0 / 5).epsilon(0.1));
}

TEST_CASE("a load into a vector register does not wait for what the register had") {
  Model model;
  const double value = 1;
  CHECK(model.CyclesPerInstruction(hbbp_test_vector_moves, &value) < 0.5);
}

TEST_CASE("a register that is set to zero is not waited for") {
  Model model;
  CHECK(model.CyclesPerInstruction(hbbp_test_zeros) < 0.3);
}

TEST_CASE("independent divisions share the divider") {
  Model model;
  const double cycles_of_division = 3.5 * model.CyclesPerInstruction(hbbp_test_divisions);
  CHECK(cycles_of_division > 5);
  CHECK(cycles_of_division < LatencyOf(ZYDIS_MNEMONIC_DIV));
}

TEST_CASE("the time of cache misses is measured if that is asked for") {
  constexpr size_t kLines = 400;
  const std::vector<uint8_t> memory((kLines + 1) * kStride, 1);
  const auto ticks_of = [&memory](bool is_timed, bool is_flushed) {
    Model model;
    model.SetTimesAccesses(is_timed);
    uint64_t ticks = UINT64_MAX;
    for (int i = 0; i < 5; ++i) {
      for (size_t line = 0; is_flushed && line < kLines; ++line) {
        _mm_clflush(&memory[line * kStride]);
      }
      _mm_mfence();
      ticks = std::min(ticks, model.MissTicks(kLines, hbbp_test_stride, memory.data()));
    }
    return ticks;
  };
  CHECK(ticks_of(false, true) == 0);
  if (!MeasureCycleTime().may_read_ticks) HBBP_SKIP("the time stamp counter is slow here");
  const uint64_t of_hits = ticks_of(true, false);
  const uint64_t of_misses = ticks_of(true, true);
  CAPTURE(of_hits, of_misses);
  CHECK(of_misses > kLines * 20);
  CHECK(of_misses > 2 * of_hits);
}

TEST_CASE("code that the cache does not have takes an average") {
  Model model;
  trace::CodeCache* empty = trace::CodeCache::Create(4 << 20, nullptr);
  BurstTime time(empty, {0.25, 0.5, true});
  const std::vector<TakenBranch> branches = {{0x1000, 0x2000}, {0x2010, 0x3000}};
  CHECK(time.StreamsNs(branches, 100) == Approx(100 * 0.5 * 0.25));
  CHECK(time.MissesNs(1000) == Approx(250));
  trace::CodeCache::Destroy(empty);
}

TEST_CASE("latencies are those of the operation, whatever its width") {
  CHECK(LatencyOf(ZYDIS_MNEMONIC_ADD) == 1);
  CHECK(LatencyOf(ZYDIS_MNEMONIC_LEA) == 1);
  CHECK(LatencyOf(ZYDIS_MNEMONIC_IMUL) == 3);
  CHECK(LatencyOf(ZYDIS_MNEMONIC_IDIV) == 14);
  CHECK(LatencyOf(ZYDIS_MNEMONIC_ADDSD) == 3);
  CHECK(LatencyOf(ZYDIS_MNEMONIC_VADDPS) == 3);
  CHECK(LatencyOf(ZYDIS_MNEMONIC_MULSD) == 4);
  CHECK(LatencyOf(ZYDIS_MNEMONIC_VFMADD231PD) == 4);
  CHECK(LatencyOf(ZYDIS_MNEMONIC_VDIVPD) == 13);
  CHECK(LatencyOf(ZYDIS_MNEMONIC_VPADDD) == 1);
  CHECK(IsMove(ZYDIS_MNEMONIC_VMOVDQU));
  CHECK(IsMove(ZYDIS_MNEMONIC_MOV));
  CHECK_FALSE(IsMove(ZYDIS_MNEMONIC_LEA));
}

TEST_CASE("a cycle takes a plausible time") {
  const CycleTime time = MeasureCycleTime();
  CHECK(time.ns_per_cycle > 0.1);
  CHECK(time.ns_per_cycle < 20);
  if (time.may_read_ticks) {
    CHECK(time.ns_per_tick > 0.1);
    CHECK(time.ns_per_tick < 10);
  }
}

}  // namespace
}  // namespace hbbp
