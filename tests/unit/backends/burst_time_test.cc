// Compares what the model says of code with what limits that code on any processor. The code is run
// by a look-ahead, which fills the cache that the model reads.
#include "backends/burst_time.h"

#include <immintrin.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <memory_resource>
#include <span>
#include <vector>

#include "backends/instruction_latency.h"
#include "backends/processor_timing.h"
#include "base/clock.h"
#include "support/catch.h"
#include "support/heap_use.h"
#include "trace/interpreter/execution_width.h"
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
void hbbp_test_scattered(uint64_t rounds, const uint8_t* memory);
void hbbp_test_scattered_updates(uint64_t rounds, const uint8_t* memory);
void hbbp_test_scattered_stores(uint64_t rounds, const uint8_t* memory);
void hbbp_test_scattered_prefetched(uint64_t rounds, const uint8_t* memory);
void hbbp_test_loop_in_ebp(uint64_t rounds);
void hbbp_test_float_through_memory(uint64_t rounds);
void hbbp_test_compare(uint64_t rounds);
void hbbp_test_calls(uint64_t rounds);
void hbbp_test_x87_chain(uint64_t rounds);
void hbbp_test_x87_independent(uint64_t rounds);
void hbbp_test_slow_then_fast(uint64_t rounds, uint64_t slow_rounds);
void hbbp_test_many_blocks(uint64_t rounds);
void hbbp_test_repeats(uint64_t rounds, uint64_t* words);
void hbbp_test_locked(uint64_t rounds, uint64_t* words);
void hbbp_test_exchange(uint64_t rounds, uint64_t* words);
void hbbp_test_exchange_registers(uint64_t rounds);
void hbbp_test_pause(uint64_t rounds);
void hbbp_test_fence(uint64_t rounds);
void hbbp_test_load_part(uint64_t rounds, uint64_t* words);
void hbbp_test_load_more(uint64_t rounds, uint64_t* words);
void hbbp_test_load_vector(uint64_t rounds, uint64_t* words);
void hbbp_test_load_more_later(uint64_t rounds, uint64_t* words);
void hbbp_test_stores(uint64_t rounds, uint64_t* words);
void hbbp_test_vectors(uint64_t rounds);
void hbbp_test_transfers(uint64_t rounds);
void hbbp_test_transfers_from_memory(uint64_t rounds, uint64_t* words);
void hbbp_test_index(uint64_t rounds, uint64_t* words);
void hbbp_test_extensions(uint64_t rounds);
void hbbp_test_neighbours(uint64_t rounds, const uint8_t* memory);
}

