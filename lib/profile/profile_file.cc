// The table kSections lists the sections with their versions, a Write and a Read function for each.
// SerializeProfile writes them in that order, after the header and the table. ParseProfile checks
// the header, the table and the checksums, reads the sections that it knows, in the order of
// kSections, and then checks that indices and sums are possible (CheckCounts, CheckBranches,
// CheckIbs). Damaged files of any content end in kBadFormat. collect/ and lib/capi save and load
// profiles by it.
#include "profile/profile_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "base/byte_cursor.h"
#include "base/files.h"
#include "profile/ibs_section.h"
#include "profile/section_io.h"
#include "profile/slices_section.h"

namespace hbbp {
namespace {

using Writer = SectionWriter;
using Reader = SectionReader;

static_assert(std::endian::native == std::endian::little, "the file format is little-endian");

constexpr char kMagic[8] = {'H', 'B', 'B', 'P', 'P', 'R', 'O', 'F'};
// Version 2 added branches, without which a reader of version 1 would show a wrong profile.
constexpr uint32_t kVersion = 2;
constexpr uint32_t kMaxSections = 64;

enum class SectionType : uint32_t {
  kInfo = 1,
  kSources = 2,
  kThreads = 3,
  kModules = 4,
  kCounts = 5,
  kBranches = 6,
  kIbs = 7,
  kSlices = 8,
  kMerged = 9,
  kBursts = 10,
};

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t section_count;
  uint64_t file_size;
  uint64_t table_checksum;
};

struct SectionEntry {
  uint32_t type;
  uint32_t version;
  uint64_t offset;
  uint64_t size;
  uint64_t checksum;
};

uint64_t Checksum(std::span<const uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::vector<uint8_t> WriteInfo(const ProfileData& data) {
  Writer writer;
  writer.Put(data.pid);
  writer.Put(data.start_time_ns);
  writer.Put(data.duration_ns);
  writer.PutString(data.command);
  writer.PutString(data.host);
  return writer.Take();
}

Status ReadInfo(std::span<const uint8_t> bytes, uint32_t, ProfileData* data) {
  Reader reader(bytes, "info");
  data->pid = reader.Get<uint32_t>();
  data->start_time_ns = reader.Get<uint64_t>();
  data->duration_ns = reader.Get<uint64_t>();
  data->command = reader.GetString();
  data->host = reader.GetString();
  return reader.status();
}

void WriteTraceStatistics(const TraceStatistics& trace, Writer* writer) {
  writer->PutString(trace.mode);
  writer->PutString(trace.method);
  for (const uint64_t number : {trace.bursts, trace.taken_branches, trace.breakpoints,
                                trace.lookahead_instructions, trace.decoded_instructions,
                                trace.handler_ns, trace.verified_branches, trace.disagreements}) {
    writer->Put(number);
  }
  writer->Put<uint64_t>(trace.counters.size());
  for (const auto& [name, number] : trace.counters) {
    writer->PutString(name);
    writer->Put(number);
  }
}

std::vector<uint8_t> WriteSources(const ProfileData& data) {
  Writer writer;
  writer.Put<uint64_t>(data.sources.size());
  for (const SourceRecord& source : data.sources) {
    writer.Put(static_cast<int32_t>(source.kind));
    writer.Put(static_cast<int32_t>(source.event));
    writer.Put(static_cast<int32_t>(source.period_mode));
    writer.Put<uint32_t>(source.include_kernel);
    writer.Put(source.period);
    writer.Put(source.frequency_hz);
    writer.Put(source.lost);
    writer.Put(source.throttled);
    writer.Put(source.unmapped);
    writer.PutString(source.note);
    WriteTraceStatistics(source.trace, &writer);
    writer.PutString(source.event_name);
    writer.Put(source.precise_ip);
    writer.Put(static_cast<int32_t>(source.ebs_method));
    writer.Put(source.smallest_period);
    writer.Put(source.largest_period);
    writer.Put(static_cast<int32_t>(source.burst_extent));
  }
  return writer.Take();
}

TraceStatistics ReadTraceStatistics(Reader* reader) {
  TraceStatistics trace;
  trace.mode = reader->GetString();
  trace.method = reader->GetString();
  for (uint64_t* number : {&trace.bursts, &trace.taken_branches, &trace.breakpoints,
                           &trace.lookahead_instructions, &trace.decoded_instructions,
                           &trace.handler_ns, &trace.verified_branches, &trace.disagreements}) {
    *number = reader->Get<uint64_t>();
  }
  trace.counters.resize(reader->GetCount(2 * sizeof(uint64_t)));
  for (auto& [name, number] : trace.counters) {
    name = reader->GetString();
    number = reader->Get<uint64_t>();
  }
  return trace;
}

Status ReadSources(std::span<const uint8_t> bytes, uint32_t version, ProfileData* data) {
  constexpr size_t kSmallest = 4 * sizeof(uint32_t) + 6 * sizeof(uint64_t);
  Reader reader(bytes, "sources");
  data->sources.resize(reader.GetCount(kSmallest));
  for (SourceRecord& source : data->sources) {
    source.kind = static_cast<SourceKind>(reader.Get<int32_t>());
    source.event = static_cast<EventKind>(reader.Get<int32_t>());
    source.period_mode = static_cast<PeriodMode>(reader.Get<int32_t>());
    source.include_kernel = reader.Get<uint32_t>() != 0;
    source.period = reader.Get<uint64_t>();
    source.frequency_hz = reader.Get<uint64_t>();
    source.lost = reader.Get<uint64_t>();
    source.throttled = reader.Get<uint64_t>();
    source.unmapped = reader.Get<uint64_t>();
    source.note = reader.GetString();
    if (version >= 2) source.trace = ReadTraceStatistics(&reader);
    if (version >= 3) source.event_name = reader.GetString();
    if (version < 4) continue;
    source.precise_ip = reader.Get<uint32_t>();
    source.ebs_method = static_cast<EbsMethod>(reader.Get<int32_t>());
    source.smallest_period = reader.Get<uint64_t>();
    source.largest_period = reader.Get<uint64_t>();
    if (version >= 5) source.burst_extent = static_cast<BurstExtent>(reader.Get<int32_t>());
  }
  return reader.status();
}

std::vector<uint8_t> WriteThreads(const ProfileData& data) {
  Writer writer;
  writer.Put<uint64_t>(data.threads.size());
  for (const ThreadRecord& thread : data.threads) {
    writer.Put(thread.pid);
    writer.Put(thread.tid);
    writer.PutString(thread.name);
  }
  return writer.Take();
}

Status ReadThreads(std::span<const uint8_t> bytes, uint32_t, ProfileData* data) {
  Reader reader(bytes, "threads");
  data->threads.resize(reader.GetCount(2 * sizeof(uint32_t) + sizeof(uint64_t)));
  for (ThreadRecord& thread : data->threads) {
    thread.pid = reader.Get<uint32_t>();
    thread.tid = reader.Get<uint32_t>();
    thread.name = reader.GetString();
  }
  return reader.status();
}

void WriteRanges(const std::vector<NamedRange>& ranges, Writer* writer) {
  writer->Put<uint64_t>(ranges.size());
  for (const NamedRange& range : ranges) {
    writer->Put(range.range.start.value);
    writer->Put(range.range.end.value);
    writer->PutString(range.name);
  }
}

void WriteKernel(const KernelRecord& kernel, Writer* writer) {
  for (const std::string* text : {&kernel.boot_id, &kernel.release, &kernel.reference_symbol}) {
    writer->PutString(*text);
  }
  writer->Put(kernel.reference_address);
  WriteRanges(kernel.functions, writer);
  WriteRanges(kernel.modules, writer);
}

std::vector<NamedRange> ReadRanges(Reader* reader) {
  std::vector<NamedRange> ranges(reader->GetCount(3 * sizeof(uint64_t)));
  for (NamedRange& range : ranges) {
    range.range.start.value = reader->Get<uint64_t>();
    range.range.end.value = reader->Get<uint64_t>();
    range.name = reader->GetString();
  }
  return ranges;
}

KernelRecord ReadKernel(Reader* reader) {
  KernelRecord kernel;
  for (std::string* text : {&kernel.boot_id, &kernel.release, &kernel.reference_symbol}) {
    *text = reader->GetString();
  }
  kernel.reference_address = reader->Get<uint64_t>();
  kernel.functions = ReadRanges(reader);
  kernel.modules = ReadRanges(reader);
  return kernel;
}

void WriteLines(const CodeLines& lines, Writer* writer) {
  writer->Put<uint64_t>(lines.files.size());
  for (const std::string& file : lines.files) writer->PutString(file);
  writer->Put<uint64_t>(lines.rows.size());
  for (const CodeLine& row : lines.rows) {
    writer->Put(row.offset);
    writer->Put(row.file);
    writer->Put(row.line);
  }
}

// Rows of files that do not exist are dropped.
CodeLines ReadLines(Reader* reader) {
  CodeLines lines;
  lines.files.resize(reader->GetCount(sizeof(uint64_t)));
  for (std::string& file : lines.files) file = reader->GetString();
  lines.rows.resize(reader->GetCount(3 * sizeof(uint32_t)));
  for (CodeLine& row : lines.rows) {
    row.offset = reader->Get<uint32_t>();
    row.file = reader->Get<uint32_t>();
    row.line = reader->Get<uint32_t>();
  }
  std::erase_if(lines.rows,
                [&lines](const CodeLine& row) { return row.file >= lines.files.size(); });
  return lines;
}

std::vector<uint8_t> WriteModules(const ProfileData& data) {
  Writer writer;
  writer.Put<uint64_t>(data.modules.size());
  for (const ModuleRecord& module : data.modules) {
    writer.Put(static_cast<int32_t>(module.kind));
    writer.Put(module.device);
    writer.Put(module.inode);
    writer.PutString(module.path);
    writer.PutBytes(module.build_id);
    writer.Put<uint64_t>(module.chunks.size());
    for (const CodeChunk& chunk : module.chunks) {
      writer.Put(chunk.offset);
      writer.PutBytes(chunk.bytes);
      writer.PutString(chunk.name);
      WriteLines(chunk.lines, &writer);
    }
    if (module.kind == ModuleKind::kKernel) WriteKernel(module.kernel, &writer);
    if (module.kind == ModuleKind::kAnonymous) WriteRanges(module.functions, &writer);
    writer.PutString(module.local_path);
  }
  return writer.Take();
}

Status ReadModules(std::span<const uint8_t> bytes, uint32_t version, ProfileData* data) {
  constexpr size_t kSmallest = sizeof(uint32_t) + 5 * sizeof(uint64_t);
  Reader reader(bytes, "modules");
  data->modules.resize(reader.GetCount(kSmallest));
  for (ModuleRecord& module : data->modules) {
    module.kind = static_cast<ModuleKind>(reader.Get<int32_t>());
    module.device = reader.Get<uint64_t>();
    module.inode = reader.Get<uint64_t>();
    module.path = reader.GetString();
    module.build_id = reader.GetBytes();
    module.chunks.resize(reader.GetCount(2 * sizeof(uint64_t)));
    for (CodeChunk& chunk : module.chunks) {
      chunk.offset = reader.Get<uint64_t>();
      chunk.bytes = reader.GetBytes();
      if (version >= 2) chunk.name = reader.GetString();
      if (version >= 3) chunk.lines = ReadLines(&reader);
    }
    if (version >= 2 && module.kind == ModuleKind::kKernel) module.kernel = ReadKernel(&reader);
    if (version >= 3 && module.kind == ModuleKind::kAnonymous) {
      module.functions = ReadRanges(&reader);
    }
    if (version >= 4) module.local_path = reader.GetString();
  }
  return reader.status();
}

struct StoredCount {
  uint32_t source;
  uint32_t thread;
  uint32_t module;
  IpPosition position;
  uint64_t offset;
  uint64_t samples;
  double period_sum;
  double period_squares;
};

std::vector<uint8_t> WriteCounts(const ProfileData& data) {
  Writer writer;
  writer.Put<uint64_t>(data.counts.size());
  for (const IpCount& count : data.counts) {
    writer.Put(StoredCount{count.source, count.thread, count.module, count.position, count.offset,
                           count.samples, count.period_sum, count.period_squares});
  }
  return writer.Take();
}

Status ReadCounts(std::span<const uint8_t> bytes, uint32_t version, ProfileData* data) {
  Reader reader(bytes, "counts");
  data->counts.resize(reader.GetCount(sizeof(StoredCount)));
  for (IpCount& count : data->counts) {
    const auto stored = reader.Get<StoredCount>();
    count.source = stored.source;
    count.thread = stored.thread;
    count.module = stored.module;
    if (version >= 2) count.position = stored.position;
    count.offset = stored.offset;
    count.samples = stored.samples;
    count.period_sum = stored.period_sum;
    count.period_squares = stored.period_squares;
  }
  return reader.status();
}

// This bit of the mask of replicates says that two numbers about the oldest entry follow.
constexpr uint32_t kHasOldest = uint32_t{1} << 31;
static_assert(kReplicates < 31);

// Most branches are in one or two bursts, so most replicates are 0 and not written: the bits of a
// mask say which are.
std::vector<uint8_t> WriteBranches(const ProfileData& data) {
  Writer writer;
  writer.Put<uint64_t>(data.branches.size());
  for (const BranchCount& branch : data.branches) {
    writer.Put(branch.source);
    writer.Put(branch.thread);
    writer.Put(branch.from_module);
    writer.Put(branch.to_module);
    writer.Put(branch.from);
    writer.Put(branch.to);
    writer.Put(branch.stream_end);
    writer.Put(branch.number);
    writer.Put(branch.weights);
    uint32_t mask = 0;
    for (size_t i = 0; i < kReplicates; ++i) {
      if (branch.replicates.sums[i] != 0) mask |= 1u << i;
    }
    if (branch.oldest_expected != 0) mask |= kHasOldest;
    writer.Put(mask);
    for (const float sum : branch.replicates.sums) {
      if (sum != 0) writer.Put(sum);
    }
    if (branch.oldest_expected == 0) continue;
    writer.Put(branch.oldest);
    writer.Put(branch.oldest_expected);
  }
  return writer.Take();
}

Status ReadBranches(std::span<const uint8_t> bytes, uint32_t version, ProfileData* data) {
  constexpr size_t kSmallest = 5 * sizeof(uint32_t) + 5 * sizeof(uint64_t);
  Reader reader(bytes, "branches");
  data->branches.resize(reader.GetCount(kSmallest));
  for (BranchCount& branch : data->branches) {
    branch.source = reader.Get<uint32_t>();
    branch.thread = reader.Get<uint32_t>();
    branch.from_module = reader.Get<uint32_t>();
    branch.to_module = reader.Get<uint32_t>();
    branch.from = reader.Get<uint64_t>();
    branch.to = reader.Get<uint64_t>();
    branch.stream_end = reader.Get<uint64_t>();
    branch.number = reader.Get<uint64_t>();
    branch.weights = reader.Get<double>();
    const auto mask = reader.Get<uint32_t>();
    const bool has_oldest = version >= 2 && (mask & kHasOldest) != 0;
    if ((has_oldest ? mask - kHasOldest : mask) >> kReplicates != 0) {
      return MakeStatus(StatusCode::kBadFormat, "a branch has more than %zu replicates",
                        kReplicates);
    }
    for (size_t i = 0; i < kReplicates; ++i) {
      if ((mask >> i & 1) != 0) branch.replicates.sums[i] = reader.Get<float>();
    }
    if (!has_oldest) continue;
    branch.oldest = reader.Get<uint64_t>();
    branch.oldest_expected = reader.Get<double>();
  }
  return reader.status();
}

Status CheckBranches(const ProfileData& data) {
  const auto is_module = [&](uint32_t module) {
    return module < data.modules.size() || module == kNoModule;
  };
  double sum = 0;
  for (const BranchCount& branch : data.branches) {
    if (branch.source >= data.sources.size() || branch.thread >= data.threads.size() ||
        !is_module(branch.from_module) || !is_module(branch.to_module)) {
      return MakeStatus(StatusCode::kBadFormat,
                        "a branch refers to a source, thread or module that is not in the file");
    }
    // Sums of numbers this small cannot overflow a float.
    constexpr double kMaxWeight = 1e36;
    const auto is_plausible = [](double weight) { return weight >= 0 && weight < kMaxWeight; };
    bool plausible = is_plausible(branch.weights) && (branch.HasStream() || branch.weights == 0);
    sum += branch.weights;
    for (const float replicate : branch.replicates.sums) {
      plausible = plausible && is_plausible(replicate);
      sum += static_cast<double>(replicate);
    }
    plausible = plausible && branch.oldest <= branch.number && branch.oldest_expected >= 0 &&
                branch.oldest_expected < kMaxWeight;
    if (!plausible || !is_plausible(sum)) {
      return MakeStatus(StatusCode::kBadFormat,
                        "the weight or the stack entry of a branch is not possible");
    }
  }
  return OkStatus();
}

// The sum of squares of n numbers is at least the square of their sum divided by n, and at most
// that square; periods have 64 bits.
bool IsPossible(const IpCount& count) {
  constexpr double kRounding = 1e-6;
  const double sum = count.period_sum, squares = count.period_squares;
  const auto samples = static_cast<double>(count.samples);
  return sum >= 0 && sum <= samples * 0x1p64 && squares >= 0 &&
         squares <= sum * sum * (1 + kRounding) && squares * samples >= sum * sum * (1 - kRounding);
}

// A source may be of a kind that this library does not know, but not of none: blocks that no source
// counts are.
Status CheckSources(const ProfileData& data) {
  for (const SourceRecord& source : data.sources) {
    if (source.kind == SourceKind::kNone) {
      return MakeStatus(StatusCode::kBadFormat, "a source has no kind");
    }
  }
  return OkStatus();
}

Status CheckCounts(const ProfileData& data) {
  for (const IpCount& count : data.counts) {
    if (count.source >= data.sources.size() || count.thread >= data.threads.size() ||
        count.module >= data.modules.size()) {
      return MakeStatus(StatusCode::kBadFormat,
                        "a count refers to a source, thread or module that is not in the file");
    }
    if (!IsPossible(count)) {
      return MakeStatus(StatusCode::kBadFormat,
                        "%llu samples cannot have periods of %g in sum and squares of %g in sum",
                        static_cast<unsigned long long>(count.samples), count.period_sum,
                        count.period_squares);
    }
    if (count.position > IpPosition::kAfter) {
      return MakeStatus(StatusCode::kBadFormat, "a count has an unknown position %u",
                        static_cast<unsigned>(count.position));
    }
  }
  return OkStatus();
}

// A sum has this section, a recording has not. What does not know it reads the same counts.
std::vector<uint8_t> WriteMerged(const ProfileData& data) {
  Writer writer;
  writer.Put(data.recordings);
  for (const ModuleRecord& module : data.modules) writer.Put(module.process);
  return writer.Take();
}

Status ReadMerged(std::span<const uint8_t> bytes, uint32_t, ProfileData* data) {
  Reader reader(bytes, "merged");
  data->recordings = reader.Get<uint64_t>();
  for (ModuleRecord& module : data->modules) module.process = reader.Get<uint64_t>();
  return reader.status();
}

// Bursts are encoded as in the file, because few who load a profile read them.
std::vector<uint8_t> WriteBursts(const ProfileData& data) { return data.kept_bursts; }

Status ReadBursts(std::span<const uint8_t> bytes, uint32_t, ProfileData* data) {
  data->kept_bursts.assign(bytes.begin(), bytes.end());
  return OkStatus();
}

// Returns whether a profile has this section at all.
bool HasSection(SectionType type, const ProfileData& data) {
  switch (type) {
    case SectionType::kSlices:
      return data.slices.width_ns != 0;
    case SectionType::kMerged:
      return data.recordings != 0;
    case SectionType::kBursts:
      return !data.kept_bursts.empty();
    default:
      return true;
  }
}

struct SectionFormat {
  SectionType type;
  uint32_t version;  // the newest, which is written
  const char* name;
  std::vector<uint8_t> (*write)(const ProfileData&);
  Status (*read)(std::span<const uint8_t>, uint32_t version, ProfileData*);
};

// Sections are read in this order, whatever their order in the file: slices refer to counts and
// branches, and merged to modules.
constexpr std::array<SectionFormat, 10> kSections = {{
    {SectionType::kInfo, 1, "info", WriteInfo, ReadInfo},
    {SectionType::kSources, 5, "sources", WriteSources, ReadSources},
    {SectionType::kThreads, 1, "threads", WriteThreads, ReadThreads},
    {SectionType::kModules, 4, "modules", WriteModules, ReadModules},
    {SectionType::kCounts, 2, "counts", WriteCounts, ReadCounts},
    {SectionType::kBranches, 2, "branches", WriteBranches, ReadBranches},
    {SectionType::kIbs, 4, "ibs", WriteIbs, ReadIbs},
    {SectionType::kSlices, 1, "slices", WriteSlices, ReadSlices},
    {SectionType::kMerged, 1, "merged", WriteMerged, ReadMerged},
    {SectionType::kBursts, 1, "bursts", WriteBursts, ReadBursts},
}};

}  // namespace

std::vector<uint8_t> SerializeProfile(const ProfileData& data) {
  std::vector<std::vector<uint8_t>> contents;
  std::vector<SectionEntry> table;
  for (const SectionFormat& format : kSections) {
    if (!HasSection(format.type, data)) continue;
    const std::vector<uint8_t>& content = contents.emplace_back(format.write(data));
    table.push_back(
        {static_cast<uint32_t>(format.type), format.version, 0, content.size(), Checksum(content)});
  }
  const size_t table_size = table.size() * sizeof(SectionEntry);
  uint64_t offset = sizeof(Header) + table_size;
  for (SectionEntry& entry : table) {
    entry.offset = offset;
    offset += entry.size;
  }
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.section_count = static_cast<uint32_t>(table.size());
  header.file_size = offset;
  header.table_checksum = Checksum({reinterpret_cast<const uint8_t*>(table.data()), table_size});
  std::vector<uint8_t> file(offset);
  uint8_t* end = file.data();
  const auto append = [&end](const void* start, size_t size) {
    if (size == 0) return;
    std::memcpy(end, start, size);
    end += size;
  };
  append(&header, sizeof(header));
  append(table.data(), table_size);
  for (const std::vector<uint8_t>& content : contents) append(content.data(), content.size());
  return file;
}

StatusOr<ProfileData> ParseProfile(std::span<const uint8_t> bytes) {
  ByteCursor cursor(bytes);
  Header header;
  if (bytes.size() < sizeof(kMagic) || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    return MakeStatus(StatusCode::kBadFormat, "not a profile of hbbp (no HBBPPROF at its start)");
  }
  if (!cursor.Read(&header)) {
    return MakeStatus(StatusCode::kBadFormat, "truncated: %zu bytes are too few for a header",
                      bytes.size());
  }
  if (header.version > kVersion) {
    return MakeStatus(StatusCode::kVersion,
                      "profile format %u is newer than this library's %u; use a newer hbbp",
                      header.version, kVersion);
  }
  if (header.version == 0) {
    return MakeStatus(StatusCode::kBadFormat, "there is no profile format 0: the file is damaged");
  }
  if (header.file_size != bytes.size()) {
    return MakeStatus(StatusCode::kBadFormat, "%s: %zu bytes of %llu",
                      bytes.size() < header.file_size ? "truncated" : "trailing bytes",
                      bytes.size(), static_cast<unsigned long long>(header.file_size));
  }
  std::span<const uint8_t> table;
  if (header.section_count > kMaxSections ||
      !cursor.ReadBytes(header.section_count * sizeof(SectionEntry), &table) ||
      Checksum(table) != header.table_checksum) {
    return MakeStatus(StatusCode::kBadFormat, "the section table is damaged");
  }
  ProfileData data;
  for (const SectionFormat& format : kSections) {
    for (uint32_t i = 0; i < header.section_count; ++i) {
      SectionEntry entry;
      std::memcpy(&entry, table.data() + i * sizeof(entry), sizeof(entry));
      if (static_cast<uint32_t>(format.type) != entry.type) continue;
      if (entry.version > format.version) {
        return MakeStatus(StatusCode::kVersion,
                          "the %s section has format %u, newer than this library's %u; use a newer "
                          "hbbp",
                          format.name, entry.version, format.version);
      }
      if (entry.offset > bytes.size() || entry.size > bytes.size() - entry.offset) {
        return MakeStatus(StatusCode::kBadFormat, "the %s section lies outside the file",
                          format.name);
      }
      const auto content = bytes.subspan(entry.offset, entry.size);
      if (Checksum(content) != entry.checksum) {
        return MakeStatus(StatusCode::kBadFormat,
                          "the %s section at byte %llu has a wrong checksum: the file is damaged",
                          format.name, static_cast<unsigned long long>(entry.offset));
      }
      HBBP_RETURN_IF_ERROR(format.read(content, entry.version, &data));
    }
  }
  HBBP_RETURN_IF_ERROR(CheckSources(data));
  HBBP_RETURN_IF_ERROR(CheckCounts(data));
  HBBP_RETURN_IF_ERROR(CheckBranches(data));
  HBBP_RETURN_IF_ERROR(CheckIbs(data));
  Normalize(&data, nullptr);
  return data;
}

Status SaveProfile(const ProfileData& data, const std::string& path) {
  constexpr mode_t kOfOwnerOnly = 0600;
  return WriteFileAtomically(path, SerializeProfile(data), kOfOwnerOnly);
}

StatusOr<ProfileData> LoadProfile(const std::string& path) {
  HBBP_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path));
  StatusOr<ProfileData> data = ParseProfile(bytes);
  if (!data.ok()) return data.status().Annotate(path);
  return data;
}

}  // namespace hbbp
