#include "collect/import_omissions.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "collect/generated_names.h"
#include "collect/recorded_files.h"
#include "image/build_id.h"
#include "perf/perf_abi.h"
#include "profile/sample_totals.h"

namespace hbbp {
namespace {

constexpr size_t kMaxNamed = 3;  // in a line

bool IsDirectory(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// What a number of modules have in common, of which some are named.
struct ModuleGroup {
  uint64_t samples = 0;
  uint64_t modules = 0;
  std::string names;

  void Add(const ModuleRecord& module, uint64_t samples_in_it) {
    samples += samples_in_it;
    if (++modules <= kMaxNamed) names += (names.empty() ? "" : ", ") + LocalPath(module);
  }
};

std::string Describe(const ModuleGroup& group, const char* what) {
  const uint64_t unnamed = group.modules - std::min<uint64_t>(group.modules, kMaxNamed);
  const std::string rest = unnamed == 0 ? "" : " and " + std::to_string(unnamed) + " more";
  return std::to_string(group.samples) + " samples or branches are in files " + what + " (" +
         group.names + rest +
         "), and in no block: --symfs DIR or --file RECORDED=HERE says where the recorded ones are";
}

bool IsKernelHere(const ModuleRecord& kernel) {
  return kernel.path == kRunningKernel ||
         (!kernel.build_id.empty() && SameBuildId(kernel.build_id, RunningKernelBuildId()));
}

std::string DescribeOtherKernel(const ModuleRecord& kernel, uint64_t samples) {
  const std::string release =
      kernel.kernel.release.empty() ? "" : " (" + kernel.kernel.release + ")";
  const char* const what = kernel.build_id.empty()
                               ? " samples or branches are in a kernel whose build ID is not known"
                               : " samples or branches are in a kernel that does not run here";
  return std::to_string(samples) + what + release +
         ", and have no symbols unless --kallsyms, --vmlinux or --kcore names the files of that "
         "kernel: they are counted by kernel module";
}

// Returns the entries of ImportOptions::files that are of no file or map of the recording.
std::vector<std::string> UnusedFiles(const ImportOptions& options, const RecordedLocator& locator) {
  std::map<std::string, std::string> unused = options.files;
  const auto use = [&](const std::string& recorded) {
    const auto file = FindMovedFile(options, recorded);
    if (file != options.files.end()) unused.erase(file->first);
  };
  for (const std::string& path : locator.recorded_paths()) {
    if (path.starts_with('/')) use(path);
  }
  for (const auto& [module, pid] : locator.memory_modules()) {
    use(PathOfPerfMap(static_cast<pid_t>(pid)));
  }
  std::vector<std::string> paths;
  for (const auto& [recorded, here] : unused) paths.push_back(recorded);
  return paths;
}

}  // namespace

std::vector<std::string> DescribeForeignParts(const PerfDataHeader& header,
                                              const PerfDataSummary& summary) {
  std::vector<std::string> lines;
  const auto traces = summary.skipped_records.find(kPerfAuxtrace);
  if (traces != summary.skipped_records.end()) {
    lines.push_back(std::to_string(traces->second) +
                    " parts of a hardware trace left out (AUXTRACE: Intel PT, Arm SPE, CoreSight), "
                    "which is not decoded: perf inject --itrace=i1000il makes samples and branch "
                    "stacks of it");
  }
  if (!header.arch.empty() && header.arch != "x86_64") {
    lines.push_back("recorded on " + header.arch +
                    ": samples and branches are counted by address, but only code of x86-64 is "
                    "decoded, so that there are no blocks");
  }
  return lines;
}

std::vector<std::string> DescribeMissingFiles(const ImportOptions& options,
                                              const RecordedLocator& locator,
                                              const ProfileData& data) {
  std::vector<std::string> lines;
  if (!options.root.empty() && !IsDirectory(options.root)) {
    lines.push_back(options.root + ": not a directory, so no file was found there: check --symfs");
  }
  for (const std::string& recorded : UnusedFiles(options, locator)) {
    lines.push_back(recorded + ": not the path or name of any file of the recording: check --file");
  }
  const SampleTotals totals = CountSamples(data);
  ModuleGroup missing, others;
  for (size_t i = 0; i < data.modules.size(); ++i) {
    const ModuleRecord& module = data.modules[i];
    if (totals.of_module[i] == 0) continue;
    if (module.kind == ModuleKind::kKernel && !IsKernelHere(module)) {
      lines.push_back(DescribeOtherKernel(module, totals.of_module[i]));
    }
    if (module.kind != ModuleKind::kFile) continue;
    const RecordedFileState state = FindRecordedFileState(module);
    if (state == RecordedFileState::kMissing) missing.Add(module, totals.of_module[i]);
    if (state == RecordedFileState::kOther) others.Add(module, totals.of_module[i]);
  }
  if (missing.modules != 0) lines.push_back(Describe(missing, "that are not here"));
  if (others.modules != 0) lines.push_back(Describe(others, "that have other build IDs here"));
  return lines;
}

void AddOmissions(const std::vector<std::string>& lines, ProfileData* data, SessionLog* log) {
  for (const std::string& line : lines) {
    log->Log(LogLevel::kWarning, "%s", line.c_str());
    if (!data->sources.empty()) AppendNote(line, &data->sources.front().note);
  }
}

}  // namespace hbbp
