// Instructions of functions, with the count and the source line of each.
#ifndef HBBP_TOOLS_ANNOTATE_ANNOTATED_CODE_H_
#define HBBP_TOOLS_ANNOTATE_ANNOTATED_CODE_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "annotate/event_samples.h"
#include "annotate/ibs_ops.h"
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
  const hbbp_block* block = nullptr;  // null: not observed
  const hbbp_loop* loop = nullptr;    // the innermost one; null: not in a loop, or not observed
  std::vector<CodeFrame> frames;      // innermost first; empty: unknown
  const IbsOps* ops = nullptr;        // null: none was sampled
  // By AnalysedCode::sampled_events(); null: there are none.
  const std::vector<uint64_t>* samples = nullptr;
};

struct AnnotatedFunction {
  hbbp_function function = {};
  std::string name;    // demangled
  std::string module;  // path
  uint64_t listed_from = 0;
  std::vector<AnnotatedInstruction> instructions;
  std::string problem;  // why there are no instructions; else empty
  // These are names of the targets of its own branches: "L1", "L2", ... by address.
  std::map<uint64_t, std::string> labels;
};

// Blocks, functions and names of an analysis, which are copied once.
class AnalysedCode {
 public:
  // The analysis must outlive this object.
  AnalysedCode(const hbbp::analysis& analysis, bool with_samples);

  // Returns the hottest first. The message of kNotFound suggests the nearest name.
  StatusOr<std::vector<hbbp_function>> Choose(const FunctionChoice& choice) const;
  AnnotatedFunction Annotate(const hbbp_function& function, bool with_source);

  double total_instructions() const { return total_instructions_; }
  // Returns whether IBS sampled ops of any instruction.
  bool has_ops() const { return !ops_.empty(); }
  // Returns the events whose samples are listed by instruction: those of other sources than IBS, if
  // they are wanted or there are ops of IBS to compare with.
  const std::vector<std::string>& sampled_events() const { return samples_.events; }
  // Returns the name of a function that a call leads to, or an empty string if nothing ran there.
  std::string NameAt(uint32_t module, uint64_t address) const;
  // Returns why lines of annotated modules are unknown.
  std::vector<std::string> SourceProblems() const;

 private:
  const hbbp_loop* LoopOf(const hbbp_block* block) const;
  const hbbp_block* BlockAt(uint32_t module, uint64_t address) const;
  const hbbp_block* NextBlock(uint32_t module, uint64_t address) const;
  // Returns the range of a function that is listed, [start, end). For generated code whose
  // functions are unknown it runs from the first block with a count to the last: around these are
  // other code or zeros, which were copied too.
  std::pair<uint64_t, uint64_t> ListedRange(const hbbp_function& function) const;
  std::vector<CodeFrame> FramesAt(uint32_t module, uint64_t address, uint64_t* end);

  const hbbp::analysis& analysis_;
  double total_instructions_ = 0;
  std::vector<ModuleView> modules_;
  std::vector<hbbp_block> blocks_;
  std::vector<hbbp_function> functions_;
  std::vector<hbbp_loop> loops_;
  std::vector<uint32_t> loops_of_blocks_;  // innermost, parallel to blocks_
  IbsOpsByAddress ops_;
  EventSamples samples_;
  std::map<uint32_t, std::string> source_problems_;  // by module
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_ANNOTATE_ANNOTATED_CODE_H_
