// Open reads what is around the records: the header of a file or a pipe, and of a file the
// attributes of events, their names, and the features. Read then has a PerfDataRun pass over the
// records.
#include "perf_data/perf_data_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "perf/perf_abi.h"
#include "perf/record_cursor.h"
#include "perf_data/perf_data_run.h"

namespace hbbp {
namespace {

constexpr size_t kMagicBytes = 8;
constexpr size_t kPipeHeaderBytes = 16;
// The header of a file has these sizes up to the bits of the features, and with them.
constexpr size_t kOldHeaderBytes = 72;
constexpr size_t kHeaderBytes = kOldHeaderBytes + kPerfFeatureBits / 8;
constexpr size_t kSectionBytes = 16;

// Reads as many bytes as there are, up to the size of `into`.
StatusOr<size_t> ReadFully(ByteSource* source, std::span<uint8_t> into) {
  size_t used = 0;
  while (used < into.size()) {
    HBBP_ASSIGN_OR_RETURN(const size_t got, source->Read(into.subspan(used)));
    if (got == 0) break;
    used += got;
  }
  return used;
}

// Returns nothing if it is not a recording of perf. The oldest format says "PERFFILE" in either
// byte order, which then shows in the size of its header.
std::optional<ByteOrder> OrderOf(std::span<const uint8_t> beginning) {
  const std::string magic(beginning.begin(), beginning.begin() + kMagicBytes);
  if (magic == "PERFILE2") return ByteOrder::kNative;
  if (magic == "2ELIFREP") return ByteOrder::kSwapped;
  if (magic != "PERFFILE") return std::nullopt;
  const uint64_t size = LoadNative<uint64_t>(beginning.data() + kMagicBytes, ByteOrder::kNative);
  return size <= std::numeric_limits<uint32_t>::max() ? ByteOrder::kNative : ByteOrder::kSwapped;
}

// A long on a big-endian machine of 32 bits has the bits of the other half of 64.
void SwapHalves(std::vector<uint64_t>* words) {
  for (uint64_t& word : *words) word = word << 32 | word >> 32;
}

std::vector<uint32_t> FeaturesIn(const uint8_t* bits, ByteOrder order) {
  std::vector<uint64_t> words;
  for (size_t i = 0; i < kPerfFeatureBits / 64; ++i) {
    words.push_back(LoadNative<uint64_t>(bits + 8 * i, order));
  }
  // Every perf writes the name of the host.
  const auto has_hostname = [&words] {
    return (words[0] >> static_cast<uint32_t>(PerfFeature::kHostname) & 1) != 0;
  };
  if (order == ByteOrder::kSwapped && !has_hostname()) {
    SwapHalves(&words);
    if (!has_hostname()) SwapHalves(&words);
  }
  std::vector<uint32_t> features;
  for (uint32_t i = 0; i < kPerfFeatureBits; ++i) {
    if ((words[i / 64] >> i % 64 & 1) != 0) features.push_back(i);
  }
  return features;
}

}  // namespace

StatusOr<std::unique_ptr<PerfDataReader>> PerfDataReader::Open(const std::string& path) {
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, FileSource::Open(path));
  return FromSource(std::move(source), path);
}

StatusOr<std::unique_ptr<PerfDataReader>> PerfDataReader::FromSource(
    std::unique_ptr<ByteSource> source, std::string name) {
  std::vector<uint8_t> beginning(kPipeHeaderBytes);
  HBBP_ASSIGN_OR_RETURN(const size_t size, ReadFully(source.get(), beginning));
  if (size == 0) {
    return MakeStatus(StatusCode::kBadFormat, "%s: empty; was perf stopped at its start?",
                      name.c_str());
  }
  const std::optional<ByteOrder> order =
      size == kPipeHeaderBytes ? OrderOf(beginning) : std::nullopt;
  if (!order.has_value()) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: not a recording of perf: it does not begin with PERFILE2", name.c_str());
  }
  const uint64_t header_size = LoadNative<uint64_t>(beginning.data() + kMagicBytes, *order);
  const bool is_pipe = header_size == kPipeHeaderBytes;
  if (!is_pipe && !source->size().has_value()) {
    HBBP_ASSIGN_OR_RETURN(source, SpoolToFile(beginning, source.get()));
  }
  std::unique_ptr<PerfDataReader> reader(
      new PerfDataReader(std::move(source), std::move(name), *order));
  if (is_pipe) {
    reader->file_.is_pipe = true;
    reader->file_.data = {kPipeHeaderBytes,
                          std::numeric_limits<uint64_t>::max() - kPipeHeaderBytes};
  } else {
    HBBP_RETURN_IF_ERROR(reader->ReadFileHeader(header_size));
  }
  return reader;
}

Status PerfDataReader::BadFormat(uint64_t offset, const std::string& what) const {
  return MakeStatus(StatusCode::kBadFormat, "%s: offset %llu: %s; record again", name_.c_str(),
                    static_cast<unsigned long long>(offset), what.c_str());
}

// Reads as much of it as the file has.
StatusOr<std::vector<uint8_t>> PerfDataReader::ReadSection(Section section) {
  const uint64_t file_size = file_.source->size().value_or(0);
  if (section.offset >= file_size) return std::vector<uint8_t>();
  std::vector<uint8_t> bytes(std::min(section.size, file_size - section.offset));
  HBBP_RETURN_IF_ERROR(file_.source->Seek(section.offset));
  HBBP_ASSIGN_OR_RETURN(const size_t got, ReadFully(file_.source.get(), bytes));
  bytes.resize(got);
  return bytes;
}

