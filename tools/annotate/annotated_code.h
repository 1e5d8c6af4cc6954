// The instructions of functions, with how often each ran and where in the source it is.
#ifndef HBBP_TOOLS_ANNOTATE_ANNOTATED_CODE_H_
#define HBBP_TOOLS_ANNOTATE_ANNOTATED_CODE_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "function_choice.h"
#include "profile_view.h"

namespace hbbp::tools {

struct CodeFrame {
  std::string file;
  std::string function;  // demangled
  uint32_t line = 0;
  uint32_t column = 0;

  bool operator==(const CodeFrame&) const = default;
};

struct AnnotatedInstruction {
  hbbp_disassembly code = {};
  const hbbp_block* block = nullptr;  // null: never seen
  const hbbp_loop* loop = nullptr;    // the innermost one; null: in none, or never seen
  std::vector<CodeFrame> frames;      // innermost first; empty: not known
};

struct AnnotatedFunction {
  hbbp_function function = {};
  std::string name;    // demangled
  std::string module;  // path
  uint64_t listed_from = 0;
  std::vector<AnnotatedInstruction> instructions;
  std::string problem;  // why there are none; else empty
  // Where branches of it lead to inside of it: "L1", "L2", ... by address.
  std::map<uint64_t, std::string> labels;
};

// Blocks, functions and names of an analysis, copied once.
class AnalysedCode {
 public:
  // The analysis has to live longer.
  explicit AnalysedCode(const hbbp::analysis& analysis);

  // Hottest first. kNotFound tells the nearest name.
  StatusOr<std::vector<hbbp_function>> Choose(const FunctionChoice& choice) const;
  AnnotatedFunction Annotate(const hbbp_function& function, bool with_source);

  double total_instructions() const { return total_instructions_; }
  // Of function addresses that calls lead to; empty if nothing ran there.
  std::string NameAt(uint32_t module, uint64_t address) const;
  // Why lines of modules that were annotated are not known.
  std::vector<std::string> SourceProblems() const;

 private:
  const hbbp_loop* LoopOf(const hbbp_block* block) const;
  const hbbp_block* BlockAt(uint32_t module, uint64_t address) const;
  const hbbp_block* NextBlock(uint32_t module, uint64_t address) const;
  // What of a function is listed, [start, end). Of generated code that nobody told the bounds of
  // functions of: from the first block that has a count to the last. Around them is what else was
  // copied, other code or zeros.
  std::pair<uint64_t, uint64_t> ListedRange(const hbbp_function& function) const;
  std::vector<CodeFrame> FramesAt(uint32_t module, uint64_t address, uint64_t* end);

  const hbbp::analysis& analysis_;
  double total_instructions_ = 0;
  std::vector<ModuleView> modules_;
  std::vector<hbbp_block> blocks_;
  std::vector<hbbp_function> functions_;
  std::vector<hbbp_loop> loops_;
  std::vector<uint32_t> loops_of_blocks_;            // innermost, as blocks_
  std::map<uint32_t, std::string> source_problems_;  // by module
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_ANNOTATE_ANNOTATED_CODE_H_
