#include "session/fed_session.h"

#include <linux/perf_event.h>
#include <time.h>

#include <utility>

#include "base/clock.h"
#include "perf/branch_stack.h"
#include "perf/cpu_events.h"
#include "perf/perf_abi.h"
#include "perf/records.h"
#include "perf/sample_record.h"
#include "session/cancellable_lock.h"
#include "session/kernel_name.h"
#include "session/pmu_types.h"

namespace hbbp {
namespace {

// Larger types are no records.
constexpr uint32_t kMaxType = 0xffff;
// Events of decoded samples have indices beyond those of records.
constexpr size_t kFirstSampleEvent = size_t{1} << 32;

std::string IdOfThisCpu() {
  const CpuIdentity cpu = ThisCpu();
  return cpu.vendor + "," + std::to_string(cpu.family) + "," + std::to_string(cpu.model);
}

DeliveryOptions DeliveryOf(const FeedOptions& options, CountedMemory* memory) {
  DeliveryOptions delivery = options.delivery;
  LimitWaiting(memory, &delivery);
  return delivery;
}

ImportOptions FilesOf(const FeedOptions& options) {
  ImportOptions files = options.files;
  files.is_this_machine = options.host.empty();
  return files;
}

}  // namespace

FedSession::FedSession(const FeedOptions& options)
    : options_(options),
      start_time_ns_(ClockNs(CLOCK_REALTIME)),
      log_(options.log),
      memory_(options.allocator, options.max_memory),
      events_(ByteOrder::kNative),
      importer_(FilesOf(options), &memory_),
      files_(FilesOf(options)),
      import_(&events_, &header_, &importer_, EbsMethod::kAuto),
      delivery_(&events_, &import_, &summary_, DeliveryOf(options, &memory_)) {
  header_.cpu_id = is_this_machine() ? IdOfThisCpu() : options.cpu_id;
  delivery_.on_other = [this](std::span<const uint8_t> bytes) {
    VisitPacked(bytes, [this](const auto& item) { Deliver(item); });
  };
  SessionRegistry::Get().Add(this);
}

FedSession::~FedSession() { SessionRegistry::Get().Remove(this); }

StatusOr<uint32_t> FedSession::AddRecordSource(std::span<const uint8_t> attr,
                                               std::vector<uint64_t> ids, std::string name) {
  const std::optional<perf_event_attr> parsed = ParseAttr(attr, ByteOrder::kNative);
  if (!parsed.has_value()) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "a perf_event_attr of %zu bytes, whose size field is too small or missing: "
                      "the oldest has %d",
                      attr.size(), PERF_ATTR_SIZE_VER0);
  }
  std::unique_lock lock(mutex_);
  if (is_this_machine() && parsed->type >= PERF_TYPE_MAX && !knows_pmus_) {
    knows_pmus_ = true;
    events_.NamePmus(PmuTypes());
  }
  const bool has_many = !events_.events().empty();
  events_.Add(*parsed, std::move(ids));
  const PerfEvent& event = events_.events().back();
  if (!name.empty()) events_.SetName(event.index, std::move(name));
  if (has_many && event.sample_id_offset == 0) {
    summary_.AddProblem(fed_bytes_, 0,
                        event.name + " has no sample id, so its samples are taken for those of " +
                            events_.events().front().name);
  }
  import_.AddSourcesOf(event);
  return EndAdding(std::move(lock), {&event, SourceKind::kNone});
}

Status FedSession::AddIds(uint32_t source, std::span<const uint64_t> ids) {
  std::lock_guard lock(mutex_);
  HBBP_RETURN_IF_ERROR(CheckSource(source));
  if (sources_[source].kind != SourceKind::kNone) {
    return MakeStatus(StatusCode::kInvalidArgument, "source %u has decoded samples, not records",
                      source);
  }
  events_.AddIds(sources_[source].event->index, ids);
  return OkStatus();
}

