// ImportPerfScript takes text line by line: ReadLine recognizes one, AddMapping maps files,
// and AddBranches cuts the branch stack of a sample into bursts, of the source that WithSource has
// for its event. Finish completes the sources and makes the profile. ImportRecording calls it for
// what is not a recording of perf.
#include <fcntl.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/unique_fd.h"
#include "collect/import_messages.h"
#include "collect/import_omissions.h"
#include "collect/importer.h"
#include "collect/memory_note.h"
#include "collect/perf_event_kind.h"
#include "collect/perf_import.h"
#include "collect/recorded_files.h"
#include "collect/recorded_periods.h"
#include "image/elf_file.h"
#include "image/segments.h"
#include "perf/branch_stack_bursts.h"
#include "perf/mmap_mapping.h"
#include "perf_data/perf_script_line.h"
#include "perf_data/text_lines.h"

namespace hbbp {
namespace {

class PerfScriptImport {
 public:
  explicit PerfScriptImport(const PerfImportOptions& options)
      : memory_(options.allocator, options.max_memory),
        importer_(options.files, &memory_),
        options_(options.files),
        files_(options_),
        check_(options.work.cancel),
        binary_(options.binary),
        log_(options.log) {}

  void ReadLine(std::string_view line) {
    if (const auto mmap = ParseMmapLine(line)) return AddMapping(*mmap);
    if (const auto count = ParseCountLine(line)) {
      repeats_ = *count;
      return;
    }
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      head_.reset();
      return;
    }
    std::optional<SampleLine> sample = ParseSampleLine(line);
    if (!sample) {
      ++other_lines_;
      return;
    }
    DistinguishNumbers(&*sample);
    if (!sample->event.empty()) event_ = sample->event;
    if (!sample->event.empty() || sample->period) period_ = sample->period;
    // With a call chain, a line of its own comes first; the addresses of the chain, which are
    // indented, come before the branches.
    if (sample->pid && !line.starts_with('\t')) head_ = {*sample->pid, sample->tid};
    if (sample->branches.empty()) return;
    AddBranches(*sample);
    head_.reset();
  }

  bool has_branches() const { return has_branches_; }
  const Status& status() const { return status_; }

  StatusOr<ProfileData> Finish();

 private:
  // Distinguishes processes from periods and addresses by the mappings. Where one number is a
  // process, all are: some processes have no mappings of their own.
  void DistinguishNumbers(SampleLine* sample) {
    has_processes_ |= sample->may_be_period && pids_.contains(*sample->pid);
    if (sample->may_be_period && !pids_.empty() && !has_processes_) {
      sample->period = *std::exchange(sample->pid, std::nullopt);
      sample->tid.reset();
    }
    if (sample->ip_or_pid && pids_.contains(*sample->ip_or_pid)) sample->pid = sample->ip_or_pid;
  }

  // What the first line of a sample says.
  struct Head {
    uint32_t pid = 0;
    std::optional<uint32_t> tid;
  };

  static constexpr uint32_t kUnknownPid = 0;
  // The streams of most branch stacks, so that each counts as one execution, as it does elsewhere.
  static constexpr uint64_t kUnknownPeriod = 31;

  // Without periods it is not known what samples count, so their stacks weigh by their streams.
  struct ScriptEvent {
    uint32_t source = 0;
    bool has_periods = false;
    RecordedPeriods periods;
    BranchStackBursts bursts;
  };

  static void CompletePeriods(const RecordedPeriods& periods, SourceRecord* source) {
    source->smallest_period = periods.smallest();
    source->largest_period = periods.largest();
    if (periods.smallest() == periods.largest()) source->period = periods.largest();
    source->period_mode = periods.ModeOf(source->period);
  }

  ScriptEvent& WithSource() {
    const auto [found, is_new] = events_.try_emplace(event_);
    ScriptEvent& event = found->second;
    if (!is_new) return event;
    SourceRecord source;
    source.kind = SourceKind::kLbr;
    source.event = EventKind::kOther;
    source.event_name = event_;
    source.period_mode = PeriodMode::kFixed;
    event.has_periods = period_.has_value();
    if (event.has_periods) {
      perf_event_attr attr = {};
      attr.type = PERF_TYPE_RAW;
      source.event = KindOfPerfEvent(attr, event_, "");
    } else {
      source.period = kUnknownPeriod;
      source.note = "perf script text: it has no periods, so samples count as " +
                    std::to_string(kUnknownPeriod) + " streams each";
    }
    event.bursts.BeginRun(source.event);
    event.source = importer_.AddSource(std::move(source));
    return event;
  }

  void AddMapping(const MmapRecord& mmap) {
    if (mmap.protection == 0) return;
    MappingEvent mapping = MappingOf(mmap);
    // Texts for llvm-profgen may have only the file name.
    if (!mapping.path.starts_with('/') && !mapping.path.starts_with('[')) {
      mapping.path.insert(0, "/");
    }
    importer_.OnMapping(mapping);
    if (mmap.pid != kKernelPid) pids_.insert(mmap.pid);
  }

