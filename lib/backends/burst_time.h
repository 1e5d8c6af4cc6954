// BurstTime estimates how long a burst takes at the speed that the program has where the burst
// begins. That is what a burst of a clock weighs by: a sample is the likelier in an instruction, or
// a stream, the more time that takes (docs/internals/method.md, "The rule"). What the code behind
// takes does not matter.
//
// It is a model of an out-of-order processor, after Karkhanis and Smith, "A First-Order Superscalar
// Processor Model" (ISCA 2004): instructions flow in at a fixed width; each waits for its inputs; a
// window limits how far the newest may be ahead of the oldest that is not finished; and a
// mispredicted branch stops the flow until it is resolved. BranchPredictor says which branches
// those are. Cache misses are not modelled but measured, by the look-ahead that recorded the burst,
// which met the caches as the program had left them. A processor computes while it waits, so that
// the longer of both hides most of the shorter: together they take the root of the sum of their
// squares. Page faults come on top, where a hypervisor handles them in what a clock takes for time
// of the program (FaultTime).
//
//   A loop of "dec; jnz": each dec waits for the one before, so a round takes a cycle, 0.5 an
//   instruction. A loop of 400 "lea" that each wait for the one before takes 400 cycles, 1 an
//   instruction. Bursts that weigh by their instructions give the second as many executions as the
//   time says, that is twice too many; by their time, both are right.
//
//   C = 300 ns and M = 400 ns of misses take 500 ns; C = 300 and M = 100 take 316.
//
// Assumption: what limits the code is its width, its dependencies, its divisions, its calls, its
// repeated string instructions, mispredictions or cache misses; what differs most between
// processors in these is measured (ProcessorTiming). A loop of independent multiplications breaks
// it: they share one or two multipliers. So does a copy of kilobytes by "rep movsb", which is taken
// for one of few words. Where code of a burst is not in the cache, as in mode breakpoint, an
// average stands for it.
#ifndef HBBP_LIB_BACKENDS_BURST_TIME_H_
#define HBBP_LIB_BACKENDS_BURST_TIME_H_

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/branch_predictor.h"
#include "backends/processor_timing.h"
#include "backends/x87_stack.h"
#include "base/taken_branch.h"
#include "trace/interpreter/code_cache.h"

namespace hbbp {

// What bursts have so many of when they end.
enum class LengthUnit { kInstructions, kStreams };

class BurstTime {
 public:
  // Memory that it takes at most by default, of which some 350 KB are the predictor's.
  static constexpr uint64_t kDefaultMaxBytes = uint64_t{6} << 20;
  // With less, it would describe the same blocks again and again.
  static constexpr uint64_t kMinMaxBytes = uint64_t{512} << 10;

  // Blocks are found in `code_cache`, which must outlive it. `max_bytes` is at least kMinMaxBytes.
  BurstTime(const trace::CodeCache* code_cache, const ProcessorTiming& processor,
            uint64_t max_bytes = kDefaultMaxBytes)
      : code_cache_(*code_cache), processor_(processor), max_bytes_(max_bytes) {}

  // Returns the ns of the streams between these branches, in which are so many instructions, if all
  // take as long as the first of them, without cache misses. `unit` is what the first and all are
  // counted in. `width_ticks` is that of BurstCost. Call it before the cache is flushed.
  double StreamsNs(std::span<const TakenBranch> branches, uint64_t instructions, LengthUnit unit,
                   uint16_t width_ticks = 0);
  // Returns the ns of a burst whose streams take so many without cache misses.
  double WithMissesNs(double streams_ns, const trace::MemoryUse& use, double share = 1) const;

  // Call it when the code cache is flushed.
  void Reset();

  // Returns the approximate memory that it takes.
  uint64_t Bytes() const;

 private:
  // What the model must know of an instruction.
  struct Instruction {
    uint64_t inputs = 0;   // registers, as in trace::RegisterSet, without those of `address`
    uint64_t address = 0;  // registers of its memory operand
    uint64_t outputs = 0;
    uint64_t location = 0;  // identifies its memory operand together with the values of registers
    uint8_t base = 0;       // of the memory operand
    uint8_t index = 0;
    uint8_t latency = 0;       // cycles
    uint8_t length = 0;        // bytes
    uint8_t loaded_bytes = 0;  // 0: not known
    uint8_t stored_bytes = 0;
    bool loads = false;
    bool stores = false;
    bool divides = false;
    uint16_t blocking = 0;      // cycles for which nothing else enters
    bool is_locked = false;     // it updates memory at once
    bool waits = false;         // for all in front of it
    bool uses_vectors = false;  // or registers of x87
    bool moves_stack = false;   // it changes the stack pointer in no time
    bool calls = false;         // or returns
    bool may_fuse = false;      // a conditional branch behind it executes as a part of it
    bool is_conditional = false;
    bool is_indirect = false;  // an indirect jump or call
    bool is_fused = false;     // it is such a branch
    X87Effect x87;
  };
  using Code = std::span<const Instruction>;  // of a block
  // Its memory consists of few large blocks: a child of fork, which frees it, would otherwise have
  // a page fault for each page of it.
  struct CodeTable {
    CodeTable() : memory(16 << 10, std::pmr::new_delete_resource()), blocks(&memory) {}
    std::pmr::monotonic_buffer_resource memory;
    std::pmr::unordered_map<uint64_t, Code> blocks;  // by address
  };
  // What instruction_latency.h says of a mnemonic.
  struct Mnemonic {
    bool is_known = false;
    uint8_t latency;
    uint16_t blocking;
    bool waits, divides, makes_zero, is_move, is_extension, is_transfer;
  };
  class Processor;

  Code FindCode(uint64_t ip);
  const Mnemonic& Find(ZydisMnemonic mnemonic);
  Instruction Describe(const trace::Block& block, unsigned number);
  Code DescribeAll(const trace::Block& block);
  double WidthFrom(uint16_t width_ticks) const;
  bool Execute(const TakenBranch& first, const TakenBranch& last, Processor* processor);

  const trace::CodeCache& code_cache_;
  const ProcessorTiming processor_;
  const uint64_t max_bytes_;
  uint64_t code_bytes_ = 0;  // of what is in code_
  std::optional<CodeTable> code_{std::in_place};
  std::vector<Mnemonic> mnemonics_;
  BranchPredictor predictor_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_BURST_TIME_H_
