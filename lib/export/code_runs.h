// CodeRuns splits executed blocks where their lines or inlined functions change.
#ifndef HBBP_LIB_EXPORT_CODE_RUNS_H_
#define HBBP_LIB_EXPORT_CODE_RUNS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "export/export_subject.h"
#include "export/frame_finder.h"
#include "mix/pivot_input.h"

namespace hbbp {

// Instructions in a row that have the same frames.
struct CodeRun {
  ModuleAddress start;
  uint32_t instructions = 0;
  // Innermost first, as LineRange has them, but at least one: the last one is the function that the
  // block is in, by the name that it has in the analysis.
  std::vector<LineFrame> frames;
};

// Returns the blocks of the subject's modules that were executed, by thread: other observations of
// the input are left out. Functions without code are in it, with their samples. Returns kNotFound
// if there are none.
StatusOr<PivotInput> FindCountedBlocks(const ExportSubject& subject);

// Blocks must come by module and address.
class CodeRuns {
 public:
  explicit CodeRuns(const ExportSubject& subject) : subject_(subject) {}

  // Returns views that are valid until the next call; names and files as long as the subject. What
  // is missing of the code is one run, of its function.
  const std::vector<CodeRun>& Split(const PivotBlock& block);

 private:
  void SplitByLines(const PivotBlock& block);
  void Add(const PivotBlock& block, ModuleAddress start, uint32_t instructions,
           std::vector<LineFrame> frames);

  const ExportSubject& subject_;
  uint32_t module_ = kNoIndex;
  std::optional<FrameFinder> finder_;  // of module_, if it has lines
  std::vector<CodeRun> runs_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_CODE_RUNS_H_
