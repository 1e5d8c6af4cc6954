// Prints comparisons.
#ifndef HBBP_TOOLS_COMMANDS_COMPARE_REPORT_H_
#define HBBP_TOOLS_COMMANDS_COMPARE_REPORT_H_

#include <string>
#include <vector>

#include "compare.h"

namespace hbbp::tools {

// Lists modules, then the mnemonics with most reference instructions, then one-sided modules.
std::string CompareText(const Comparison& comparison, const std::vector<std::string>& notes);

// Has a row for each module and mnemonic; the module is "total" for all of them, and the mnemonic
// is empty for the whole module.
std::string CompareCsv(const Comparison& comparison);

// Returns {"modules": [...], "total": {...}, "scaled", "scale", "only_in_truth", "only_in_profile",
// "notes"}. Errors are fractions; null where the reference is 0 and the estimate is not.
std::string CompareJson(const Comparison& comparison, const std::vector<std::string>& notes);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COMMANDS_COMPARE_REPORT_H_
