// Reads exact counts in any format, as the reference of a comparison.
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

// Returns the words of --truth-format: "callgrind", "exp-bbv", "sde-mix", "gcov".
std::vector<std::string> TruthFormatNames();

struct TruthInput {
  // Files of one format; counts of several files are added up.
  std::vector<std::string> files;
  std::string format;                       // one of TruthFormatNames(); empty: by content
  std::vector<std::string> load_addresses;  // "PATH=ADDRESS"; only exp-bbv needs them
};

// Detects the format by the first lines. The message of kBadFormat names the formats.
StatusOr<TruthFormat> DetectTruthFormat(std::string_view text, const std::string& name);

// `modules` are those of the profile. Paths in the result are unique. The message of kBadFormat has
// file and line; it is also an error if all counts are 0.
StatusOr<std::vector<ReferenceModule>> ReadTruth(const TruthInput& input,
                                                 const std::vector<ProfiledModule>& modules,
                                                 std::vector<std::string>* notes);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_TRUTH_FILE_H_
