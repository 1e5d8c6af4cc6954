// What is fed comes in by FeedRecords, FeedSamples, FeedBursts and FeedEvents. What has a time
// waits in a RecordDelivery, next to the records of perf, until nothing earlier can come; then
// Deliver, or PerfRecordImport for records, makes events of it for the sink. A session, or Snapshot
// of a feed that counts by itself, reads what was counted.
#include "session/feed.h"

#include <linux/perf_event.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "perf/branch_stack.h"
#include "perf/cpu_events.h"
#include "perf/mmap_mapping.h"
#include "perf/perf_abi.h"
#include "perf/records.h"
#include "session/cancellable_lock.h"
#include "session/kernel_name.h"
#include "session/pmu_types.h"

namespace hbbp {
namespace {

// Larger types are not records.
constexpr uint32_t kMaxType = 0xffff;
// Events of decoded samples have indices beyond those of records.
constexpr size_t kFirstSampleEvent = size_t{1} << 32;

std::string IdOfThisCpu() {
  const CpuIdentity& cpu = ThisCpu();
  return cpu.vendor + "," + std::to_string(cpu.family) + "," + std::to_string(cpu.model);
}

ImportOptions FilesOf(const FeedOptions& options) {
  ImportOptions files = options.files;
  files.is_this_machine = options.host.empty();
  if (!files.is_this_machine) files.memory_nodes = nullptr;
  return files;
}

DeliveryOptions WithMemory(DeliveryOptions options, CountedMemory* memory) {
  LimitWaiting(memory, &options);
  return options;
}

}  // namespace

Feed::OwnCounts::OwnCounts(const FeedOptions& given)
    : options(given),
      start_time_ns(ClockNs(CLOCK_REALTIME)),
      log(given.log),
      memory(given.allocator, given.max_memory),
      importer(FilesOf(given), &memory) {}

FeedTarget Feed::OwnCounts::Target() {
  return {&mutex, &importer,
          [this](SourceRecord source) { return importer.AddSource(std::move(source)); }, &log,
          &memory};
}

Feed::Feed(const FeedOptions& options) : Feed(new OwnCounts(options), Own()) {
  SessionRegistry::Get().Add(this);
}

Feed::Feed(OwnCounts* own, Own)
    : Feed(std::unique_ptr<OwnCounts>(own), own->Target(), own->options.delivery) {}

Feed::Feed(const FeedTarget& target, const DeliveryOptions& delivery)
    : Feed(nullptr, target, delivery) {}

Feed::Feed(std::unique_ptr<OwnCounts> own, const FeedTarget& target,
           const DeliveryOptions& delivery)
    : own_(std::move(own)),
      log_(*target.log),
      mutex_(*target.mutex),
      events_(ByteOrder::kNative),
      import_(&events_, &header_,
              {target.sink,
               [this, add = target.add_source](SourceRecord source) {
                 new_sources_.push_back(source);
                 return add(std::move(source));
               },
               own_ != nullptr ? &own_->importer.locator() : nullptr},
              EbsMethod::kAuto),
      delivery_(&events_, &import_, &summary_, WithMemory(delivery, target.memory)) {
  header_.cpu_id = is_this_machine() ? IdOfThisCpu() : own_->options.cpu_id;
  delivery_.on_other = [this](std::span<const uint8_t> bytes) {
    VisitPacked(bytes, [this](const auto& item) { Deliver(item); });
  };
}

Feed::~Feed() {
  if (own_ != nullptr) SessionRegistry::Get().Remove(this);
}

StatusOr<uint32_t> Feed::AddRecordSource(std::span<const uint8_t> attr, std::vector<uint64_t> ids,
                                         std::string name) {
  const std::optional<perf_event_attr> parsed = ParseAttr(attr, ByteOrder::kNative);
  if (!parsed.has_value()) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "a perf_event_attr of %zu bytes, whose size field is too small or missing: "
                      "the oldest has %d",
                      attr.size(), PERF_ATTR_SIZE_VER0);
  }
  std::unique_lock lock(mutex_);
  HBBP_RETURN_IF_ERROR(CheckOpen());
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

Status Feed::AddIds(uint32_t source, std::span<const uint64_t> ids) {
  std::lock_guard lock(mutex_);
  HBBP_RETURN_IF_ERROR(CheckOpen());
  HBBP_RETURN_IF_ERROR(CheckSource(source));
  if (sources_[source].kind != SourceKind::kNone) {
    return MakeStatus(StatusCode::kInvalidArgument, "source %u has decoded samples, not records",
                      source);
  }
  events_.AddIds(sources_[source].event->index, ids);
  return OkStatus();
}

