// ReadAll, which PerfDataReader calls, reads record after record. Records of the kernel go to the
// RecordDelivery; those of the perf command are handled here: attributes, names and features come
// in them if the recording is a pipe, and compressed ones are unpacked and read in turn.
#include "perf_data/perf_data_run.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "perf/perf_abi.h"
#include "perf/record_cursor.h"
#include "perf_data/oversized_block.h"

namespace hbbp {
namespace {

constexpr size_t kHeaderBytes = sizeof(perf_event_header);
constexpr uint64_t kReportEvery = 4 << 20;

constexpr uint64_t RoundUpTo8(uint64_t size) { return (size + 7) & ~uint64_t{7}; }

}  // namespace

PerfDataRun::PerfDataRun(PerfDataFile* file, PerfDataVisitor* visitor,
                         const PerfDataOptions& options)
    : file_(*file),
      options_(options),
      order_(file->order),
      delivery_(&file->events, visitor, &file->summary, options),
      window_(file->source.get(), file->data.offset, file->data.offset + file->data.size) {
  const uint64_t file_size = file->source->size().value_or(0);
  all_bytes_ = file->is_pipe ? file_size : file->data.offset + file->data.size;
}

Status PerfDataRun::ReadAll() {
  while (zstd_status_.ok() && ReadRecord()) {
    if (window_.position() >= next_report_) HBBP_RETURN_IF_ERROR(ReportProgress());
  }
  HBBP_RETURN_IF_ERROR(zstd_status_);
  if (!window_.status().ok()) {
    file_.summary.AddProblem(window_.position(),
                             all_bytes_ - std::min(all_bytes_, window_.position()),
                             window_.status().message());
  }
  if (!decompressed_.empty()) {
    file_.summary.AddProblem(window_.position(), decompressed_.size(),
                             "the compressed records end within a record");
    ++file_.summary.dropped_records;
  }
  delivery_.FlushUpTo(std::numeric_limits<uint64_t>::max());
  PerfDataSummary& summary = file_.summary;
  for (uint32_t type = 0; type < kCountedTypes; ++type) {
    if (counts_[type] != 0) summary.records[type] = counts_[type];
  }
  summary.rounds = summary.RecordsOf(kPerfFinishedRound);
  summary.bytes = window_.position();
  return options_.work.Report(window_.position(), all_bytes_);
}

Status PerfDataRun::ReportProgress() {
  next_report_ = window_.position() + kReportEvery;
  return options_.work.Report(window_.position(), all_bytes_);
}

void PerfDataRun::DropRest(uint64_t offset, std::string what) {
  ++file_.summary.dropped_records;
  file_.summary.AddProblem(offset, window_.SkipRest(), std::move(what));
}

bool PerfDataRun::ReadRecord() {
  const uint64_t offset = window_.position();
  const std::span<const uint8_t> start = window_.Peek(kHeaderBytes);
  if (start.empty() || !window_.status().ok()) return false;
  if (start.size() < kHeaderBytes) {
    DropRest(offset, "the recording ends within a record");
    return false;
  }
  const perf_event_header header = RecordHeader(start, order_);
  if (header.type > kMaxType) {
    DropRest(offset, "what follows is not a record");
    return false;
  }
  if (header.type == kPerfCompressed2 && ReadOversizedBlock()) return true;
  if (header.size < kHeaderBytes) {
    DropRest(offset, PerfRecordName(header.type) + " record of " + std::to_string(header.size) +
                         " bytes, and where the next one begins is not known");
    return false;
  }
  const std::span<const uint8_t> record = window_.Peek(header.size);
  if (record.size() < header.size) {
    if (!window_.status().ok()) return false;
    DropRest(offset, "the recording ends within a record");
    return false;
  }
  const uint64_t trailing = TrailingBytes(record, header.type);
  OnRecord(record, offset);
  window_.Skip(header.size);
  if (trailing == 0) return true;
  const uint64_t skipped = window_.Skip(trailing);
  if (skipped == trailing) return true;
  file_.summary.AddProblem(
      offset, skipped,
      "the recording ends within what follows its record " + PerfRecordName(header.type));
  return false;
}

bool PerfDataRun::ReadOversizedBlock() {
  const uint64_t offset = window_.position();
  const std::span<const uint8_t> start = window_.Peek(kPerfCompressed2Bytes);
  const bool was_searched = offset < oversized_end_ || offset < oversized_searched_;
  if (was_searched || start.size() < kPerfCompressed2Bytes) return false;
  const uint64_t all_bytes = OversizedBytes(start, order_);
  if (all_bytes == 0) return false;
  const std::span<const uint8_t> ahead = window_.Peek(kOversizedLookAhead);
  const size_t size = FirstRecordBytes(ahead, all_bytes, order_);
  if (size == 0) {
    oversized_searched_ = offset + all_bytes;
    return false;
  }
  oversized_end_ = offset + all_bytes;
  ++counts_[kPerfCompressed2];
  OnCompressed(ahead.first(size).subspan(kPerfCompressed2Bytes), offset);
  window_.Skip(size);
  return true;
}

uint64_t PerfDataRun::TrailingBytes(std::span<const uint8_t> record, uint32_t type) const {
  RecordCursor cursor(record.subspan(kHeaderBytes), order_);
  if (type == kPerfAuxtrace) {
    uint64_t size;
    return cursor.Read(&size) ? size : 0;
  }
  if (type == kPerfHeaderTracingData) {
    uint32_t size;
    return cursor.Read(&size) ? RoundUpTo8(size) : 0;
  }
  return 0;
}

void PerfDataRun::OnRecord(std::span<const uint8_t> record, uint64_t offset) {
  const uint32_t type = RecordHeader(record, order_).type;
  if (type < kCountedTypes) {
    ++counts_[type];
  } else {
    ++file_.summary.records[type];
  }
  if (type < kPerfFirstUserRecord) {
    delivery_.Take(record, offset);
  } else {
    OnUserRecord(record, type, offset);
  }
}

void PerfDataRun::Skip(uint32_t type) { ++file_.summary.skipped_records[type]; }

void PerfDataRun::DropRecord(std::span<const uint8_t> record, uint64_t offset, const char* why) {
  delivery_.Drop(record, offset, why);
}

void PerfDataRun::OnUserRecord(std::span<const uint8_t> record, uint32_t type, uint64_t offset) {
  switch (type) {
    case kPerfHeaderAttr:
      return OnHeaderAttr(record, offset);
    case kPerfHeaderEventType:
      if (!NameEventsOfType(record.subspan(kHeaderBytes), order_, &file_.events)) {
        DropRecord(record, offset, "is too short for its fields");
      }
      return;
    case kPerfHeaderBuildId: {
      PerfDataHeader::FileBuildId build_id;
      if (!ParseBuildId(record, order_, &build_id)) {
        return DropRecord(record, offset, "is too short for its fields");
      }
      file_.header.build_ids.push_back(std::move(build_id));
      return;
    }
    case kPerfFinishedRound:
      return delivery_.FinishRound();
    case kPerfEventUpdate:
      return OnEventUpdate(record, offset);
    case kPerfHeaderFeature:
      return OnHeaderFeature(record, offset);
    case kPerfCompressed:
      return OnCompressed(record.subspan(kHeaderBytes), offset);
    case kPerfCompressed2:
      return OnCompressed2(record, offset);
    default:
      return Skip(type);
  }
}

void PerfDataRun::OnHeaderAttr(std::span<const uint8_t> record, uint64_t offset) {
  const std::span<const uint8_t> body = record.subspan(kHeaderBytes);
  const std::optional<perf_event_attr> attr = ParseAttr(body, order_);
  if (!attr.has_value()) return DropRecord(record, offset, "is too short for its fields");
  const size_t attr_size = std::max<size_t>(attr->size, PERF_ATTR_SIZE_VER0);
  if (attr_size > body.size()) return DropRecord(record, offset, "is too short for its fields");
  const U64View ids(body.subspan(attr_size), order_);
  file_.events.Add(*attr, std::vector<uint64_t>(ids.begin(), ids.end()));
}

void PerfDataRun::OnEventUpdate(std::span<const uint8_t> record, uint64_t offset) {
  constexpr uint64_t kName = 2;
  RecordCursor cursor(record.subspan(kHeaderBytes), order_);
  uint64_t what, id;
  if (!cursor.Read(&what) || !cursor.Read(&id)) {
    return DropRecord(record, offset, "is too short for its fields");
  }
  if (what != kName) return Skip(kPerfEventUpdate);
  std::string name;
  if (!cursor.ReadCString(&name)) return DropRecord(record, offset, "has a name without an end");
  if (const std::optional<size_t> index = file_.events.IndexOfId(id)) {
    file_.events.SetName(*index, std::move(name));
  }
}

void PerfDataRun::OnHeaderFeature(std::span<const uint8_t> record, uint64_t offset) {
  RecordCursor cursor(record.subspan(kHeaderBytes), order_);
  uint64_t feature;
  std::span<const uint8_t> bytes;
  if (!cursor.Read(&feature) || !cursor.ReadBytes(cursor.remaining(), &bytes)) {
    return DropRecord(record, offset, "is too short for its fields");
  }
  if (feature >= kPerfFeatureBits || !IsKnownFeature(static_cast<PerfFeature>(feature))) {
    return Skip(kPerfHeaderFeature);
  }
  if (!ParseFeature(static_cast<PerfFeature>(feature), bytes, order_, &file_.header,
                    &file_.events)) {
    DropRecord(record, offset, "is too short for its feature");
  }
}

void PerfDataRun::OnCompressed2(std::span<const uint8_t> record, uint64_t offset) {
  if (offset < oversized_end_ && record.size() >= kPerfCompressed2Bytes) {
    return OnCompressed(record.subspan(kPerfCompressed2Bytes), offset);
  }
  RecordCursor cursor(record.subspan(kHeaderBytes), order_);
  uint64_t size;
  std::span<const uint8_t> block;
  if (!cursor.Read(&size) || !cursor.ReadBytes(size, &block)) {
    return DropRecord(record, offset, "is too short for its compressed bytes");
  }
  OnCompressed(block, offset);
}

void PerfDataRun::OnCompressed(std::span<const uint8_t> block, uint64_t offset) {
  if (is_decompressing_) {
    ++file_.summary.dropped_records;
    return file_.summary.AddProblem(offset, block.size(),
                                    "compressed records within compressed ones");
  }
  if (!zstd_.has_value()) {
    const StatusOr<const Libzstd*> libzstd = LoadLibzstd();
    zstd_status_ = libzstd.status();
    if (!libzstd.ok()) return;
    zstd_.emplace(**libzstd);
  }
  is_decompressing_ = true;
  is_stream_broken_ = false;
  const Status status = zstd_->Decompress(block, [this, offset](std::span<const uint8_t> bytes) {
    if (!is_stream_broken_) OnDecompressed(bytes, offset);
  });
  is_decompressing_ = false;
  if (status.ok()) return;
  decompressed_.clear();
  ++file_.summary.dropped_records;
  file_.summary.AddProblem(offset, block.size(), "compressed records: " + status.message());
}

void PerfDataRun::OnDecompressed(std::span<const uint8_t> bytes, uint64_t offset) {
  decompressed_.insert(decompressed_.end(), bytes.begin(), bytes.end());
  std::span<const uint8_t> rest(decompressed_);
  while (rest.size() >= kHeaderBytes) {
    const perf_event_header header = RecordHeader(rest, order_);
    if (header.size < kHeaderBytes || header.type > kMaxType) {
      ++file_.summary.dropped_records;
      file_.summary.AddProblem(offset, rest.size(),
                               "compressed records: a size that makes no sense");
      decompressed_.clear();
      is_stream_broken_ = true;
      return;
    }
    if (rest.size() < header.size) break;
    OnRecord(rest.first(header.size), offset);
    rest = rest.subspan(header.size);
  }
  decompressed_.erase(decompressed_.begin(),
                      decompressed_.end() - static_cast<std::ptrdiff_t>(rest.size()));
}

}  // namespace hbbp
