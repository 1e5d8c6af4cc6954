// hbbp merge: adds profiles up, one after the other, into one.
#include <cstdint>
#include <functional>

#include "command.h"
#include "format.h"
#include "options.h"
#include "profile_list.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "merge";

class Merge {
 public:
  Merge(uint32_t dropped, bool skips_bad) : merger_(dropped), skips_bad_(skips_bad) {}

  // Throws hbbp::error if the profile cannot be read or added, unless such profiles are skipped.
  void Add(const std::string& path) {
    std::optional<hbbp::profile> profile;
    try {
      profile = Load(path);
    } catch (const hbbp::error& error) {
      if (!skips_bad_ || error.status() == HBBP_ERROR_NO_MEMORY) throw;
      Note(kName, "skipped: " + std::string(error.what()));
      ++skipped_;
      return;
    }
    // A sum to which one could not be added is lost.
    merger_.add(*profile);
    ++merged_;
  }

  uint64_t merged() const { return merged_; }
  uint64_t skipped() const { return skipped_; }
  hbbp::profile Finish() { return merger_.finish(); }

 private:
  // Returns a profile that counts as the others do.
  hbbp::profile Load(const std::string& path) {
    hbbp::profile profile = LoadProfile(path);
    if (const Status status = units_.Add(path, profile); !status.ok()) {
      throw hbbp::error(HBBP_ERROR_MISMATCH,
                        status.message() + "; give profiles of one event at a time");
    }
    return profile;
  }

  hbbp::merger merger_;
  CommonUnits units_;
  const bool skips_bad_;
  uint64_t merged_ = 0;
  uint64_t skipped_ = 0;
};

std::string Report(const Merge& merge, uint64_t samples, const std::string& output) {
  std::string report =
      FormatCount(merge.merged()) + " profiles, " + FormatCount(samples) + " samples";
  if (merge.skipped() > 0) report += "; skipped " + FormatCount(merge.skipped());
  return report + "; wrote " + (output == kStandardOutput ? "to standard output" : output);
}

}  // namespace

int RunMerge(int argc, char** argv) {
  ProfileList list;
  std::string output = kDefaultProfile;
  bool skips_bad = false, drops_threads = false, drops_slices = false;
  Options options(kName, "Add profiles up, of several runs, processes, sources or hosts");
  list.AddTo(&options);
  options.Value("-o,--output", &output, "FILE", "where the sum goes (hbbp.data); - is stdout");
  options.Flag("--skip-bad", &skips_bad,
               "leave out files that cannot be read or added, and name them on stderr");
  options.Flag("--no-threads", &drops_threads,
               "add all threads up: those of many processes take more memory than their code");
  options.Flag("--no-slices", &drops_slices,
               "drop slices of time, for which all counts are kept until the end");
  options.Footer(
      "Sources that count alike add up. Where ebs and swbt or lbr saw the same code,\n"
      "--estimator of hbbp mix, blocks and compare says which of them counts it.\n"
      "Profiles are read one at a time: memory goes by the code and threads in the sum.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;
  if (list.is_empty())
    return Fail(kName, "no profiles: name files or directories, or --files-from");

  Merge merge(
      (drops_threads ? HBBP_MERGER_DROP_THREADS : 0) | (drops_slices ? HBBP_MERGER_DROP_SLICES : 0),
      skips_bad);
  list.ForEach(output, [&merge](const std::string& path) { merge.Add(path); });
  if (merge.merged() == 0) {
    return Fail(kName, merge.skipped() == 0 ? "there are no files in what was named"
                                            : "none of the files can be read or added");
  }
  const hbbp::profile profile = merge.Finish();
  SaveProfile(profile, output);
  const std::string report = Report(merge, profile.info().samples, output);
  if (output == kStandardOutput) {
    Note(kName, report);
    return kExitSuccess;
  }
  return WriteOutput(kName, "hbbp merge: " + report + "\n");
}

}  // namespace hbbp::tools
