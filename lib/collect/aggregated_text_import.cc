// ImportAggregatedText reads the lines of text that was added up (perf_data/aggregated_line.h),
// opens the files that they name (OpenFiles), and gives branches and streams, as offsets in these,
// to AggregatedStreams. Lines are kept until all files are known.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hex_bytes.h"
#include "base/unique_fd.h"
#include "collect/aggregated_streams.h"
#include "collect/import_messages.h"
#include "collect/import_omissions.h"
#include "collect/memory_note.h"
#include "collect/perf_import.h"
#include "collect/recorded_files.h"
#include "image/build_id.h"
#include "image/elf_file.h"
#include "image/segments.h"
#include "perf_data/aggregated_line.h"
#include "perf_data/text_lines.h"
#include "perf_data/text_words.h"

namespace hbbp {
namespace {

using Location = AggregatedStreams::Location;

constexpr size_t kMaxNamed = 3;  // in a note
// More than any process maps; each is searched.
constexpr size_t kMaxFiles = 4096;
constexpr size_t kMaxEventBytes = 1024;

// A file whose addresses the text has.
class NamedFile {
 public:
  static StatusOr<std::unique_ptr<NamedFile>> Open(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd.valid()) return ErrnoStatus(errno, path);
    HBBP_ASSIGN_OR_RETURN(std::unique_ptr<FileBytes> bytes, FileBytes::FromFd(std::move(fd), path));
    HBBP_ASSIGN_OR_RETURN(std::unique_ptr<ElfFile> file, ElfFile::Create(std::move(bytes), path));
    return std::unique_ptr<NamedFile>(new NamedFile(std::move(file)));
  }

  std::vector<uint8_t> build_id() const { return ReadBuildIdOfFd(file_->bytes().fd()); }

  // Returns the offset in the file of code. Addresses are those of the file, also where it is
  // loaded anywhere, as BOLT takes them.
  std::optional<uint64_t> FindOffset(uint64_t address) const {
    const Segment* const segment = segments_.Find({address});
    if (segment == nullptr || !segment->executable) return std::nullopt;
    return segments_.OffsetOfAddress({address})->value;
  }

 private:
  explicit NamedFile(std::unique_ptr<ElfFile> file)
      : file_(std::move(file)), segments_(&file_->bytes(), file_->segment_headers()) {}

  const std::unique_ptr<ElfFile> file_;
  const Segments segments_;
};

// Each branch stack has at least one stream, and one newest branch, behind which there is none.
std::string DescribeLackOfStreams(const std::vector<BranchCount>& branches) {
  uint64_t newest = 0, streams = 0;
  for (const BranchCount& branch : branches) {
    if (branch.stream_end == kNoStream) newest += branch.number;
    if (branch.HasStream()) streams += branch.number;
  }
  if (newest <= streams) return "";
  return std::to_string(newest) + " branches have no code behind them, and only " +
         std::to_string(streams) +
         " have it, fewer than in branch stacks: blocks are counted by lines of code (F, f, r, T, "
         "R), and those without have no count";
}

class AggregatedTextImport {
 public:
  explicit AggregatedTextImport(const PerfImportOptions& options)
      : options_(options),
        memory_(options.allocator, options.max_memory),
        lines_(&memory_),
        streams_(&memory_),
        log_(options.log) {}

  void ReadLine(std::string_view text) {
    std::string_view rest = text;
    const std::string_view first = NextWord(&rest);
    if (first.empty() || first.starts_with('#')) return;
    const std::optional<AggregatedLine> line = ParseAggregatedLine(text);
    if (!line) {
      ++other_lines_;
    } else if (!line->event.empty()) {
      AddEvent(std::string(line->event));
    } else if (!HasMemoryFor([&] { lines_.push_back(Keep(*line)); })) {
      dropped_ += line->count;
    }
  }

  StatusOr<ProfileData> Finish();

 private:
  static constexpr uint32_t kExternal = UINT32_MAX;
  static constexpr uint32_t kNone = UINT32_MAX - 1;

  // The file is one of files_, or kExternal or kNone.
  struct FileLocation {
    uint32_t file = kNone;
    uint64_t address = 0;
  };
  struct Line {
    FileLocation ip, from, to, end;
    uint64_t count = 0;
  };

  FileLocation Keep(const std::optional<AggregatedLocation>& location) {
    if (!location) return {};
    if (location->is_external) return {kExternal, location->address};
    const std::string build_id(location->build_id);
    if (file_numbers_.size() >= kMaxFiles && !file_numbers_.contains(build_id)) {
      ++beyond_files_;
      return {kExternal, location->address};
    }
    const auto [file, is_new] =
        file_numbers_.try_emplace(build_id, static_cast<uint32_t>(file_numbers_.size()));
    return {file->second, location->address};
  }
  Line Keep(const AggregatedLine& line) {
    return {Keep(line.ip), Keep(line.from), Keep(line.to), Keep(line.end), line.count};
  }

