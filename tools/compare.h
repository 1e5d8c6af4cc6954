// Compares estimated block counts with reference counts, module by module. It is pure arithmetic
// over data that the caller collects, and knows neither profiles nor files.
//
// The reference is a count for each instruction address. These rules turn it into block counts:
// - A block's reference count is the mean over its instructions. In a block that always runs to its
//   end they are equal; where they differ (a signal or exception in its middle, a jump into it that
//   the static map cannot know) the mean, times the length, preserves the number of instructions,
//   which the highest count would not.
// - String instructions (movs, stos, ...) count once an execution, as hardware counts them.
//   Callgrind counts iterations instead, so they get at most the mean of the other instructions
//   of their block, or of the instruction after them if there are no others.
// - A reference address that is in no block, or in the middle of an instruction, is a block of one
//   instruction that the estimate missed, with mnemonic "(unknown)" if it cannot be decoded.
#ifndef HBBP_TOOLS_COMPARE_H_
#define HBBP_TOOLS_COMPARE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimate/error_metrics.h"

namespace hbbp::tools {

struct ReferenceCount {
  uint64_t address = 0;
  double count = 0;
};

struct ReferenceModule {
  std::string path;
  std::string build_id;                // hexadecimal; empty if unknown
  std::vector<ReferenceCount> counts;  // by address
};

struct EstimatedBlock {
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t instruction_count = 0;
  double count = 0;
  double standard_error = 0;
};

struct EstimatedModule {
  std::string path;
  std::string build_id;
  double instructions = 0;
  std::vector<EstimatedBlock> blocks;
};

// Code is the code of one module, as far as the comparison needs it.
class Code {
 public:
  struct Block {
    uint64_t start = 0;
    uint64_t end = 0;
  };
  struct Instruction {
    uint32_t length = 0;
    std::string mnemonic;
  };
  struct Function {
    uint64_t start = 0;
    std::string name;
  };

  virtual ~Code() = default;
  virtual std::optional<Block> FindBlock(uint64_t address) const = 0;
  virtual std::optional<Instruction> Decode(uint64_t address) const = 0;
  // Returns nothing where no function is known.
  virtual std::optional<Function> FindFunction(uint64_t address) const = 0;
};

// Returns whether a rep prefix repeats the instruction: movs, stos, ... (libhbbp gives them no size
// suffix, so movsd is always the SSE instruction).
bool IsStringInstruction(const Code::Instruction& instruction);

// Returns for each reference module the index of the matching estimated module, each used once: by
// build ID, else path, else real path, else base name, else base name up to a version ("libz.so.1"
// is "libz.so.1.2.13"). Names match only where a single candidate remains.
std::vector<std::optional<size_t>> MatchModules(const std::vector<ReferenceModule>& references,
                                                const std::vector<EstimatedModule>& estimates);

struct BlockCounts {
  double instruction_count = 0;
  double reference = 0;  // executions
  double estimate = 0;
  double standard_error = 0;  // of the estimate
};

struct MnemonicCounts {
  double reference = 0;
  double estimate = 0;
};

struct FunctionCounts {
  std::string name;
  double reference = 0;  // instructions
  double estimate = 0;
};

// ModuleCounts has the counts of one module on both sides, before any scaling.
struct ModuleCounts {
  std::string path;
  std::string build_id;
  std::map<uint64_t, BlockCounts> blocks;  // by start address
  std::map<std::string, MnemonicCounts> mnemonics;
  std::map<uint64_t, FunctionCounts> functions;  // by start address
  double unresolved = 0;                         // reference instructions at addresses without code
  double rep_iterations = 0;  // iterations that the reference counted beyond executions
  double misplaced = 0;       // reference instructions where no instruction of a block starts

  double ReferenceInstructions() const;
  double EstimatedInstructions() const;
};

// Returns the estimated module with the path of the reference and another build ID.
std::optional<size_t> FindOtherBuild(const ReferenceModule& reference,
                                     const std::vector<EstimatedModule>& estimates);

ModuleCounts CountModule(const ReferenceModule& reference, const EstimatedModule& estimate,
                         const Code& code);

// Adds the blocks of a module up by function. What is in no known function is left out.
void SumFunctions(const Code& code, ModuleCounts* counts);

struct MnemonicComparison {
  std::string mnemonic;
  double reference = 0;
  double estimate = 0;
  double error = 0;
};

// See estimate/error_metrics.h for the definitions of these error metrics.
struct ModuleComparison {
  std::string name;
  std::string build_id;
  double instructions_reference = 0;
  double instructions_estimate = 0;
  double avg_weighted_error = 0;
  double block_accuracy_error = 0;
  double overlap = 0;           // over blocks, by instructions
  double mnemonic_overlap = 0;  // over mnemonics
  IntervalCoverage intervals;   // of blocks
  // Estimated instructions in blocks that the reference never executed, and the reverse.
  double only_estimated = 0;
  double only_referenced = 0;
  double unresolved = 0;
  double rep_iterations = 0;
  std::vector<MnemonicComparison> mnemonics;  // by reference, most first

  // Returns true if nothing was compared, so that errors and overlaps mean nothing.
  bool is_empty() const { return instructions_reference == 0 && instructions_estimate == 0; }
};

struct OneSidedModule {
  std::string name;
  std::string build_id;
  double instructions = 0;
};

struct FunctionComparison {
  std::string module;
  std::string name;
  double reference = 0;  // instructions
  double estimate = 0;
  // From 1 on; those with the same count share the first rank of theirs.
  size_t reference_rank = 0;
  size_t estimate_rank = 0;  // 0: nothing was counted in it
};

// Compares the order of the hottest functions, which is what a reader of a profile looks at first.
struct FunctionRanks {
  static constexpr size_t kMaxFunctions = 10;

  // Of the reference, most first; of those with the same count the first ones by name.
  std::vector<FunctionComparison> hottest;
  size_t found = 0;     // of those, how many are among as many hottest ones of the estimate
  size_t in_place = 0;  // of those, how many have the same rank in both
};

struct Comparison {
  std::vector<ModuleComparison> modules;  // by reference instructions, most first
  ModuleComparison total;                 // over `modules`
  FunctionRanks functions;                // over `modules`
  std::vector<OneSidedModule> only_in_reference;
  std::vector<OneSidedModule> only_in_estimate;  // scaled like the blocks
  bool scaled = false;
  double scale = 1;  // factor of the estimates
};

// `scaled`: the estimate is right only up to a factor, which is then chosen so that the modules
// that occur in both have as many instructions in both.
Comparison Summarize(const std::vector<ModuleCounts>& modules,
                     std::vector<OneSidedModule> only_in_reference,
                     std::vector<OneSidedModule> only_in_estimate, bool scaled);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COMPARE_H_
