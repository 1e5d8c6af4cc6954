// hbbp merge: merges several profiles into one.
#include "command.h"
#include "format.h"
#include "options.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "merge";

}  // namespace

int RunMerge(int argc, char** argv) {
  std::vector<std::string> files;
  std::string output = kDefaultProfile;
  Options options(kName, "Add profiles up, of several runs, processes or sources");
  options.Positionals("FILE", &files, 1, Options::kAny, "profiles");
  options.Value("-o,--output", &output, "FILE", "where the sum goes (hbbp.data); - is stdout");
  options.Footer(
      "Sources that count alike add up. Where ebs and swbt or lbr saw the same code,\n"
      "--estimator of hbbp mix, blocks and compare says which of them counts it.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  const hbbp::profile profile = LoadProfiles(files);
  SaveProfile(profile, output);
  const std::string report = FormatCount(uint64_t{files.size()}) + " profiles, " +
                             FormatCount(profile.info().samples) + " samples; wrote " +
                             (output == kStandardOutput ? "to standard output" : output);
  if (output == kStandardOutput) {
    Note(kName, report);
    return kExitSuccess;
  }
  return WriteOutput(kName, "hbbp merge: " + report + "\n");
}

}  // namespace hbbp::tools