asm(R"(
  .text
  .p2align 6
  .globl hbbp_test_short_loop, hbbp_test_chain, hbbp_test_independent
  .globl hbbp_test_through_memory, hbbp_test_vector_moves, hbbp_test_scattered
  .globl hbbp_test_zeros, hbbp_test_divisions, hbbp_test_repeats
  .globl hbbp_test_float_through_memory, hbbp_test_scattered_prefetched
  .globl hbbp_test_scattered_updates, hbbp_test_scattered_stores, hbbp_test_loop_in_ebp
  .globl hbbp_test_calls, hbbp_test_slow_then_fast, hbbp_test_many_blocks
  .globl hbbp_test_compare, hbbp_test_x87_chain, hbbp_test_x87_independent
  .globl hbbp_test_locked, hbbp_test_exchange, hbbp_test_exchange_registers, hbbp_test_pause
  .globl hbbp_test_fence, hbbp_test_load_part, hbbp_test_load_more, hbbp_test_load_vector
  .globl hbbp_test_load_more_later, hbbp_test_stores, hbbp_test_vectors, hbbp_test_transfers
  .globl hbbp_test_transfers_from_memory, hbbp_test_index, hbbp_test_extensions
  .globl hbbp_test_neighbours
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
hbbp_test_calls:
  call 2f
  call 2f
  dec %rdi
  jne hbbp_test_calls
2:
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
hbbp_test_repeats:
  mov %rsi, %r8
  mov %rdi, %r9
1:
  mov %r8, %rsi
  mov %r8, %rdi
  mov $2, %ecx
  rep movsq
  dec %r9
  jne 1b
  ret
hbbp_test_locked:
  lock addq $1, (%rsi)
  lock xaddq %rax, 64(%rsi)
  dec %rdi
  jne hbbp_test_locked
  ret
hbbp_test_exchange:
  xchg %rax, (%rsi)
  dec %rdi
  jne hbbp_test_exchange
  ret
hbbp_test_exchange_registers:
  .rept 16
  xchg %rax, %rdx
  .endr
  dec %rdi
  jne hbbp_test_exchange_registers
  ret
hbbp_test_pause:
  pause
  dec %rdi
  jne hbbp_test_pause
  ret
hbbp_test_fence:
  .rept 10
  imul %rcx, %rcx
  .endr
  lfence
  dec %rdi
  jne hbbp_test_fence
  ret
hbbp_test_load_part:
  mov %rax, (%rsi)
  movzbl (%rsi), %eax
  dec %rdi
  jne hbbp_test_load_part
  ret
hbbp_test_load_more:
  mov %al, (%rsi)
  mov (%rsi), %rax
  dec %rdi
  jne hbbp_test_load_more
  ret
hbbp_test_load_vector:
  mov %rax, (%rsi)
  movdqu (%rsi), %xmm0
  movq %xmm0, %rax
  dec %rdi
  jne hbbp_test_load_vector
  ret
hbbp_test_load_more_later:
  mov %al, (%rsi)
  .rept 100
  lea 1(%rax), %rax
  .endr
  and $0, %rax
  mov (%rsi,%rax), %rax
  dec %rdi
  jne hbbp_test_load_more_later
  ret
hbbp_test_stores:
  .rept 32
  mov %rdi, (%rsi)
  .endr
  dec %rdi
  jne hbbp_test_stores
  ret
hbbp_test_vectors:
  .rept 16
  paddd %xmm1, %xmm0
  .endr
  dec %rdi
  jne hbbp_test_vectors
  ret
hbbp_test_transfers:
  .rept 8
  movq %rax, %xmm0
  movq %xmm0, %rax
  .endr
  dec %rdi
  jne hbbp_test_transfers
  ret
hbbp_test_transfers_from_memory:
  .rept 8
  movq (%rsi), %xmm0
  paddd %xmm0, %xmm1
  .endr
  dec %rdi
  jne hbbp_test_transfers_from_memory
  ret
hbbp_test_index:
  .rept 16
  mov (%rsi,%rax,8), %rax
  .endr
  dec %rdi
  jne hbbp_test_index
  ret
hbbp_test_extensions:
  .rept 8
  movzbl %al, %eax
  movsbl %al, %eax
  .endr
  dec %rdi
  jne hbbp_test_extensions
  ret
hbbp_test_neighbours:
  movzbl (%rsi), %eax
  add $64, %rsi
  dec %rdi
  jne hbbp_test_neighbours
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
hbbp_test_scattered:
  imul $167, %edi, %eax
  and $255, %eax
  imul $158656, %rax, %rax
  movzbl (%rsi,%rax), %eax
  dec %rdi
  jne hbbp_test_scattered
  ret
hbbp_test_scattered_updates:
  imul $167, %edi, %eax
  and $255, %eax
  imul $158656, %rax, %rax
  incb (%rsi,%rax)
  dec %rdi
  jne hbbp_test_scattered_updates
  ret
hbbp_test_scattered_stores:
  imul $167, %edi, %eax
  and $255, %eax
  imul $158656, %rax, %rax
  movb %dil, (%rsi,%rax)
  dec %rdi
  jne hbbp_test_scattered_stores
  ret
hbbp_test_scattered_prefetched:
  imul $167, %edi, %eax
  and $255, %eax
  imul $158656, %rax, %rax
  prefetcht0 (%rsi,%rax)
  .rept 1000
  lea 1(%rcx), %rdx
  .endr
  movzbl (%rsi,%rax), %eax
  dec %rdi
  jne hbbp_test_scattered_prefetched
  ret
hbbp_test_float_through_memory:
  movsd -64(%rsp), %xmm0
  addsd %xmm1, %xmm0
  movsd %xmm0, -64(%rsp)
  dec %rdi
  jne hbbp_test_float_through_memory
  ret
hbbp_test_loop_in_ebp:
  sub $1, %ebp
  sub $1, %ebp
  sub $1, %ebp
  sub $1, %ebp
  dec %rdi
  jne hbbp_test_loop_in_ebp
  ret
hbbp_test_compare:
  .rept 4
  lea 1(%rcx), %rax
  .endr
  dec %rdi
  cmp $0, %rdi
  jne hbbp_test_compare
  ret
hbbp_test_x87_chain:
  .rept 16
  fadd %st(0), %st(0)
  .endr
  dec %rdi
  jne hbbp_test_x87_chain
  ret
hbbp_test_slow_then_fast:
  .rept 7
  imul %rax, %rax
  .endr
  dec %rsi
  jne hbbp_test_slow_then_fast
  and $0, %rax
  add %rax, %rdi
  jmp hbbp_test_short_loop
hbbp_test_many_blocks:
  .rept 1000
  .fill 24, 1, 0x90
  jmp 1f
1:
  .endr
  jmp hbbp_test_many_blocks
hbbp_test_x87_independent:
  .rept 16
  fld1
  fadd %st(0), %st(0)
  fstp %st(0)
  .endr
  dec %rdi
  jne hbbp_test_x87_independent
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
    return Cycles(LengthUnit::kInstructions, 40, function, arguments...);
  }

  // Returns the cycles of an instruction or a stream, by a burst of so many branches.
  template <typename... Arguments>
  double Cycles(LengthUnit unit, size_t count, void (*function)(uint64_t, Arguments...),
                Arguments... arguments) {
    std::vector<TakenBranch> branches(count);
    const trace::RunResult result = Run(&branches, function, arguments...);
    const uint64_t instructions = result.last_branch - result.first_branch;
    BurstTime time(cache_, processor_);
    (void)time.StreamsNs(branches, instructions, unit);  // the predictor learns
    const double ns = time.StreamsNs(branches, instructions, unit);
    return ns / static_cast<double>(unit == LengthUnit::kStreams ? count - 1 : instructions);
  }

  template <typename... Arguments>
  trace::MemoryUse Use(size_t rounds, void (*function)(uint64_t, Arguments...),
                       Arguments... arguments) {
    std::vector<TakenBranch> branches(rounds);
    (void)Run(&branches, function, arguments...);
    return look_ahead_->stats().memory_use;
  }

  template <typename... Arguments>
  std::vector<TakenBranch> Branches(size_t count, void (*function)(uint64_t, Arguments...),
                                    Arguments... arguments) {
    std::vector<TakenBranch> branches(count);
    (void)Run(&branches, function, arguments...);
    return branches;
  }

  uint16_t MeasureWidth() const { return look_ahead_->MeasureWidth(); }

  const trace::CodeCache* cache() const { return cache_; }
  void SetAccessTiming(trace::AccessTiming timing) { cache_->SetAccessTiming(timing); }
  // Its cycle takes a nanosecond.
  ProcessorTiming& processor() { return processor_; }

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

  ProcessorTiming processor_{.ns_per_cycle = 1, .ns_per_tick = 1};
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