  void AddEvent(const std::string& event) {
    const bool is_known = ("," + events_ + ",").find("," + event + ",") != std::string::npos;
    if (is_known || events_.size() + event.size() > kMaxEventBytes) return;
    events_ += (events_.empty() ? "" : ",") + event;
  }
  Status OpenFiles(ProfileData* data);
  Status Open(const std::string& path, uint32_t file, ProfileData* data);
  Location Find(const FileLocation& location);
  void Count(const Line& line, ProfileData* data);
  SourceRecord MakeSource(SourceKind kind) const;
  std::vector<std::string> DescribeUnknown() const;

  const PerfImportOptions& options_;
  CountedMemory memory_;
  std::pmr::vector<Line> lines_;
  AggregatedStreams streams_;
  SessionLog log_;
  std::map<std::string, uint32_t> file_numbers_;  // by build ID in text; empty: the one file
  struct File {
    std::unique_ptr<NamedFile> file;  // null: not here
    uint32_t module = kNoModule;
  };
  std::vector<File> files_;
  std::vector<std::string> missing_;  // build IDs
  std::string events_;
  uint64_t other_lines_ = 0;
  uint64_t dropped_ = 0;
  uint64_t in_unnamed_ = 0;  // locations in the one file, which was not named
  uint64_t in_missing_ = 0;
  uint64_t outside_code_ = 0;
  uint64_t beyond_files_ = 0;
};

// Several numbers may be of one file.
Status AggregatedTextImport::Open(const std::string& path, uint32_t file, ProfileData* data) {
  for (const File& known : files_) {
    if (known.file == nullptr || data->modules[known.module].path != path) continue;
    HBBP_ASSIGN_OR_RETURN(files_[file].file, NamedFile::Open(path));
    files_[file].module = known.module;
    return OkStatus();
  }
  HBBP_ASSIGN_OR_RETURN(files_[file].file, NamedFile::Open(path));
  files_[file].module = static_cast<uint32_t>(data->modules.size());
  ModuleRecord module;
  module.path = path;
  module.build_id = files_[file].file->build_id();
  data->modules.push_back(std::move(module));
  return OkStatus();
}

// The file that was named serves its build ID too; others are searched by theirs.
Status AggregatedTextImport::OpenFiles(ProfileData* data) {
  files_.resize(file_numbers_.size());
  std::vector<uint8_t> id_of_binary;
  if (!options_.binary.empty()) {
    HBBP_ASSIGN_OR_RETURN(const std::unique_ptr<NamedFile> binary,
                          NamedFile::Open(options_.binary));
    id_of_binary = binary->build_id();
  }
  CancelCheck check(options_.work.cancel);
  RecordedFiles search(options_.files);
  for (const auto& [text, number] : file_numbers_) {
    if (text.empty()) {
      if (!options_.binary.empty()) HBBP_RETURN_IF_ERROR(Open(options_.binary, number, data));
      continue;
    }
    ProfileData wanted;
    wanted.sources.resize(1);
    wanted.modules.resize(1);
    ModuleRecord& module = wanted.modules.front();
    module.build_id = BytesOfHex(text);
    module.path = "/.build-id/" + text;
    if (SameBuildId(module.build_id, id_of_binary)) {
      HBBP_RETURN_IF_ERROR(Open(options_.binary, number, data));
      continue;
    }
    search.Find(&wanted, &log_, &check);
    if (FindRecordedFileState(module) == RecordedFileState::kFound) {
      HBBP_RETURN_IF_ERROR(Open(LocalPath(module), number, data));
      AppendNote(wanted.sources.front().note, &data->sources.front().note);
    } else {
      missing_.push_back(text);
    }
  }
  return OkStatus();
}

Location AggregatedTextImport::Find(const FileLocation& location) {
  if (location.file == kExternal) return {kNoModule, location.address};
  const File& file = files_[location.file];
  if (file.file == nullptr) {
    const auto unnamed = file_numbers_.find("");
    const bool is_unnamed = unnamed != file_numbers_.end() && unnamed->second == location.file;
    ++(is_unnamed ? in_unnamed_ : in_missing_);
    return {kNoModule, location.address};
  }
  const std::optional<uint64_t> offset = file.file->FindOffset(location.address);
  if (offset) return {file.module, *offset};
  ++outside_code_;
  return {kNoModule, location.address};
}

void AggregatedTextImport::Count(const Line& line, ProfileData* data) {
  if (line.ip.file != kNone) {
    const Location ip = Find(line.ip);
    SourceRecord& source = data->sources.back();
    if (ip.module == kNoModule) {
      source.unmapped += line.count;
      return;
    }
    IpCount count;
    count.source = static_cast<uint32_t>(data->sources.size() - 1);
    count.module = ip.module;
    count.offset = ip.offset;
    count.samples = line.count;
    count.period_sum = count.period_squares = static_cast<double>(line.count);
    data->counts.push_back(count);
    return;
  }
  const Location to = Find(line.to);
  const bool has_memory = HasMemoryFor([&] {
    if (line.from.file == kNone) {
      streams_.AddStream(to, Find(line.end), line.count);
    } else if (line.end.file == kNone) {
      streams_.AddBranch(Find(line.from), to, line.count);
    } else {
      streams_.AddTrace(Find(line.from), to, Find(line.end), line.count);
    }
  });
  if (!has_memory) dropped_ += line.count;
}

SourceRecord AggregatedTextImport::MakeSource(SourceKind kind) const {
  SourceRecord source;
  source.kind = kind;
  source.event = EventKind::kOther;
  source.event_name = events_;
  source.period_mode = PeriodMode::kFixed;
  source.period = 1;
  source.note =
      "text that was added up: it has no periods, so that counts are shares and not "
      "numbers";
  if (kind == SourceKind::kLbr) {
    source.note += ", and no samples, so that errors are upper bounds";
  }
  return source;
}

std::vector<std::string> AggregatedTextImport::DescribeUnknown() const {
  std::vector<std::string> lines;
  if (other_lines_ != 0) {
    lines.push_back(std::to_string(other_lines_) +
                    " lines left out, which are not like B 4b196f 4b19e0 12 0: check the text");
  }
  const auto add = [&](uint64_t number, const std::string& what) {
    if (number != 0) lines.push_back(std::to_string(number) + " locations are " + what);
  };
  add(in_unnamed_, "in a file that was not named: --binary FILE says which one it is");
  std::string named;
  for (size_t i = 0; i < std::min(missing_.size(), kMaxNamed); ++i) {
    named += (i == 0 ? "" : ", ") + missing_[i];
  }
  if (missing_.size() > kMaxNamed) {
    named += " and " + std::to_string(missing_.size() - kMaxNamed) + " more";
  }
  add(in_missing_, "in files whose build IDs were not found here (" + named +
                       "): import again with --symfs DIR or --binary FILE");
  add(beyond_files_, "of more than " + std::to_string(kMaxFiles) + " files, and left out");
  add(outside_code_, "outside of the code of their files, so that they are of other files");
  return lines;
}

StatusOr<ProfileData> AggregatedTextImport::Finish() {
  ProfileData data;
  data.threads.resize(1);
  bool has_ips = false, has_streams = false;
  for (const Line& line : lines_) (line.ip.file != kNone ? has_ips : has_streams) = true;
  if (has_streams || !has_ips) data.sources.push_back(MakeSource(SourceKind::kLbr));
  if (has_ips) data.sources.push_back(MakeSource(SourceKind::kEbs));
  HBBP_RETURN_IF_ERROR(OpenFiles(&data));
  CancelCheck check(options_.work.cancel);
  for (const Line& line : lines_) {
    check.Step();
    Count(line, &data);
  }
  streams_.AppendTo(&data.branches);
  const std::string lack_of_streams = DescribeLackOfStreams(data.branches);
  Normalize(&data, &check);
  AddCounter("other-lines", other_lines_, &data.sources.front().trace.counters);
  const MemoryLosses losses = {dropped_, 0};
  ImportMessages messages(&log_);
  for (SourceRecord& source : data.sources) {
    AppendNote(MemoryNote(losses, false), &source.note);
    messages.LogSource(source);
    log_.Log(LogLevel::kWarning, "%s", source.note.c_str());
  }
  if (!lack_of_streams.empty()) AddOmissions({lack_of_streams}, &data, &log_);
  AddOmissions(DescribeUnknown(), &data, &log_);
  const RecordedLocator nothing_recorded(options_.files, &memory_);
  AddOmissions(DescribeMissingFiles(options_.files, nothing_recorded, data), &data, &log_);
  log_.Flush();
  HBBP_RETURN_IF_ERROR(CheckAnyFound(losses, data));
  return data;
}

}  // namespace

StatusOr<ProfileData> ImportAggregatedText(ByteSource* source, const PerfImportOptions& options) {
  AggregatedTextImport import(options);
  HBBP_RETURN_IF_ERROR(
      ReadLines(source, options.work, [&](std::string_view line) { import.ReadLine(line); }));
  return import.Finish();
}

}  // namespace hbbp