StatusOr<uint32_t> Feed::AddSampleSource(const SourceRecord& source, IbsKind ibs) {
  std::unique_lock lock(mutex_);
  HBBP_RETURN_IF_ERROR(CheckOpen());
  PerfEvent& event = sample_events_.emplace_back();
  event.index = kFirstSampleEvent + sample_events_.size();
  event.name = source.event_name;
  event.attr.sample_type = PERF_SAMPLE_PERIOD;
  event.attr.sample_period = source.period;
  import_.AddSource(event, source, ibs);
  return EndAdding(std::move(lock), {&event, source.kind});
}

uint32_t Feed::EndAdding(std::unique_lock<std::mutex> lock, const Source& source) {
  sources_.push_back(source);
  const auto index = static_cast<uint32_t>(sources_.size() - 1);
  for (const SourceRecord& added : new_sources_) messages_.LogSource(added);
  new_sources_.clear();
  (void)EndCall(std::move(lock));
  return index;
}

Status Feed::EndCall(std::unique_lock<std::mutex> lock) {
  if (log_.has_listener()) {
    messages_.LogRecords(summary_, import_);
    if (own_ != nullptr) messages_.LogCounts(own_->importer);
  }
  lock.unlock();
  log_.Flush();
  return OkStatus();
}

Status Feed::CheckOpen() const {
  if (!is_closed_) return OkStatus();
  return MakeStatus(StatusCode::kInvalidState, "the source of this feed was stopped");
}

Status Feed::CheckSource(uint32_t source) const {
  if (source < sources_.size()) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "source %u of %zu", source, sources_.size());
}

Status Feed::CheckSampleSource(uint32_t source, bool has_bursts) const {
  HBBP_RETURN_IF_ERROR(CheckSource(source));
  const SourceKind kind = sources_[source].kind;
  if (kind == SourceKind::kNone) {
    return MakeStatus(StatusCode::kInvalidArgument, "source %u has records, not decoded samples",
                      source);
  }
  if (has_bursts == (kind == SourceKind::kSwbt)) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument,
                    has_bursts ? "source %u has samples, not the bursts of a tracer"
                               : "source %u has the bursts of a tracer, not samples",
                    source);
}

SourceKind Feed::KindOfSource(uint32_t source) const {
  std::lock_guard lock(mutex_);
  return source < sources_.size() ? sources_[source].kind : SourceKind::kNone;
}

size_t Feed::source_count() const {
  std::lock_guard lock(mutex_);
  return sources_.size();
}