  // Maps the binary at the addresses in its file, for text that has no mappings.
  Status MapBinary(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd.valid()) return ErrnoStatus(errno, path);
    HBBP_ASSIGN_OR_RETURN(std::unique_ptr<FileBytes> bytes, FileBytes::FromFd(std::move(fd), path));
    HBBP_ASSIGN_OR_RETURN(const std::unique_ptr<ElfFile> file,
                          ElfFile::Create(std::move(bytes), path));
    const Segments segments(&file->bytes(), file->segment_headers());
    for (const Segment& segment : segments.all()) {
      if (!segment.executable) continue;
      MappingEvent mapping;
      mapping.start = {segment.range.start.value};
      mapping.end = {segment.range.end.value};
      mapping.offset = segment.offset;
      mapping.path = path;
      mapping.pid = kUnknownPid;
      importer_.OnMapping(mapping);
    }
    return OkStatus();
  }

  // Samples without a process belong to the first one that has mappings.
  uint32_t PidOf(const SampleLine& sample) const {
    if (sample.pid) return *sample.pid;
    if (head_) return head_->pid;
    return pids_.empty() ? kUnknownPid : *pids_.begin();
  }

  void AddBranches(const SampleLine& sample) {
    if (!has_branches_ && pids_.empty() && !binary_.empty()) status_ = MapBinary(binary_);
    has_branches_ = true;
    ScriptEvent& event = WithSource();
    BurstSample burst;
    burst.pid = PidOf(sample);
    const std::optional<uint32_t> tid = sample.tid || !head_ ? sample.tid : head_->tid;
    burst.tid = tid.value_or(burst.pid);
    burst.period = event.has_periods ? period_.value_or(1) : kUnknownPeriod;
    burst.source = event.source;
    burst.repeats = std::exchange(repeats_, 1);
    if (!sample.pid && !head_ && pids_.size() > 1) without_process_ += burst.repeats;
    if (event.has_periods) event.periods.Add(burst.period);
    event.bursts.Visit(sample.branches, [&](auto branches, uint64_t extent, StackPart part) {
      burst.stack = part;
      burst.extent = static_cast<double>(extent);
      burst.branches = branches;
      importer_.OnBurst(burst);
    });
  }

  CountedMemory memory_;
  Importer importer_;
  const ImportOptions options_;
  RecordedFiles files_;
  CancelCheck check_;
  const std::string binary_;
  SessionLog log_;
  Status status_;
  std::map<std::string, ScriptEvent> events_;
  std::set<uint32_t> pids_;
  std::string event_;  // of the last line that had one; empty: none
  std::optional<uint64_t> period_;
  std::optional<Head> head_;  // of the sample whose branches come next
  uint32_t repeats_ = 1;
  uint64_t other_lines_ = 0;
  uint64_t without_process_ = 0;  // samples, where there are several
  bool has_branches_ = false;
  bool has_processes_ = false;  // numbers in front of addresses are these
};

StatusOr<ProfileData> PerfScriptImport::Finish() {
  const std::string memory_note =
      MemoryNote(importer_.dropped(), importer_.aggregator().has_widened_slices());
  ImportMessages messages(&log_);
  for (const auto& [name, event] : events_) {
    SourceRecord& source = importer_.source(event.source);
    event.bursts.losses().AppendTo(&source.trace.counters);
    if (event.source == 0) AddCounter("other-lines", other_lines_, &source.trace.counters);
    if (event.has_periods) CompletePeriods(event.periods, &source);
    source.burst_extent = event.bursts.extent_unit();
    AppendNote(memory_note, &source.note);
    messages.LogSource(source);
    if (!source.note.empty()) log_.Log(LogLevel::kWarning, "%s", source.note.c_str());
  }
  messages.LogMemory(importer_);
  ProfileData data = importer_.Snapshot();
  files_.Find(&data, &log_, &check_);
  if (without_process_ != 0) {
    AddOmissions({std::to_string(without_process_) +
                  " samples do not say their process, and were taken for those of one, but the "
                  "text has mappings of " +
                  std::to_string(pids_.size()) + ": perf script -F pid,ip,brstack says it"},
                 &data, &log_);
  }
  AddOmissions(DescribeMissingFiles(options_, importer_.locator(), data), &data, &log_);
  if (!binary_.empty() && !pids_.empty()) {
    AddOmissions({binary_ + ": not used, as the text has mappings: --binary is for text without"},
                 &data, &log_);
  }
  log_.Flush();
  HBBP_RETURN_IF_ERROR(CheckAnyFound(importer_.dropped(), data));
  return data;
}

}  // namespace

StatusOr<ProfileData> ImportPerfScript(ByteSource* source, const std::string& name,
                                       const PerfImportOptions& options) {
  PerfScriptImport import(options);
  HBBP_RETURN_IF_ERROR(
      ReadLines(source, options.work, [&](std::string_view line) { import.ReadLine(line); }));
  HBBP_RETURN_IF_ERROR(import.status());
  if (!import.has_branches()) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: neither a recording of perf (PERFILE2 at its start), nor text of perf "
                      "script with branch stacks (perf script -F pid,time,period,event,ip,brstack "
                      "--show-mmap-events), "
                      "nor text that was added up (a first line like B 4b196f 4b19e0 12 0)",
                      name.c_str());
  }
  return import.Finish();
}

}  // namespace hbbp