uint32_t FedSession::AddSampleSource(const SourceRecord& source, IbsKind ibs) {
  std::unique_lock lock(mutex_);
  PerfEvent& event = sample_events_.emplace_back();
  event.index = kFirstSampleEvent + sample_events_.size();
  event.name = source.event_name;
  event.attr.sample_type = PERF_SAMPLE_PERIOD;
  event.attr.sample_period = source.period;
  import_.AddSource(event, source, ibs);
  return EndAdding(std::move(lock), {&event, source.kind});
}

uint32_t FedSession::EndAdding(std::unique_lock<std::mutex> lock, const Source& source) {
  sources_.push_back(source);
  const auto index = static_cast<uint32_t>(sources_.size() - 1);
  for (; told_sources_ < importer_.source_count(); ++told_sources_) {
    messages_.TellSource(importer_.source(told_sources_));
  }
  (void)EndCall(std::move(lock));
  return index;
}

Status FedSession::EndCall(std::unique_lock<std::mutex> lock) {
  if (options_.log.log) messages_.Tell(summary_, import_, importer_);
  lock.unlock();
  log_.Flush();
  return OkStatus();
}

Status FedSession::CheckSource(uint32_t source) const {
  if (source < sources_.size()) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "source %u of %zu", source, sources_.size());
}

Status FedSession::CheckSampleSource(uint32_t source) const {
  HBBP_RETURN_IF_ERROR(CheckSource(source));
  if (sources_[source].kind != SourceKind::kNone) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "source %u has records, not decoded samples",
                    source);
}

SourceKind FedSession::KindOfSource(uint32_t source) const {
  std::lock_guard lock(mutex_);
  return source < sources_.size() ? sources_[source].kind : SourceKind::kNone;
}

size_t FedSession::source_count() const {
  std::lock_guard lock(mutex_);
  return sources_.size();
}

Status FedSession::FeedRecords(std::span<const uint8_t> bytes, size_t* consumed) {
  std::unique_lock lock(mutex_);
  *consumed = 0;
  if (events_.events().empty()) {
    return MakeStatus(StatusCode::kInvalidState,
                      "no source has a perf_attr, which says how records are laid out");
  }
  std::span<const uint8_t> rest = bytes;
  while (rest.size() >= sizeof(perf_event_header)) {
    const perf_event_header header = HeaderOf(rest);
    if (header.size < sizeof(perf_event_header) || header.type > kMaxType) {
      ++summary_.dropped_records;
      summary_.AddProblem(fed_bytes_, rest.size(), "what was fed is no record");
      (void)EndCall(std::move(lock));
      return MakeStatus(StatusCode::kBadFormat,
                        "byte %zu of %zu: type %u, size %u is no record, and where the next one "
                        "begins is not known; what came before was taken: go on at a record",
                        *consumed, bytes.size(), header.type, header.size);
    }
    if (rest.size() < header.size) break;
    TakeRecord(rest.first(header.size), fed_bytes_);
    rest = rest.subspan(header.size);
    *consumed += header.size;
    fed_bytes_ += header.size;
  }
  return EndCall(std::move(lock));
}

void FedSession::TakeRecord(std::span<const uint8_t> record, uint64_t offset) {
  const uint32_t type = HeaderOf(record).type;
  if (type == PERF_RECORD_SAMPLE) ++samples_;
  if (type < kPerfFirstUserRecord) return delivery_.Take(record, offset);
  if (type == kPerfFinishedRound) return delivery_.FinishRound();
  ++summary_.skipped_records[type];
}

template <typename Item>
void FedSession::Take(const Item& item) {
  if (!delivery_.Waits(item.time_ns)) return Deliver(item);
  Pack(item, &packed_);
  delivery_.TakeOther(packed_, item.time_ns);
}
template void FedSession::Take(const FedSample&);
template void FedSession::Take(const FedEvent&);

void FedSession::Deliver(const FedSample& sample) {
  const PerfEvent& event = *sources_[sample.source].event;
  SampleRecord record;
  const bool in_kernel = IsKernelAddress(sample.ip);
  record.misc = in_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
  record.pid = sample.pid;
  record.tid = sample.tid;
  record.time = sample.time_ns;
  record.ip = sample.ip;
  record.period = sample.period != 0 ? sample.period : event.attr.sample_period;
  record.raw = sample.ibs;
  record.branches =
      BranchStack(sample.branches, BranchStack::kNoHardwareIndex, {}, ByteOrder::kNative);
  import_.OnSample(event, record);
}