PerfDataReader::Section PerfDataReader::SectionAt(const uint8_t* bytes) const {
  return {LoadNative<uint64_t>(bytes, file_.order), LoadNative<uint64_t>(bytes + 8, file_.order)};
}

Status PerfDataReader::ReadFileHeader(uint64_t header_size) {
  if (header_size < kOldHeaderBytes) {
    return BadFormat(kMagicBytes, "a header of " + std::to_string(header_size) + " bytes");
  }
  HBBP_ASSIGN_OR_RETURN(std::vector<uint8_t> header,
                        ReadSection({0, std::min<uint64_t>(header_size, kHeaderBytes)}));
  if (header.size() < kOldHeaderBytes) {
    return BadFormat(header.size(), "the file ends within its header");
  }
  const uint64_t entry_size = LoadNative<uint64_t>(header.data() + 16, file_.order);
  const Section attrs = SectionAt(header.data() + 24);
  file_.data = SectionAt(header.data() + 40);
  HBBP_RETURN_IF_ERROR(ReadAttrs(attrs, entry_size));
  ReadEventTypes(SectionAt(header.data() + 56));

  const uint64_t file_size = file_.source->size().value_or(0);
  file_.data.offset = std::min(std::max<uint64_t>(file_.data.offset, header_size), file_size);
  const uint64_t present = file_size - file_.data.offset;
  if (file_.data.size == 0) {
    file_.summary.is_unfinished = true;
    file_.data.size = present;
  } else if (file_.data.size > present) {
    file_.summary.AddProblem(file_size, file_.data.size - present,
                             "the file is cut off within its records");
    file_.data.size = present;
  } else if (header.size() == kHeaderBytes) {
    ReadFeatures(FeaturesIn(header.data() + kOldHeaderBytes, file_.order));
  }
  return file_.source->Seek(file_.data.offset);
}

Status PerfDataReader::ReadAttrs(Section attrs, uint64_t entry_size) {
  if (entry_size < PERF_ATTR_SIZE_VER0 + kSectionBytes) {
    return BadFormat(16, "events of " + std::to_string(entry_size) + " bytes each");
  }
  HBBP_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadSection(attrs));
  // Ids may not take more room than there is in the file, even if they overlap.
  uint64_t room_for_ids = file_.source->size().value_or(0);
  for (uint64_t i = 0; i < bytes.size() / entry_size; ++i) {
    const uint64_t offset = i * entry_size;
    const std::span<const uint8_t> entry(bytes.data() + offset, entry_size);
    const std::optional<perf_event_attr> attr =
        ParseAttr(entry.first(entry_size - kSectionBytes), file_.order);
    if (!attr.has_value()) {
      return BadFormat(attrs.offset + offset, "an event that is too small");
    }
    const Section ids = SectionAt(entry.data() + entry_size - kSectionBytes);
    const Section readable = {ids.offset, std::min(ids.size, room_for_ids)};
    HBBP_ASSIGN_OR_RETURN(const std::vector<uint8_t> id_bytes, ReadSection(readable));
    room_for_ids -= id_bytes.size();
    if (id_bytes.size() != ids.size) {
      file_.summary.AddProblem(ids.offset, ids.size - id_bytes.size(),
                               "ids of an event are not in the file");
    }
    const U64View words(id_bytes, file_.order);
    file_.events.Add(*attr, std::vector<uint64_t>(words.begin(), words.end()));
  }
  if (file_.events.events().empty()) return BadFormat(attrs.offset, "no event in the file");
  return OkStatus();
}

void PerfDataReader::ReadEventTypes(Section types) {
  const StatusOr<std::vector<uint8_t>> bytes = ReadSection(types);
  if (!bytes.ok()) return;
  constexpr size_t kTypeBytes = 8 + 64;
  for (size_t i = 0; i + kTypeBytes <= bytes->size(); i += kTypeBytes) {
    NameEventsOfType({bytes->data() + i, kTypeBytes}, file_.order, &file_.events);
  }
}

void PerfDataReader::ReadFeatures(std::vector<uint32_t> features) {
  const Section table = {file_.data.offset + file_.data.size, kSectionBytes * features.size()};
  const StatusOr<std::vector<uint8_t>> sections = ReadSection(table);
  if (!sections.ok() || sections->size() != table.size) {
    file_.summary.AddProblem(table.offset, 0, "the file is cut off within its features");
    return;
  }
  for (size_t i = 0; i < features.size(); ++i) {
    const auto feature = static_cast<PerfFeature>(features[i]);
    if (!IsKnownFeature(feature)) continue;
    const Section section = SectionAt(sections->data() + kSectionBytes * i);
    const StatusOr<std::vector<uint8_t>> bytes = ReadSection(section);
    const bool is_whole = bytes.ok() && bytes->size() == section.size;
    if (!is_whole || !ParseFeature(feature, *bytes, file_.order, &file_.header, &file_.events)) {
      file_.summary.AddProblem(section.offset, 0,
                               "feature " + std::to_string(features[i]) + " is cut off");
    }
  }
}

StatusOr<PerfDataSummary> PerfDataReader::Read(PerfDataVisitor* visitor,
                                               const PerfDataOptions& options) {
  if (std::exchange(is_read_, true)) {
    return MakeStatus(StatusCode::kInvalidState, "%s: has been read; open it again", name_.c_str());
  }
  HBBP_RETURN_IF_ERROR(PerfDataRun(&file_, visitor, options).ReadAll());
  if (file_.events.events().empty()) {
    return BadFormat(file_.summary.bytes, "the recording ends before its first event");
  }
  return std::move(file_.summary);
}

}  // namespace hbbp
