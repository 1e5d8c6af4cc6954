// Exact counts of any format, as reference of a comparison.
#ifndef HBBP_TOOLS_TRUTH_TRUTH_FILE_H_
#define HBBP_TOOLS_TRUTH_TRUTH_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compare.h"
#include "truth/truth_modules.h"

namespace hbbp::tools {

enum class TruthFormat { kCallgrind, kBbVectors, kBbAddresses, kSdeMix, kGcov };

// What --truth-format takes: "callgrind", "exp-bbv", "sde-mix", "gcov".
std::vector<std::string> TruthFormatNames();

struct TruthInput {
  // Of one format; counts of several files are added up.
  std::vector<std::string> files;
  std::string format;                       // of TruthFormatNames(); empty: by content
  std::vector<std::string> load_addresses;  // "PATH=ADDRESS"; only exp-bbv needs them
};

// By the first lines. Errors: kBadFormat, with the formats that there are.
StatusOr<TruthFormat> DetectTruthFormat(std::string_view text, const std::string& name);

// `modules`: of the profile. Paths of the outcome differ from each other. Errors: kBadFormat with
// file and line; counts that are 0 in total are one.
StatusOr<std::vector<ReferenceModule>> ReadTruth(const TruthInput& input,
                                                 const std::vector<ProfiledModule>& modules,
                                                 std::vector<std::string>* notes);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_TRUTH_FILE_H_
