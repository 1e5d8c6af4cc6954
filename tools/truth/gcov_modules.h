// Converts counts of source lines to counts of instructions of modules.
//
// Every instruction of a line gets the line's count. That is right where a line is one block, in
// code that was not optimised: the compiler then moves nothing from line to line. A line with
// branches inside (a for, a ?:) has instructions that ran less often or more; a note reports their
// share of the count.
#ifndef HBBP_TOOLS_TRUTH_GCOV_MODULES_H_
#define HBBP_TOOLS_TRUTH_GCOV_MODULES_H_

#include <string>
#include <vector>

#include "truth/gcov.h"
#include "truth/truth_modules.h"

namespace hbbp::tools {

// `name` is for messages. Errors: kBadFormat (no module of the profile has such source lines),
// kUnsupported (they were compiled with optimisation).
StatusOr<std::vector<ReferenceModule>> CountsFromGcov(const std::vector<GcovLine>& lines,
                                                      const std::string& name, ModuleImages* images,
                                                      std::vector<std::string>* notes);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_GCOV_MODULES_H_