TEST_CASE("the speed is that where the burst begins") {
  constexpr double kSlow = 21, kOfSlow = 9;
  Model model;
  // A slow loop of as many instructions or streams as are executed, and then a fast one.
  CHECK(model.Cycles(LengthUnit::kInstructions, 2000, hbbp_test_slow_then_fast, uint64_t{115}) ==
        Approx(kSlow / kOfSlow).epsilon(0.05));
  CHECK(model.Cycles(LengthUnit::kStreams, 2000, hbbp_test_slow_then_fast, uint64_t{260}) ==
        Approx(kSlow).epsilon(0.05));
}

TEST_CASE("the fewer instructions streams have, the less time takes one") {
  constexpr size_t kBranches = 100;
  Model model;
  CHECK(model.Cycles(LengthUnit::kStreams, kBranches, hbbp_test_short_loop) ==
        Approx(1).epsilon(0.1));
  CHECK(model.Cycles(LengthUnit::kStreams, kBranches, hbbp_test_chain) ==
        Approx(100).epsilon(0.05));
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

TEST_CASE("a number that is subtracted from ebp does not make a zero") {
  Model model;
  CHECK(model.CyclesPerInstruction(hbbp_test_loop_in_ebp) == Approx(4.0 / 6).epsilon(0.1));
}

TEST_CASE("independent divisions share the divider") {
  Model model;
  const double cycles_of_division = 3.5 * model.CyclesPerInstruction(hbbp_test_divisions);
  CHECK(cycles_of_division > 5);
  CHECK(cycles_of_division < FindLatency(ZYDIS_MNEMONIC_DIV, {}));
}

TEST_CASE("repeated string instructions keep others from entering") {
  Model model;
  model.processor().repeat = 60;
  uint64_t words[2] = {};
  CHECK(model.Cycles(LengthUnit::kStreams, 100, hbbp_test_repeats, words) ==
        Approx(61).epsilon(0.05));
}

TEST_CASE("repeated string instructions of no words take what they were measured to") {
  trace::CodeCache* const empty = trace::CodeCache::Create(4 << 20, nullptr);
  const BurstTime time(empty, {.ns_per_cycle = 0.25, .repeat = 10, .empty_repeat = 50});
  CHECK(time.WithMissesNs(300, {.empty_repeats = 10}) == Approx(400));
  CHECK(time.WithMissesNs(300, {.empty_repeats = 10}, 0.5) == Approx(350));
  const BurstTime faster(empty, {.ns_per_cycle = 0.25, .repeat = 50, .empty_repeat = 10});
  CHECK(faster.WithMissesNs(300, {.empty_repeats = 10}) == Approx(300));
  trace::CodeCache::Destroy(empty);
}

TEST_CASE("locked instructions follow each other, wherever they are") {
  constexpr double kCycles = 40;
  Model model;
  model.processor().locked = kCycles;
  uint64_t words[16] = {};
  CHECK(model.Cycles(LengthUnit::kStreams, 100, hbbp_test_locked, words) ==
        Approx(2 * kCycles).epsilon(0.05));
  CHECK(model.Cycles(LengthUnit::kStreams, 100, hbbp_test_exchange, words) ==
        Approx(kCycles).epsilon(0.2));
  CHECK(model.Cycles(LengthUnit::kStreams, 100, hbbp_test_exchange_registers) < 20);
}

TEST_CASE("what waits keeps others from entering") {
  Model model;
  model.processor().pause = 60;
  CHECK(model.Cycles(LengthUnit::kStreams, 100, hbbp_test_pause) == Approx(61).epsilon(0.03));
  // The multiplications in front of it end first.
  CHECK(model.Cycles(LengthUnit::kStreams, 100, hbbp_test_fence) ==
        Approx(10 * 3 + FindBlockingCycles(ZYDIS_MNEMONIC_LFENCE, {})).epsilon(0.05));
}

TEST_CASE("a load of a part of what was stored takes longer, and one of more than that") {
  Model model;
  model.processor().forward = 0;
  uint64_t words[2] = {};
  CHECK(model.Cycles(LengthUnit::kStreams, 100, hbbp_test_load_part, words) ==
        Approx(6).epsilon(0.1));
  CHECK(model.Cycles(LengthUnit::kStreams, 100, hbbp_test_load_more, words) ==
        Approx(14).epsilon(0.1));
  CHECK(model.Cycles(LengthUnit::kStreams, 100, hbbp_test_load_vector, words) ==
        Approx(14 + model.processor().transfer).epsilon(0.1));
  // By then the store is in the cache.
  CHECK(model.Cycles(LengthUnit::kStreams, 100, hbbp_test_load_more_later, words) < 100 + 10);
}

TEST_CASE("stores enter the cache one after the other") {
  Model model;
  uint64_t word = 0;
  for (const double cycles : {0.5, 1.0}) {
    model.processor().store = cycles;
    CHECK(model.Cycles(LengthUnit::kStreams, 30, hbbp_test_stores, &word) ==
          Approx(32 * cycles).epsilon(0.15));
  }
}

TEST_CASE("operations on vectors, and between these and others, take what was measured") {
  Model model;
  model.processor().vector = 2;
  model.processor().transfer = 5;
  CHECK(model.Cycles(LengthUnit::kStreams, 50, hbbp_test_vectors) == Approx(16 * 2).epsilon(0.05));
  CHECK(model.Cycles(LengthUnit::kStreams, 50, hbbp_test_transfers) ==
        Approx(16 * 5).epsilon(0.05));
  uint64_t words[2] = {};
  CHECK(model.Cycles(LengthUnit::kStreams, 50, hbbp_test_transfers_from_memory, words) ==
        Approx(8 * 2).epsilon(0.1));
}

TEST_CASE("a load with an index takes at least five cycles") {
  Model model;
  uint64_t words[1] = {};
  for (const double load : {4.0, 5.0, 6.0}) {
    model.processor().load = load;
    CHECK(model.Cycles(LengthUnit::kStreams, 50, hbbp_test_index, words) ==
          Approx(16 * std::max(load, 5.0)).epsilon(0.05));
  }
}

TEST_CASE("an extension between registers takes a cycle") {
  Model model;
  CHECK(model.Cycles(LengthUnit::kStreams, 50, hbbp_test_extensions) == Approx(16).epsilon(0.05));
}

TEST_CASE("lines are counted that are next to none that was used") {
  constexpr size_t kLines = 256;
  Model model;
  model.SetAccessTiming(MeasureProcessor().accesses);
  const std::vector<uint8_t> memory((kLines + 1) * kStride, 1);
  const uint64_t scattered = model.Use(kLines, hbbp_test_scattered, memory.data()).lines;
  if (scattered == 0) HBBP_SKIP("the time stamp counter cannot be read");
  CHECK(scattered >= kLines - 1);
  const uint64_t of_row = model.Use(kLines, hbbp_test_neighbours, memory.data()).lines;
  CHECK(of_row > 0);
  CHECK(of_row <= kLines / 64 + 1);
}

TEST_CASE("what a value through memory costs is that of the processor") {
  Model model;
  model.processor().forward = 0;
  uint64_t word = 0;
  // An addition remains, and the taken branch, for five instructions.
  CHECK(model.CyclesPerInstruction(hbbp_test_through_memory, &word) < 0.4);
}

TEST_CASE("a value of floating point through memory has a cost of its own") {
  Model model;
  model.processor().forward = 0;
  model.processor().forward_vector = 7;
  // Of five instructions, an addition and the way through memory are waited for.
  CHECK(model.CyclesPerInstruction(hbbp_test_float_through_memory) ==
        Approx((7 + model.processor().add) / 5).epsilon(0.1));
}

TEST_CASE("a wide processor executes more instructions in a cycle") {
  Model model;
  model.processor().instructions_per_cycle = 8;
  CHECK(model.CyclesPerInstruction(hbbp_test_independent) == Approx(1.0 / 8).epsilon(0.1));
}

TEST_CASE("what others take of the width is missing where instructions wait for nothing") {
  constexpr size_t kBranches = 100;
  Model model;
  model.SetAccessTiming({.hit = 30});
  model.processor().accesses.hit = 30;
  const auto ns_of = [&model](void (*function)(uint64_t), double width) {
    const std::vector<TakenBranch> branches = model.Branches(kBranches, function);
    BurstTime time(model.cache(), model.processor());
    const double ticks = width == 0 ? 0 : 30 + trace::kInstructionsOfWidth / width;
    return time.StreamsNs(branches, 1000, LengthUnit::kInstructions,
                          static_cast<uint16_t>(ticks + 0.5));
  };
  model.processor().instructions_per_cycle = 8;
  CHECK(ns_of(hbbp_test_independent, 8) == Approx(1000.0 / 8).epsilon(0.1));
  CHECK(ns_of(hbbp_test_independent, 4) == Approx(1000.0 / 4).epsilon(0.1));
  CHECK(ns_of(hbbp_test_independent, 1) == Approx(1000.0 / 3).epsilon(0.1));  // an interrupt
  CHECK(ns_of(hbbp_test_independent, 0) == Approx(1000.0 / 8).epsilon(0.1));
  CHECK(ns_of(hbbp_test_chain, 4) == Approx(ns_of(hbbp_test_chain, 8)).epsilon(0.01));
}

TEST_CASE("the width is measured where accesses are timed") {
  Model model;
  (void)model.Branches(10, hbbp_test_independent);
  CHECK(model.MeasureWidth() == 0);
  const ProcessorTiming processor = MeasureProcessor();
  if (!processor.may_read_ticks) HBBP_SKIP("the time stamp counter is slow here");
  model.SetAccessTiming(processor.accesses);
  (void)model.Branches(10, hbbp_test_independent);
  CHECK(model.MeasureWidth() > processor.accesses.hit);
}

TEST_CASE("calls and returns take more than other branches") {
  Model model;
  // Four of six instructions take two cycles each.
  CHECK(model.CyclesPerInstruction(hbbp_test_calls) == Approx(4 * 2.0 / 6).epsilon(0.1));
}

TEST_CASE("a conditional branch executes with the comparison before it") {
  Model model;
  model.processor().instructions_per_cycle = 1;
  // Seven instructions and the taken branch, of which the last two are one.
  CHECK(model.CyclesPerInstruction(hbbp_test_compare) == Approx(6.5 / 7).epsilon(0.02));
}

TEST_CASE("registers of the x87 stack are waited for") {
  Model model;
  const double chain = model.CyclesPerInstruction(hbbp_test_x87_chain);
  const double independent = model.CyclesPerInstruction(hbbp_test_x87_independent);
  // Each addition waits for the one before, or for a load of its own.
  CHECK(chain == Approx(FindLatency(ZYDIS_MNEMONIC_FADD, model.processor())).epsilon(0.15));
  CHECK(independent < 0.5);
}

long Preemptions() {
  rusage usage = {};
  REQUIRE(::getrusage(RUSAGE_THREAD, &usage) == 0);
  return usage.ru_nivcsw;
}

// Measures again where another process has had the CPU, and so the caches, meanwhile.
template <typename Measure>
uint64_t WithoutPreemption(Measure&& measure) {
  constexpr int kMaxTries = 100;
  for (int tries = 1;; ++tries) {
    const long before = Preemptions();
    const uint64_t measured = measure();
    if (Preemptions() == before || tries == kMaxTries) return measured;
  }
}

// Where walks through page tables were measured as long, as on virtual machines at times, first
// loads of pages are not known to miss.
trace::AccessTiming TimingWithoutWalks(const ProcessorTiming& processor) {
  trace::AccessTiming timing = processor.accesses;
  timing.page_walk = 0;
  return timing;
}

TEST_CASE("the time of cache misses is measured if that is asked for") {
  // They are loaded in an order that no prefetcher foresees.
  constexpr size_t kLines = 256;
  const std::vector<uint8_t> memory((kLines + 1) * kStride, 1);
  const auto ticks_of = [&memory](trace::AccessTiming timing, bool is_flushed) {
    Model model;
    model.SetAccessTiming(timing);
    // Another process that uses the caches makes some of them too high.
    std::array<uint64_t, 9> ticks;
    const auto measure = [&] {
      for (size_t line = 0; is_flushed && line < kLines; ++line) {
        _mm_clflush(&memory[line * kStride]);
      }
      _mm_mfence();
      const trace::MemoryUse use = model.Use(kLines, hbbp_test_scattered, memory.data());
      CHECK(use.lines == (timing.hit == 0 ? 0 : kLines));
      return use.miss_ticks;
    };
    for (uint64_t& each : ticks) each = WithoutPreemption(measure);
    std::nth_element(ticks.begin(), ticks.begin() + ticks.size() / 2, ticks.end());
    return ticks[ticks.size() / 2];
  };
  CHECK(ticks_of({}, true) == 0);
  const ProcessorTiming processor = MeasureProcessor();
  if (!processor.may_read_ticks) HBBP_SKIP("the time stamp counter is slow here");
  const trace::AccessTiming timing = TimingWithoutWalks(processor);
  const uint64_t of_hits = ticks_of(timing, false);
  const uint64_t of_misses = ticks_of(timing, true);
  CAPTURE(of_hits, of_misses);
  CHECK(of_misses > kLines * timing.min_miss);
  CHECK(of_misses > 2 * of_hits);
  const uint64_t min_ticks = timing.min_miss + 3 * uint64_t{processor.accesses.page_walk};
  const bool are_misses_longer_than_walks = min_ticks * kLines < of_misses * 3 / 4;
  if (are_misses_longer_than_walks) {
    CHECK(ticks_of(processor.accesses, true) > kLines * timing.min_miss);
  }
}

TEST_CASE("what first loads of pages take behind any interrupt is not a miss") {
  // Each line is in a page of its own.
  constexpr size_t kLines = 256;
  const std::vector<uint8_t> memory((kLines + 1) * kStride, 1);
  const ProcessorTiming processor = MeasureProcessor();
  if (!processor.may_read_ticks) HBBP_SKIP("the time stamp counter is slow here");
  const auto ticks_of = [&memory](trace::AccessTiming timing) {
    Model model;
    model.SetAccessTiming(timing);
    for (size_t line = 0; line < kLines; ++line) _mm_clflush(&memory[line * kStride]);
    _mm_mfence();
    return model.Use(kLines, hbbp_test_scattered, memory.data()).miss_ticks;
  };
  trace::AccessTiming timing = processor.accesses;
  timing.page_walk = 0;
  CHECK(ticks_of(timing) > kLines * timing.min_miss);
  timing.page_walk = UINT16_MAX;
  CHECK(ticks_of(timing) == 0);
}

TEST_CASE("lines that a prefetcher has loaded ahead of the burst are known by others of the page") {
  constexpr size_t kLines = 256;
  std::vector<uint8_t> memory((kLines + 1) * kStride, 1);
  const ProcessorTiming processor = MeasureProcessor();
  if (!processor.may_read_ticks) HBBP_SKIP("the time stamp counter is slow here");
  // Each line is in a page of its own. The other one is ahead of it.
  const auto other_of = [](uint8_t* line) {
    constexpr uint64_t kPage = 4096, kLine = 64;
    const auto offset = reinterpret_cast<uint64_t>(line) % kPage;
    const uint64_t number = offset / kLine;
    const uint64_t other = number < 24 ? number + 40 : number < 44 ? 63 : number - 40;
    return line - offset + other * kLine;
  };
  // The first bursts of a model have page faults of its own memory, which discard translations.
  Model model;
  model.SetAccessTiming(processor.accesses);
  const auto use_of = [&](bool is_other_in_cache) {
    for (size_t i = 0; i < kLines; ++i) {
      uint8_t* const line = &memory[i * kStride];
      *const_cast<volatile uint8_t*>(line) = 1;
      if (is_other_in_cache) {
        *const_cast<volatile uint8_t*>(other_of(line)) = 1;
      } else {
        _mm_clflush(other_of(line));
      }
    }
    _mm_mfence();
    return model.Use(kLines, hbbp_test_scattered, static_cast<const uint8_t*>(memory.data()));
  };
  // A machine that others use makes lines seem far.
  (void)use_of(false);
  trace::MemoryUse of_far = use_of(false), of_near = use_of(true);
  for (int i = 0; i < 4; ++i) {
    const trace::MemoryUse far = use_of(false), near = use_of(true);
    of_far.miss_ticks = std::min(of_far.miss_ticks, far.miss_ticks);
    of_far.streamed_lines = std::max(of_far.streamed_lines, far.streamed_lines);
    of_near.streamed_lines = std::min(of_near.streamed_lines, near.streamed_lines);
  }
  CAPTURE(of_far.miss_ticks, of_far.streamed_lines, of_near.streamed_lines);
  CHECK(of_far.streamed_lines > kLines / 2);
  CHECK(of_near.streamed_lines < kLines / 4);
  CHECK(of_far.miss_ticks < kLines / 4 * processor.accesses.min_miss);
}

TEST_CASE("page faults within a burst add to its time") {
  Model model;
  model.processor().page_fault_ns = 5000;
  const BurstTime time(model.cache(), model.processor());
  CHECK(time.WithMissesNs(300, {}) == Approx(300));
  CHECK(time.WithMissesNs(300, {.page_faults = 2}) == Approx(10'300));
  CHECK(time.WithMissesNs(300, {.page_faults = 2}, 0.5) == Approx(5'300));
}

TEST_CASE("page faults of a burst are counted where a hypervisor handles them") {
  const ProcessorTiming processor = MeasureProcessor();
  if (processor.page_fault_ns == 0) HBBP_SKIP("no hypervisor has a part in page faults here");
  constexpr size_t kPages = 256, kBytes = (kPages + 1) * kStride;
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  (void)::madvise(memory, kBytes, MADV_NOHUGEPAGE);
  Model model;
  model.SetAccessTiming(processor.accesses);
  const auto* const bytes = static_cast<const uint8_t*>(memory);
  const uint64_t first = model.Use(kPages, hbbp_test_scattered, bytes).page_faults;
  const uint64_t second = model.Use(kPages, hbbp_test_scattered, bytes).page_faults;
  CHECK(first > kPages * 9 / 10);
  CHECK(second < kPages / 10);
  ::munmap(memory, kBytes);
}

TEST_CASE("misses of counters in memory are timed as those of loads") {
  constexpr size_t kLines = 256;
  std::vector<uint8_t> memory((kLines + 1) * kStride, 1);
  const ProcessorTiming processor = MeasureProcessor();
  if (!processor.may_read_ticks) HBBP_SKIP("the time stamp counter is slow here");
  for (const auto function : {hbbp_test_scattered, hbbp_test_scattered_updates}) {
    std::array<uint64_t, 5> ticks;  // others may use the processor in between
    for (uint64_t& found : ticks) {
      Model model;
      model.SetAccessTiming(TimingWithoutWalks(processor));
      for (size_t line = 0; line < kLines; ++line) _mm_clflush(&memory[line * kStride]);
      _mm_mfence();
      const trace::MemoryUse use =
          model.Use(kLines, function, static_cast<const uint8_t*>(memory.data()));
      found = use.miss_ticks;
    }
    std::sort(ticks.begin(), ticks.end());
    CHECK(ticks[ticks.size() / 2] > kLines * processor.accesses.min_miss);
  }
}

TEST_CASE("misses of stores are timed apart from those of loads") {
  constexpr size_t kLines = 256;
  std::vector<uint8_t> memory((kLines + 1) * kStride, 1);
  const ProcessorTiming processor = MeasureProcessor();
  if (!processor.may_read_ticks) HBBP_SKIP("the time stamp counter is slow here");
  Model model;
  model.SetAccessTiming(TimingWithoutWalks(processor));
  for (size_t line = 0; line < kLines; ++line) _mm_clflush(&memory[line * kStride]);
  _mm_mfence();
  const trace::MemoryUse use =
      model.Use(kLines, hbbp_test_scattered_stores, static_cast<const uint8_t*>(memory.data()));
  CHECK(use.store_miss_ticks > kLines * processor.accesses.min_miss);
  CHECK(use.miss_ticks < use.store_miss_ticks / 4);
  CHECK(use.lines >= kLines);
}

TEST_CASE("lines that the program has prefetched do not miss") {
  constexpr size_t kLines = 256;
  std::vector<uint8_t> memory((kLines + 1) * kStride, 1);
  const ProcessorTiming processor = MeasureProcessor();
  if (!processor.may_read_ticks) HBBP_SKIP("the time stamp counter is slow here");
  const auto fewest_ticks = [&](void (*function)(uint64_t, const uint8_t*)) {
    Model model;
    model.SetAccessTiming(processor.accesses);
    uint64_t ticks = UINT64_MAX;
    for (int i = 0; i < 5; ++i) {
      for (size_t line = 0; line < kLines; ++line) _mm_clflush(&memory[line * kStride]);
      _mm_mfence();
      const trace::MemoryUse use =
          model.Use(kLines, function, static_cast<const uint8_t*>(memory.data()));
      ticks = std::min(ticks, use.miss_ticks);
    }
    return ticks;
  };
  CHECK(fewest_ticks(hbbp_test_scattered_prefetched) < fewest_ticks(hbbp_test_scattered) / 2);
}

TEST_CASE("streams of unknown code take as long as those of known code") {
  Model model;
  std::vector<TakenBranch> branches = model.Branches(40, hbbp_test_chain);
  const uint64_t begin = branches.front().to;
  branches.insert(branches.begin(), {{0x1000, 0x2000}, {0x2010, 0x3000}, {0x3010, begin}});
  BurstTime time(model.cache(), model.processor());
  const double ns = time.StreamsNs(branches, 4200, LengthUnit::kStreams);
  CHECK(ns / static_cast<double>(branches.size() - 1) == Approx(100).epsilon(0.05));
}

TEST_CASE("what is known of blocks takes no more memory than is allowed") {
  constexpr size_t kStreams = 60;
  Model model;
  const std::vector<TakenBranch> branches = model.Branches(3000, hbbp_test_many_blocks);
  const int64_t heap_before = HeapBytes();
  BurstTime unlimited(model.cache(), model.processor());
  BurstTime limited(model.cache(), model.processor(), BurstTime::kMinMaxBytes);
  uint64_t max_bytes = 0;
  for (size_t i = 0; i + kStreams < branches.size(); i += kStreams) {
    const std::span<const TakenBranch> part(&branches[i], kStreams);
    const double ns = limited.StreamsNs(part, 25 * kStreams, LengthUnit::kStreams);
    CHECK(ns == unlimited.StreamsNs(part, 25 * kStreams, LengthUnit::kStreams));
    CHECK(limited.Bytes() <= BurstTime::kMinMaxBytes);
    max_bytes = std::max(max_bytes, limited.Bytes());
  }
  CHECK(max_bytes > BurstTime::kMinMaxBytes * 9 / 10);
  CHECK(unlimited.Bytes() > 2 * BurstTime::kMinMaxBytes);
  CHECK(unlimited.Bytes() < BurstTime::kDefaultMaxBytes);
  if (HeapBytes() == 0) HBBP_SKIP("this allocator does not say what is in use");
  const auto growth = static_cast<double>(HeapBytes() - heap_before);
  CHECK(growth < static_cast<double>(unlimited.Bytes() + BurstTime::kMinMaxBytes) * 1.05);
}

TEST_CASE("memory does not come from where the host lets its containers take theirs") {
  Model model;
  const std::vector<TakenBranch> branches = model.Branches(40, hbbp_test_chain);
  BurstTime time(model.cache(), model.processor());
  std::pmr::memory_resource* const of_host =
      std::pmr::set_default_resource(std::pmr::null_memory_resource());
  BurstTime other(model.cache(), model.processor());
  const double ns = other.StreamsNs(branches, 4200, LengthUnit::kStreams);
  std::pmr::set_default_resource(of_host);
  CHECK(ns == time.StreamsNs(branches, 4200, LengthUnit::kStreams));
}

TEST_CASE("of misses and computing the longer hides most of the shorter") {
  Model model;
  trace::CodeCache* empty = trace::CodeCache::Create(4 << 20, nullptr);
  BurstTime time(empty, {.ns_per_cycle = 0.25, .ns_per_tick = 0.5});
  // Code that the cache does not have takes an average.
  const std::vector<TakenBranch> branches = {{0x1000, 0x2000}, {0x2010, 0x3000}};
  CHECK(time.StreamsNs(branches, 100, LengthUnit::kInstructions) == Approx(100 * 0.5 * 0.25));
  CHECK(time.WithMissesNs(300, {}) == Approx(300));
  CHECK(time.WithMissesNs(300, {.miss_ticks = 800}) == Approx(500));
  CHECK(time.WithMissesNs(300, {.store_miss_ticks = 1600}) == Approx(500));
  CHECK(time.WithMissesNs(300, {.miss_ticks = 400, .store_miss_ticks = 800}) == Approx(500));
  // A line that is used for the first time costs two cycles.
  CHECK(time.WithMissesNs(300, {.lines = 20}) == Approx(310));
  CHECK(time.WithMissesNs(300, {.streamed_lines = 160}) == Approx(500));
  CHECK(time.WithMissesNs(300, {.empty_repeats = 10}) == Approx(300));
  trace::CodeCache::Destroy(empty);
}

TEST_CASE("latencies are those of the operation, whatever its width") {
  CHECK(FindLatency(ZYDIS_MNEMONIC_ADD, {}) == 1);
  CHECK(FindLatency(ZYDIS_MNEMONIC_LEA, {}) == 1);
  CHECK(FindLatency(ZYDIS_MNEMONIC_IMUL, {}) == 3);
  CHECK(FindLatency(ZYDIS_MNEMONIC_IDIV, {}) == 14);
  CHECK(FindLatency(ZYDIS_MNEMONIC_ADDSD, {}) == 3);
  CHECK(FindLatency(ZYDIS_MNEMONIC_VADDPS, {}) == 3);
  CHECK(FindLatency(ZYDIS_MNEMONIC_MULSD, {}) == 4);
  CHECK(FindLatency(ZYDIS_MNEMONIC_VFMADD231PD, {}) == 4);
  CHECK(FindLatency(ZYDIS_MNEMONIC_VDIVPD, {}) == 13);
  CHECK(FindLatency(ZYDIS_MNEMONIC_VPADDD, {}) == 1);
  CHECK(FindLatency(ZYDIS_MNEMONIC_PMULLD, {}) == 10);
  CHECK(FindLatency(ZYDIS_MNEMONIC_PMULLD, {.multiply_vector = 3}) == 3);
  CHECK(FindLatency(ZYDIS_MNEMONIC_TZCNT, {.bit_scan = 1}) == 1);
  CHECK(FindBlockingCycles(ZYDIS_MNEMONIC_PAUSE, {.pause = 140}) == 140);
  CHECK(FindBlockingCycles(ZYDIS_MNEMONIC_FSIN, {}) == 50);
  CHECK(FindBlockingCycles(ZYDIS_MNEMONIC_ADD, {}) == 0);
  const ProcessorTiming fast = {.add = 2, .multiply = 3};
  CHECK(FindLatency(ZYDIS_MNEMONIC_ADDSD, fast) == 2);
  CHECK(FindLatency(ZYDIS_MNEMONIC_VMULPS, fast) == 3);
  CHECK(FindLatency(ZYDIS_MNEMONIC_ADD, fast) == 1);
  CHECK(IsMove(ZYDIS_MNEMONIC_VMOVDQU));
  CHECK(IsMove(ZYDIS_MNEMONIC_MOV));
  CHECK_FALSE(IsMove(ZYDIS_MNEMONIC_LEA));
}

TEST_CASE("exceptions of floating point that the program has enabled do not end it") {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1f80 & ~_MM_MASK_MASK);  // none is masked
  const ProcessorTiming timing = MeasureProcessor();
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(timing.add >= 2);
  CHECK(after == (0x1f80u & ~unsigned{_MM_MASK_MASK}));
}

TEST_CASE("what another process has measured by ticks is of no use where they may not be read") {
  ProcessorTiming measured = MeasureProcessor();
  measured.may_read_ticks = true;
  measured.accesses.hit = 40;
  measured.page_fault_ns = 5000;
  int mode = PR_TSC_ENABLE;
  REQUIRE(::prctl(PR_GET_TSC, &mode) == 0);
  REQUIRE(::prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
  const ProcessorTiming refused = UsableHere(measured);
  REQUIRE(::prctl(PR_SET_TSC, mode) == 0);
  CHECK_FALSE(refused.may_read_ticks);
  CHECK(refused.accesses == trace::AccessTiming());
  CHECK(refused.page_fault_ns == 0);
  CHECK(refused.load == measured.load);
  if (mode == PR_TSC_ENABLE) CHECK(UsableHere(measured).accesses == measured.accesses);
}

TEST_CASE("ticks are as long as the clock has them, however long it takes to read it") {
  const ProcessorTiming timing = MeasureProcessorWell();
  if (!timing.may_read_ticks) HBBP_SKIP("the time stamp counter is slow here");
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC), begin = __rdtsc();
  while (ClockNs(CLOCK_MONOTONIC) - begin_ns < 20'000'000) continue;
  const auto ns = static_cast<double>(ClockNs(CLOCK_MONOTONIC) - begin_ns);
  const auto ticks = static_cast<double>(__rdtsc() - begin);
  CHECK(timing.ns_per_tick == Approx(ns / ticks).epsilon(0.05));
}

TEST_CASE("the processor is measured plausibly") {
  const bool well = GENERATE(false, true);
  const ProcessorTiming timing = well ? MeasureProcessorWell() : MeasureProcessor();
  CHECK(timing.ns_per_cycle > 0.1);
  CHECK(timing.ns_per_cycle < 20);
  CHECK(timing.instructions_per_cycle >= 3);
  CHECK(timing.load > timing.forward / 2);
  CHECK(timing.add >= 2);
  CHECK(timing.multiply >= 3);
  CHECK(timing.repeat >= 5);
  CHECK(timing.empty_repeat >= 5);
  CHECK(timing.locked > timing.forward);
  CHECK(timing.transfer >= 1);
  CHECK(timing.add_x87 >= 3);
  CHECK(timing.store < 2);
  if (!timing.may_read_ticks) {
    CHECK(timing.accesses == trace::AccessTiming());
    return;
  }
  CHECK(timing.ns_per_tick > 0.1);
  CHECK(timing.ns_per_tick < 10);
  CHECK(timing.accesses.hit > 0);
  CHECK(timing.accesses.hit < timing.accesses.max_miss);
  CHECK(timing.accesses.page_walk < timing.accesses.max_miss);
  CHECK(timing.accesses.min_miss < timing.accesses.max_miss);
  CHECK((timing.page_fault_ns == 0 || timing.page_fault_ns >= 1000));
  CHECK(timing.page_fault_ns < 1e6);
}

}  // namespace
}  // namespace hbbp
