// A Trace is the exact run of a program: every basic block that it executed, in order.
//
// It takes four bytes for each block, so that tens of millions of instructions fit into memory and
// can be sampled repeatedly.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_TRACE_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_TRACE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/control_flow.h"
#include "pmu_model/instruction_class.h"

namespace hbbp::simulation {

struct TraceInstruction {
  uint64_t address = 0;  // in the process
  uint8_t length = 0;
  BranchKind branch = BranchKind::kNone;
  InstructionClass kind = InstructionClass::kSimple;

  uint64_t end() const { return address + length; }
  bool operator==(const TraceInstruction&) const = default;
};

// A straight run of instructions of which only the last one branches. A block without instructions
// stands for code that is not in a file (the vdso, generated code), which is left out.
struct TraceBlock {
  uint64_t start = 0;
  uint32_t first = 0;  // index of Trace::instructions
  uint32_t count = 0;

  bool operator==(const TraceBlock&) const = default;
};

// A file's mapping with code that ran.
struct TraceModule {
  std::string path;
  std::vector<uint8_t> build_id;
  uint64_t start = 0, end = 0;  // in the process
  uint64_t offset = 0;          // of `start` in the file
  uint64_t load_bias = 0;       // address in the process - address in the ELF file

  bool operator==(const TraceModule&) const = default;
};

struct BranchPair {
  uint64_t from = 0, to = 0;
  bool operator==(const BranchPair&) const = default;
};

// A trace consists of whole streams: it starts at the target of a taken branch (`entry`), and ends
// with a taken branch, whose target is `exit`.
struct Trace {
  std::string program;
  std::vector<TraceModule> modules;
  std::vector<TraceInstruction> instructions;
  std::vector<TraceBlock> blocks;
  std::vector<uint32_t> sequence;  // indices of `blocks`, in the order in which they ran
  BranchPair entry;
  uint64_t exit = 0;
  uint64_t outside = 0;  // number of instructions that are not in a file and left out

  std::span<const TraceInstruction> InstructionsOf(const TraceBlock& block) const {
    return std::span(instructions).subspan(block.first, block.count);
  }
  // Returns the address to which control went after sequence[i].
  uint64_t After(size_t i) const {
    return i + 1 < sequence.size() ? blocks[sequence[i + 1]].start : exit;
  }
  // Returns whether the branch at the end of `block`, if there is one, was taken if control went to
  // `next`.
  bool IsTaken(const TraceBlock& block, uint64_t next) const;
  // Returns that branch.
  BranchPair FindBranch(const TraceBlock& block, uint64_t next) const;

  bool operator==(const Trace&) const = default;
};

// Counts the executions of each block of the trace.
std::vector<uint64_t> Executions(const Trace& trace);

struct TraceSize {
  uint64_t instructions = 0;
  uint64_t taken_branches = 0;
};
TraceSize SizeOf(const Trace& trace);

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_TRACE_H_