void FedSession::Deliver(const FedEvent& event) {
  SampleId sample_id;
  sample_id.time = event.time_ns;
  switch (event.kind) {
    case FedEventKind::kMapping: {
      MmapRecord mmap;
      mmap.misc = PERF_RECORD_MISC_USER;
      mmap.pid = event.pid;
      mmap.tid = event.tid;
      mmap.address = event.address;
      mmap.size = event.size;
      mmap.file_offset = event.file_offset;
      mmap.device = event.device;
      mmap.inode = event.inode;
      mmap.build_id.assign(event.build_id.begin(), event.build_id.end());
      mmap.path = event.name;
      mmap.sample_id = sample_id;
      return import_.OnMmap(mmap);
    }
    case FedEventKind::kCode:
      return importer_.AddCode(event.pid, {event.address}, event.size, event.code,
                               std::string(event.name), event.time_ns);
    case FedEventKind::kExec:
    case FedEventKind::kExit:
      importer_.AddExec(event.pid);
      if (event.kind == FedEventKind::kExit || event.name.empty()) return;
      [[fallthrough]];
    case FedEventKind::kThreadName:
      return importer_.NameThread(event.pid, event.tid, std::string(event.name));
    case FedEventKind::kFork: {
      TaskRecord task;
      task.pid = event.pid;
      task.tid = event.tid;
      task.parent_pid = event.parent_pid;
      task.parent_tid = event.parent_tid;
      task.sample_id = sample_id;
      return import_.OnFork(task);
    }
    case FedEventKind::kBuildId:
      return importer_.SetBuildId(std::string(event.name),
                                  {event.build_id.begin(), event.build_id.end()});
    case FedEventKind::kLost:
      return import_.AddLost(*sources_[event.source].event, event.count);
    case FedEventKind::kThrottled:
      return import_.AddThrottled(*sources_[event.source].event);
    case FedEventKind::kNone:
      return;
  }
}

void FedSession::FinishRound() {
  std::unique_lock lock(mutex_);
  delivery_.FinishRound();
  (void)EndCall(std::move(lock));
}

void FedSession::FlushUpTo(uint64_t time_ns) {
  std::unique_lock lock(mutex_);
  delivery_.FlushUpTo(time_ns);
  (void)EndCall(std::move(lock));
}

ProfileData FedSession::Snapshot(const Work& work) {
  constexpr uint64_t kCounted = 8, kAll = 10;
  CancelCheck check(work.cancel);
  CancelCheck* const asked = work.cancel != nullptr ? &check : nullptr;
  std::unique_lock lock(mutex_, std::defer_lock);
  LockUnlessCancelled(work.cancel, &lock);
  ReportOrThrow(work, 0, kAll);
  ProfileData data = importer_.Snapshot(asked);
  ReportOrThrow(work, kCounted, kAll);
  import_.Complete(summary_, &data, asked);
  files_.Find(&data, nullptr, asked);
  if (delivery_.waiting() != 0 && !data.sources.empty()) {
    AppendNote(std::to_string(delivery_.waiting()) +
                   " records were fed that wait for the end of a round and are not counted yet",
               &data.sources.front().note);
  }
  data.start_time_ns = start_time_ns_;
  data.command = options_.command;
  data.host = is_this_machine() ? KernelName() : options_.host;
  ReportOrThrow(work, kAll, kAll);
  return data;
}

SessionInfo FedSession::Info() {
  std::lock_guard lock(mutex_);
  const PerfRecordImport::Totals totals = import_.totals();
  SessionInfo info;
  info.samples = samples_;
  info.lost = totals.lost;
  info.throttled = totals.throttled;
  info.duration_ns = totals.last_time_ns - totals.first_time_ns;
  info.waiting = delivery_.waiting();
  info.dropped = summary_.dropped_records + importer_.dropped().samples;
  info.memory_bytes = memory_.used();
  info.peak_memory_bytes = memory_.peak();
  return info;
}

}  // namespace hbbp