Status Feed::FeedRecords(std::span<const uint8_t> bytes, size_t* consumed) {
  std::unique_lock lock(mutex_);
  *consumed = 0;
  HBBP_RETURN_IF_ERROR(CheckOpen());
  if (events_.events().empty()) {
    return MakeStatus(StatusCode::kInvalidState,
                      "no source has a perf_attr, which says how records are laid out");
  }
  std::span<const uint8_t> rest = bytes;
  while (rest.size() >= sizeof(perf_event_header)) {
    const perf_event_header header = RecordHeader(rest);
    if (header.size < sizeof(perf_event_header) || header.type > kMaxType) {
      ++summary_.dropped_records;
      summary_.AddProblem(fed_bytes_, rest.size(), "what was fed is not a record");
      (void)EndCall(std::move(lock));
      return MakeStatus(StatusCode::kBadFormat,
                        "byte %zu of %zu: type %u, size %u is not a record; what came before was "
                        "taken: go on at a record",
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

void Feed::TakeRecord(std::span<const uint8_t> record, uint64_t offset) {
  const uint32_t type = RecordHeader(record).type;
  if (type == PERF_RECORD_SAMPLE) ++samples_;
  if (type < kPerfFirstUserRecord) return delivery_.Take(record, offset);
  if (type == kPerfFinishedRound) return delivery_.FinishRound();
  ++summary_.skipped_records[type];
}

template <typename Item>
void Feed::Take(const Item& item) {
  if (!delivery_.Waits(item.time_ns)) return Deliver(item);
  Pack(item, &packed_);
  delivery_.TakeOther(packed_, item.time_ns);
}
template void Feed::Take(const FeedSample&);
template void Feed::Take(const FeedBurst&);
template void Feed::Take(const FeedEvent&);

void Feed::Deliver(const FeedSample& sample) {
  const PerfEvent& event = *sources_[sample.source].event;
  IpSample ip;
  ip.ip = {sample.ip};
  ip.pid = sample.pid;
  ip.tid = sample.tid;
  ip.time_ns = sample.time_ns;
  ip.period = sample.period != 0 ? sample.period : event.attr.sample_period;
  import_.AddSample(
      event, ip,
      BranchStack(sample.branches, BranchStack::kNoHardwareIndex, {}, ByteOrder::kNative),
      sample.ibs);
}

void Feed::Deliver(const FeedBurst& burst) {
  const PerfEvent& event = *sources_[burst.source].event;
  BurstSample sample;
  sample.pid = burst.pid;
  sample.tid = burst.tid;
  sample.time_ns = burst.time_ns;
  sample.period = burst.period != 0 ? burst.period : event.attr.sample_period;
  sample.extent = static_cast<double>(burst.extent);
  sample.branches = burst.branches;
  import_.AddBurst(event, sample);
}

void Feed::Deliver(const FeedEvent& event) {
  EventSink* const sink = import_.sink();
  switch (event.kind) {
    case FeedEventKind::kMapping: {
      MappingEvent mapping;
      mapping.pid = event.pid;
      mapping.start = {event.address};
      mapping.end = {event.address + std::min(event.size, UINT64_MAX - event.address)};
      mapping.offset = {event.file_offset};
      mapping.device = event.device;
      mapping.inode = event.inode;
      mapping.build_id.assign(event.build_id.begin(), event.build_id.end());
      mapping.path = event.name;
      mapping.time_ns = event.time_ns == kNoTime ? 0 : event.time_ns;
      return sink->OnMapping(std::move(mapping));
    }
    case FeedEventKind::kCode:
      return sink->OnCode({event.pid,
                           {event.address},
                           event.size,
                           event.code,
                           std::string(event.name),
                           event.time_ns,
                           {}});
    case FeedEventKind::kData:
      return sink->OnData({event.pid,
                           {event.address},
                           event.size,
                           event.name,
                           event.time_ns == kNoTime ? 0 : event.time_ns});
    case FeedEventKind::kExec:
      sink->OnExec(event.pid);
      if (event.name.empty()) return;
      [[fallthrough]];
    case FeedEventKind::kThreadName:
      return sink->OnThreadName(event.pid, event.tid, std::string(event.name));
    case FeedEventKind::kExit:
      return sink->OnExit(event.pid);
    case FeedEventKind::kFork:
      return sink->OnFork({event.pid, event.tid, event.parent_pid, event.parent_tid});
    case FeedEventKind::kBuildId:
      return sink->OnBuildId(std::string(event.name),
                             {event.build_id.begin(), event.build_id.end()});
    case FeedEventKind::kLost:
      return import_.AddLost(*sources_[event.source].event, event.count);
    case FeedEventKind::kThrottled:
      return import_.AddThrottled(*sources_[event.source].event);
    case FeedEventKind::kNone:
      return;
  }
}

Status Feed::FinishRound() {
  std::unique_lock lock(mutex_);
  HBBP_RETURN_IF_ERROR(CheckOpen());
  delivery_.FinishRound();
  return EndCall(std::move(lock));
}

Status Feed::FlushUpTo(uint64_t time_ns) {
  std::unique_lock lock(mutex_);
  HBBP_RETURN_IF_ERROR(CheckOpen());
  delivery_.FlushUpTo(time_ns);
  return EndCall(std::move(lock));
}

void Feed::Close() {
  if (!is_closed_) delivery_.FlushUpTo(UINT64_MAX);
  is_closed_ = true;
}

ProfileData Feed::Snapshot(const Work& work) {
  constexpr uint64_t kCounted = 8, kAll = 10;
  CancelCheck check(work.cancel);
  CancelCheck* const asked = work.cancel != nullptr ? &check : nullptr;
  ReportOrThrow(work, 0, kAll);
  // Progress is reported without the lock: what is called there may fork, which takes it.
  std::unique_lock lock(mutex_, std::defer_lock);
  LockUnlessCancelled(work.cancel, &lock);
  import_.ReportStatistics();
  ProfileData data = own_->importer.Snapshot(asked);
  CompleteImport(summary_, import_, own_->importer, &data);
  const uint64_t waiting = delivery_.waiting();
  lock.unlock();
  ReportOrThrow(work, kCounted, kAll);
  if (own_->options.find_files) own_->options.find_files(&data, asked);
  if (waiting != 0 && !data.sources.empty()) {
    AppendNote(std::to_string(waiting) +
                   " records were fed that wait for the end of a round and are not counted yet",
               &data.sources.front().note);
  }
  data.start_time_ns = own_->start_time_ns;
  data.command = own_->options.command;
  data.host = is_this_machine() ? KernelName() : own_->options.host;
  ReportOrThrow(work, kAll, kAll);
  return data;
}

SessionInfo Feed::Info() {
  std::lock_guard lock(mutex_);
  const PerfRecordImport::Totals totals = import_.totals();
  SessionInfo info;
  info.samples = samples_;
  info.lost = totals.lost;
  info.throttled = totals.throttled;
  info.duration_ns = totals.last_time_ns - totals.first_time_ns;
  info.waiting = delivery_.waiting();
  info.dropped = summary_.dropped_records + own_->importer.dropped().samples;
  info.memory_bytes = own_->memory.used();
  info.peak_memory_bytes = own_->memory.peak();
  return info;
}

}  // namespace hbbp
