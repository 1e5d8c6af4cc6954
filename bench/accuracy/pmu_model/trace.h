// The exact run of a program: every basic block that it executed, one after the other.
//
// Four bytes a block, so that tens of millions of instructions fit into memory and can be sampled
// again and again.
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

// A straight run of instructions of which only the last one branches. One without instructions
// stands for code in no file (the vdso, generated code), which is left out.
struct TraceBlock {
  uint64_t start = 0;
  uint32_t first = 0;  // of Trace::instructions
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

// Cut to whole streams: the trace starts where a taken branch (`entry`) led to, and ends with a
// taken branch, which led to `exit`.
struct Trace {
  std::string program;
  std::vector<TraceModule> modules;
  std::vector<TraceInstruction> instructions;
  std::vector<TraceBlock> blocks;
  std::vector<uint32_t> sequence;  // of `blocks`, as they ran
  BranchPair entry;
  uint64_t exit = 0;
  uint64_t outside = 0;  // instructions in no file, left out

  std::span<const TraceInstruction> InstructionsOf(const TraceBlock& block) const {
    return std::span(instructions).subspan(block.first, block.count);
  }
  // Where control went after sequence[i].
  uint64_t After(size_t i) const {
    return i + 1 < sequence.size() ? blocks[sequence[i + 1]].start : exit;
  }
  // Did the branch at the end of `block`, if there is one, lead to `next` by being taken?
  bool IsTaken(const TraceBlock& block, uint64_t next) const;
  // The branch that it then is.
  BranchPair BranchOf(const TraceBlock& block, uint64_t next) const;

  bool operator==(const Trace&) const = default;
};

// How often each block of the trace ran, in their order.
std::vector<uint64_t> Executions(const Trace& trace);

struct TraceSize {
  uint64_t instructions = 0;
  uint64_t taken_branches = 0;
};
TraceSize SizeOf(const Trace& trace);

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_TRACE_H_
