#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/joined_text.h"
#include "collect/generated_names.h"
#include "collect/import_messages.h"
#include "collect/import_omissions.h"
#include "collect/importer.h"
#include "collect/kernel_pokes.h"
#include "collect/perf_import.h"
#include "collect/perf_record_import.h"
#include "collect/recorded_files.h"
#include "collect/recording_notes.h"
#include "perf_data/aggregated_line.h"
#include "perf_data/perf_data_reader.h"

namespace hbbp {
namespace {

constexpr char kStandardInput[] = "standard input";

StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path) {
  if (path != "-") return FileSource::Open(path);
  UniqueFd input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!input.valid()) return ErrnoStatus(errno, kStandardInput);
  return std::unique_ptr<ByteSource>(
      std::make_unique<FileSource>(std::move(input), kStandardInput));
}

// An empty file is that of a recording that was stopped at once.
bool IsPerfData(std::string_view start) {
  const std::string_view magic = start.substr(0, 8);
  for (const std::string_view known : {"PERFILE2", "2ELIFREP", "PERFFILE", "ELIFFREP", ""}) {
    if (magic == known) return true;
  }
  return false;
}

// Returns whether this machine made the recording, so that its /tmp has files of the recorded
// processes.
bool IsOfThisMachine(const PerfDataHeader& header) {
  utsname name;
  return ::uname(&name) == 0 && header.hostname == name.nodename;
}

// Adds names of generated code from the maps of JITs, which perf does not put into its recordings.
// Returns what is wrong with the maps, or an empty text.
std::string NameByPerfMaps(const Importer& importer, bool is_of_this_machine, CancelCheck* check,
                           ProfileData* data) {
  constexpr size_t kMaxProblemBytes = 200;
  std::string problems;
  for (const auto& [module, pid] : importer.locator().memory_modules()) {
    if (pid == 0) continue;
    const std::string recorded = PathOfPerfMap(static_cast<pid_t>(pid));
    const std::string path = importer.locator().LocalPath(recorded);
    if (path == recorded && !is_of_this_machine) continue;
    StatusOr<std::vector<NamedRange>> functions = FunctionsWithCounts(path, *data, module, check);
    if (functions.ok()) {
      data->modules[module].functions = *std::move(functions);
    } else if (functions.status().code() != StatusCode::kNotFound &&
               problems.size() < kMaxProblemBytes) {
      problems += (problems.empty() ? "" : "; ") + functions.status().message();
    }
  }
  return problems;
}

// Observes the samples and the changes of kernel code on their way. Feeds do without it. A file has
// the code of BPF programs in its header; that in the records of a pipe is not used.
class ImportWithPokes : public PerfRecordImport {
 public:
  ImportWithPokes(const EventTable* events, const PerfDataHeader* header, RecordImportTarget target,
                  EbsMethod ebs_method)
      : PerfRecordImport(events, header, std::move(target), ebs_method),
        events_(*events),
        has_pokes_(!header->bpf_functions.empty()) {
    for (const BpfFunction& function : header->bpf_functions) {
      pokes_.AddGenerated(function.address, function.code);
    }
  }

  void OnSample(const PerfEvent& event, const SampleRecord& sample) override {
    if (HasPokes() && !IsOfGuest(sample.misc)) pokes_.AddSample(sample.ip);
    PerfRecordImport::OnSample(event, sample);
  }
  void OnTextPoke(const TextPokeRecord& poke) override {
    has_pokes_ = true;
    pokes_.AddPoke(poke);
  }

  const KernelPokes& pokes() const { return pokes_; }

 private:
  // Returns whether an event asks for changes of code. A pipe may add events at any time.
  bool HasPokes() {
    for (; checked_events_ < events_.events().size(); ++checked_events_) {
      has_pokes_ |= events_.events()[checked_events_].attr.text_poke != 0;
    }
    return has_pokes_;
  }

  const EventTable& events_;
  KernelPokes pokes_;
  size_t checked_events_ = 0;
  bool has_pokes_;
};

}  // namespace

StatusOr<ProfileData> ImportRecording(const std::string& path, const PerfImportOptions& options) {
  const std::string name = path == "-" ? kStandardInput : path;
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, Open(path));
  constexpr size_t kPeekedBytes = 4096;
  HBBP_ASSIGN_OR_RETURN(const std::vector<uint8_t> peeked, PeekBytes(kPeekedBytes, &source));
  const std::string_view start(reinterpret_cast<const char*>(peeked.data()), peeked.size());
  if (!IsPerfData(start)) {
    return IsAggregatedText(start) ? ImportAggregatedText(source.get(), options)
                                   : ImportPerfScript(source.get(), name, options);
  }
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<PerfDataReader> reader,
                        PerfDataReader::FromSource(std::move(source), name));
  return ImportPerfData(std::move(reader), options);
}

StatusOr<ProfileData> ImportPerfData(std::unique_ptr<PerfDataReader> reader,
                                     const PerfImportOptions& options) {
  CountedMemory memory(options.allocator, options.max_memory);
  Importer importer(options.files, &memory);
  SessionLog log(options.log);
  ImportMessages messages(&log);
  const PerfDataHeader& header = reader->header();
  importer.SetMemoryNodes(&header.memory_nodes);
  const RecordImportTarget target = {
      &importer, [&](SourceRecord source) { return importer.AddSource(std::move(source)); },
      &importer.locator()};
  ImportWithPokes import(&reader->event_table(), &header, target, options.ebs_method);
  PerfDataOptions how;
  how.work = options.work;
  LimitWaiting(&memory, &how);
  HBBP_ASSIGN_OR_RETURN(const PerfDataSummary summary, reader->Read(&import, how));
  for (const PerfDataHeader::FileBuildId& file : header.build_ids) {
    importer.OnBuildId(file.path, file.build_id);
  }
  importer.locator().SetKernelRelease(header.os_release);
  for (const PerfEvent& event : reader->events()) import.AddSourcesOf(event);
  import.ReportStatistics();
  ProfileData data = importer.Snapshot();
  CompleteImport(summary, import, importer, &data);
  AddRecordingNotes(reader->event_table(), import, data.sources);
  PokedCode poked = import.pokes().Code();
  if (const std::string line = DescribePokes(poked); !line.empty()) {
    AddOmissions({line}, &data, &log);
  }
  data.modules[importer.locator().kernel_module()].chunks = std::move(poked.chunks);
  CancelCheck check(options.work.cancel);
  const std::string problems = NameByPerfMaps(importer, IsOfThisMachine(header), &check, &data);
  if (!problems.empty() && !data.sources.empty()) {
    std::string& note = data.sources.front().note;
    note += (note.empty() ? "" : "; ") + problems;
  }
  RecordedFiles(options.files).Find(&data, &log, &check);
  AddOmissions(DescribeForeignParts(header, summary), &data, &log);
  AddOmissions(DescribeMissingFiles(options.files, importer.locator(), data), &data, &log);
  if (!options.binary.empty()) {
    AddOmissions({options.binary + ": not used, as a recording says which files it is of: --binary "
                                   "is for text without mappings"},
                 &data, &log);
  }
  for (const SourceRecord& source : data.sources) messages.LogSource(source);
  messages.LogRecords(summary, import);
  messages.LogCounts(importer);
  log.Flush();
  HBBP_RETURN_IF_ERROR(CheckAnyFound(importer.dropped(), data));
  data.command = JoinedText(header.command_line, " ");
  data.host = header.os_release.empty() ? header.hostname
                                        : "Linux " + header.os_release + " " + header.hostname;
  return data;
}

}  // namespace hbbp
