// hbbp import: turns a recording of perf into a profile.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string_view>

#include "byte_count.h"
#include "command.h"
#include "file_options.h"
#include "format.h"
#include "kernel_options.h"
#include "options.h"
#include "profile_view.h"
#include "time_quantum.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "import";

// Shows "[#####.....]  50 %" on a terminal, over and over in one line.
class ProgressBar {
 public:
  ProgressBar() : is_shown_(::isatty(STDERR_FILENO) == 1) {}
  ~ProgressBar() {
    if (shown_percent_ >= 0) std::fputs("\r\033[K", stderr);
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Show(uint64_t done, uint64_t all) {
    if (!is_shown_ || all == 0) return;
    const int percent =
        static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(all));
    if (percent == shown_percent_) return;
    shown_percent_ = percent;
    constexpr int kWidth = 40;
    std::string bar(static_cast<size_t>(percent) * kWidth / 100, '#');
    bar.resize(kWidth, '.');
    std::fprintf(stderr, "\r[%s] %3d %%", bar.c_str(), percent);
  }

 private:
  bool is_shown_;
  int shown_percent_ = -1;
};

hbbp_ebs_method EbsMethodFromName(const std::string& name) {
  for (const hbbp_ebs_method method : {HBBP_EBS_PLAIN, HBBP_EBS_IP_PLUS_ONE}) {
    if (name == EbsMethodName(method)) return method;
  }
  return HBBP_EBS_AUTO;
}

// Splits "a; b" into "a" and "b".
std::vector<std::string> SplitNotes(std::string_view notes) {
  constexpr std::string_view kSeparator = "; ";
  std::vector<std::string> parts;
  while (!notes.empty()) {
    const size_t end = std::min(notes.find(kSeparator), notes.size());
    parts.emplace_back(notes.substr(0, end));
    notes.remove_prefix(std::min(end + kSeparator.size(), notes.size()));
  }
  return parts;
}

void Report(const hbbp::profile& profile, const std::string& output) {
  for (const SourceView& source : SourcesAsRecorded(profile)) {
    Note(kName, std::string(SourceName(source.kind)) + " of " + EventNameOf(source) + ": " +
                    FormatCount(source.samples) +
                    (HasStreams(source.kind) ? " branch stacks" : " samples") + ", lost " +
                    FormatCount(source.lost) + ", unmapped " + FormatCount(source.unmapped));
    for (const std::string& line : SplitNotes(source.note)) Note(kName, line);
  }
  if (output == kStandardOutput) return;
  Note(kName, "wrote " + output + "; next: hbbp info " + output + ", hbbp mix " + output);
}

hbbp::profile Import(const std::string& recording, const hbbp_import_options& options) {
  ProgressBar bar;
  const hbbp::work::progress show = [&](uint64_t done, uint64_t all) { bar.Show(done, all); };
  return hbbp::profile::import_recording(recording, options, hbbp::work(&show));
}

// Analyses the profile first, which stores the files of the kernel that the options name in it.
void Save(const hbbp::profile& profile, const KernelOptions& kernel, const std::string& output) {
  if (!kernel.HasFiles()) return SaveProfile(profile, output);
  const hbbp_kernel_files files = kernel.Files();
  hbbp_analysis_options options = {};
  options.kernel = &files;
  SaveProfile(hbbp::analysis(profile, options).get_profile(), output);
}

}  // namespace

int RunImport(int argc, char** argv) {
  std::vector<std::string> recordings;
  std::string output = kDefaultProfile;
  std::string binary;
  std::string ebs_method = "auto";
  std::string time_quantum;
  std::string keep_bursts;
  Options options(kName, "Make a profile of a recording of perf");
  options.Positionals(
      "FILE", &recordings, 1, 1,
      "what perf record has written, text of perf script with branch stacks, or text that was\n"
      "added up for perf2bolt -pa (- is stdin)");
  options.Value("-o,--output", &output, "FILE", "where the profile goes (hbbp.data); - is stdout");
  FileOptions files;
  files.AddTo(&options);
  options.Value("--binary", &binary, "FILE",
                "for text without mappings: the file whose addresses it has");
  KernelOptions kernel;
  kernel.AddTo(&options);
  options.Choice("--ebs-method", &ebs_method, {"auto", "plain", "ip+1"},
                 "which instruction a sample with a branch stack counts for (auto)");
  options.Value("--time-quantum", &time_quantum, "TIME",
                "keep counts by slices of time, such as 100ms or 1s, for hbbp phases");
  options.Value("--keep-bursts", &keep_bursts, "BYTES",
                "keep whole branch stacks in so much memory, such as 64M, for hbbp export --format "
                "brstack");
  options.Footer(
      "--ebs-method: plain takes the instruction at the IP, ip+1 the one that was executed before\n"
      "it, auto the latter for precise events (PEBS) alone.\n"
      "Events with branch stacks become sources of streams (lbr), others of samples (ebs).\n"
      "hbbp info shows what was found, lost, and could not be explained.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  if (const Status read = files.Read(); !read.ok()) return Fail(kName, read.message());
  const StatusOr<uint64_t> slice_ns = ParseTimeQuantum(time_quantum);
  if (!slice_ns.ok()) return Fail(kName, slice_ns.status().message());
  const StatusOr<uint64_t> kept_burst_bytes =
      ParseByteCount("--keep-bursts", keep_bursts, HBBP_MIN_KEPT_BURST_BYTES);
  if (!kept_burst_bytes.ok()) return Fail(kName, kept_burst_bytes.status().message());
  hbbp_import_options how = {};
  files.SetTo(&how);
  how.binary = binary.empty() ? nullptr : binary.c_str();
  how.ebs_method = EbsMethodFromName(ebs_method);
  how.slice_ns = *slice_ns;
  how.kept_burst_bytes = *kept_burst_bytes;
  const hbbp::profile profile = Import(recordings.front(), how);
  Save(profile, kernel, output);
  Report(profile, output);
  return kExitSuccess;
}

}  // namespace hbbp::tools
