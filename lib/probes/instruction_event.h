// The stream of executed instructions that productions are matched with.
//
// A stream prepares each instruction once (ProductionSet::Prepare), keeps the ProbedInstruction,
// and passes one InstructionEvent for each execution, by thread and in order. Neither allocates.
#ifndef HBBP_LIB_PROBES_INSTRUCTION_EVENT_H_
#define HBBP_LIB_PROBES_INSTRUCTION_EVENT_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "isa/branch_kind.h"
#include "isa/instruction_properties.h"
#include "probes/divisor_operand.h"

namespace hbbp {

// The number of combinations of sample_flag and burst_flag.
inline constexpr size_t kFlagStates = 4;

// Where an instruction is. The texts must live as long as what was prepared with them.
struct InstructionSite {
  uint64_t pc = 0;
  uint64_t function = 0;         // start of the function that contains it; 0 if that is unknown
  std::string_view name = {};    // of the function
  std::string_view module = {};  // the file, without directories
};

// Everything that each execution of an instruction has in common.
struct ProbedInstruction : InstructionSite {
  ControlFlow flow;
  std::array<uint8_t, kMaxInstructionLength> bytes{};
  InstructionProperties properties;
  DivisorOperand divisor;
  // A bit for each production that fires at every execution in this state of the flags, and for
  // each that depends on the execution. BurstState::Flags() is the index.
  std::array<uint64_t, kFlagStates> fires{};
  std::array<uint64_t, kFlagStates> may_fire{};

  std::span<const uint8_t> code() const { return {bytes.data(), flow.length}; }
  uint64_t end() const { return pc + flow.length; }
};

struct InstructionEvent {
  const ProbedInstruction* instruction = nullptr;
  // The numbers below that the stream does not know, as a ProbeKeySet (production_keys.h). Nothing
  // is recorded of them, and no condition that they decide holds.
  uint64_t unknown = 0;
  uint64_t next = 0;  // address of the instruction that the thread executed afterwards
  // Of the first access to memory; 0 if there is none, or the stream does not have it.
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t value = 0;   // of the first eight bytes: as loaded, or as stored
  uint64_t stride = 0;  // from the address of the execution before it; 0 of the first one
  // How many other cache lines the thread accessed since its last access to that of the address,
  // rounded down to a power of two; ReuseDistances::kFirst of the first one. If it is unknown: how
  // many there are at least.
  uint64_t reuse = 0;
  // Of a backward conditional branch: how often it was executed since it was last not taken.
  uint64_t trips = 0;
  // Where the current path through the function began, and how its conditional branches went: bits
  // behind a leading 1, which are 1 if they were taken.
  uint64_t path_start = 0;
  uint64_t path = 1;
  bool ends_path = false;
  uint64_t caller = 0;  // start of the function that called this one; 0 if that is unknown
  // Before the execution, in the order of their numbers: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8
  // to r15. Null if the stream does not have them.
  const std::array<uint64_t, 16>* registers = nullptr;

  // A direct branch has the target of its code, taken or not; any other transfer goes to `next`.
  uint64_t target() const { return instruction->flow.has_target ? instruction->flow.target : next; }
  bool is_taken() const {
    switch (instruction->flow.kind) {
      case BranchKind::kNone:
      case BranchKind::kSystem:
      case BranchKind::kTrap:
        return false;
      case BranchKind::kConditional:
        return next == instruction->flow.target;
      default:
        return true;
    }
  }
};

// The counters and flags of a thread.
struct BurstState {
  uint64_t sample_counter = 0;
  uint64_t burst_counter = 0;
  uint64_t burst_extension = 0;  // what productions added to the length of this burst
  uint64_t bursts = 0;           // that have begun
  bool sample_flag = false;
  bool burst_flag = false;

  static constexpr size_t FlagsFrom(bool sample_flag, bool burst_flag) {
    return (sample_flag ? 1 : 0) | (burst_flag ? 2 : 0);
  }
  size_t Flags() const { return FlagsFrom(sample_flag, burst_flag); }
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_INSTRUCTION_EVENT_H_
