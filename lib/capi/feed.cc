// The functions of feed.h. Each checks what the host passed, element by element and before anything
// is counted (Check says what is wrong with one), translates it (ReadSample, ReadBurst,
// ReadEvent; a static_assert for each constant), and hands it to hbbp::Feed (session/feed.h). The
// elements of arrays may be larger than this library knows them (Elements). A feed that
// hbbp_source_ops gets belongs to its session, and gives no snapshots (CheckOwn).
#include <hbbp/feed.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/threads.h"
#include "base/files.h"
#include "base/proc_path.h"
#include "capi/boundary.h"
#include "capi/feed_handle.h"
#include "capi/file_finder.h"
#include "capi/host_handle.h"
#include "capi/import_files.h"
#include "capi/kept_bursts.h"
#include "capi/profile_access.h"
#include "capi/slice_option.h"
#include "image/process_maps.h"
#include "perf/branch_stack.h"

using hbbp::Feed;
using hbbp::FeedBurst;
using hbbp::FeedEvent;
using hbbp::FeedEventKind;
using hbbp::FeedSample;
using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::SourceKind;
using hbbp::Status;
using hbbp::StatusCode;
using hbbp::TakenBranch;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(sizeof(hbbp_branch_entry) == hbbp::BranchStack::kEntryBytes);
static_assert(static_cast<int>(hbbp::IbsKind::kNone) == HBBP_IBS_NONE);
static_assert(static_cast<int>(hbbp::IbsKind::kOp) == HBBP_IBS_OP);
static_assert(static_cast<int>(hbbp::IbsKind::kFetch) == HBBP_IBS_FETCH);
static_assert(static_cast<int>(FeedEventKind::kMapping) == HBBP_FEED_MAPPING);
static_assert(static_cast<int>(FeedEventKind::kCode) == HBBP_FEED_CODE);
static_assert(static_cast<int>(FeedEventKind::kExec) == HBBP_FEED_EXEC);
static_assert(static_cast<int>(FeedEventKind::kFork) == HBBP_FEED_FORK);
static_assert(static_cast<int>(FeedEventKind::kExit) == HBBP_FEED_EXIT);
static_assert(static_cast<int>(FeedEventKind::kThreadName) == HBBP_FEED_THREAD_NAME);
static_assert(static_cast<int>(FeedEventKind::kBuildId) == HBBP_FEED_BUILD_ID);
static_assert(static_cast<int>(FeedEventKind::kLost) == HBBP_FEED_LOST);
static_assert(static_cast<int>(FeedEventKind::kThrottled) == HBBP_FEED_THROTTLED);
static_assert(static_cast<int>(FeedEventKind::kData) == HBBP_FEED_DATA);
static_assert(HBBP_FEED_KERNEL_PID == hbbp::kKernelPid);

namespace {

// The sizes that the first version had.
constexpr size_t kSmallestSample = 72;
constexpr size_t kSmallestEvent = 112;
static_assert(sizeof(hbbp_feed_sample) == kSmallestSample);
static_assert(sizeof(hbbp_feed_event) == kSmallestEvent);

constexpr size_t kLongestName = 4096;
constexpr uint32_t kLongestBuildId = 64;
constexpr uint64_t kLargestCode = 256 << 20;

Status BadField(const char* what, const char* must) {
  return MakeStatus(StatusCode::kInvalidArgument, "%s: must be %s", what, must);
}

Status CheckOwn(const char* function, const hbbp_feed& feed) {
  if (feed.owned != nullptr) return OkStatus();
  return MakeStatus(StatusCode::kInvalidState, "%s: the feed is a session's; ask the session",
                    function);
}

Status CheckElements(const char* function, const char* name, const void* elements, size_t count,
                     size_t size, size_t smallest) {
  if (elements == nullptr && count != 0) return NullArgument(function, name);
  if (size >= smallest && size <= 4096 && size % alignof(uint64_t) == 0) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument,
                    "%s: %zu as the size of an element of %s, which has at least %zu bytes and a "
                    "multiple of 8",
                    function, size, name, smallest);
}

// Reads an array whose elements may be larger than this library knows them.
template <typename Element>
class Elements {
 public:
  Elements(const Element* first, size_t size)
      : first_(reinterpret_cast<const unsigned char*>(first)), size_(size) {}

  Element operator[](size_t index) const {
    Element element;
    std::memcpy(&element, first_ + index * size_, sizeof(element));
    return element;
  }
  bool HasUnknownField(size_t index) const {
    for (size_t i = sizeof(Element); i < size_; ++i) {
      if (first_[index * size_ + i] != 0) return true;
    }
    return false;
  }

 private:
  const unsigned char* first_;
  size_t size_;
};

Status UnknownField(const char* function, const char* name, size_t index) {
  return MakeStatus(StatusCode::kVersion,
                    "%s: %s[%zu] has a field that libhbbp %s does not know; use a newer library or "
                    "leave the field 0",
                    function, name, index, HBBP_VERSION_STRING);
}

Status BadElement(const char* function, const char* name, size_t index, const Status& status) {
  return MakeStatus(StatusCode::kInvalidArgument, "%s: %s[%zu].%s", function, name, index,
                    status.message().c_str());
}

Status Bad(const char* field_and_reason) {
  return Status(StatusCode::kInvalidArgument, field_and_reason);
}

// BadElement adds to the message of these where the element is.
Status Check(const hbbp_feed_sample& sample, SourceKind kind) {
  if (sample.reserved != 0) return Bad("reserved: must be 0");
  if (sample.branch_count != 0) {
    if (!hbbp::HasStreams(kind)) return Bad("branch_count: must be 0 for a source of another kind");
    if (sample.branches == nullptr) return Bad("branches: is NULL");
    if (sample.branch_count > HBBP_MAX_FEED_BRANCHES)
      return Bad("branch_count: must be at most 65536");
  }
  if (sample.extent != 0 && kind != SourceKind::kSwbt) {
    return Bad("extent: must be 0 but for HBBP_SOURCE_SWBT");
  }
  if (sample.ibs_register_count != 0) {
    if (kind != SourceKind::kIbs)
      return Bad("ibs_register_count: must be 0 for another kind of source");
    if (sample.ibs_registers == nullptr) return Bad("ibs_registers: is NULL");
    if (sample.ibs_register_count > HBBP_MAX_IBS_REGISTERS) {
      return Bad("ibs_register_count: must be at most 32");
    }
  }
  return OkStatus();
}

constexpr bool IsOneOf(uint32_t kind, uint32_t kinds) { return (kinds >> kind & 1) != 0; }

// Other kinds do not look at these fields.
bool HasName(const hbbp_feed_event& event) {
  return event.name != nullptr &&
         IsOneOf(event.kind, 1u << HBBP_FEED_MAPPING | 1u << HBBP_FEED_CODE | 1u << HBBP_FEED_EXEC |
                                 1u << HBBP_FEED_THREAD_NAME | 1u << HBBP_FEED_BUILD_ID |
                                 1u << HBBP_FEED_DATA);
}

bool HasBuildId(const hbbp_feed_event& event) {
  return event.build_id_size != 0 &&
         IsOneOf(event.kind, 1u << HBBP_FEED_MAPPING | 1u << HBBP_FEED_BUILD_ID);
}

Status Check(const hbbp_feed_event& event, size_t source_count) {
  if (event.reserved != 0) return Bad("reserved: must be 0");
  if (event.kind < HBBP_FEED_MAPPING || event.kind > HBBP_FEED_DATA) {
    return Bad("kind: must be a HBBP_FEED_ value");
  }
  if (HasName(event) && ::strnlen(event.name, kLongestName + 1) > kLongestName) {
    return Bad("name: is longer than 4096 bytes");
  }
  if (HasBuildId(event)) {
    if (event.build_id_size > kLongestBuildId) return Bad("build_id_size: must be at most 64");
    if (event.build_id == nullptr) return Bad("build_id: is NULL");
  }
  switch (event.kind) {
    case HBBP_FEED_MAPPING:
    case HBBP_FEED_CODE:
    case HBBP_FEED_DATA:
      if (event.size == 0 || event.size > UINT64_MAX - event.address) {
        return Bad("size: must be at least 1, and reach no farther than the last address");
      }
      if (event.kind == HBBP_FEED_CODE && event.code != nullptr && event.size > kLargestCode) {
        return Bad("size: must be at most 256 MiB of code");
      }
      return OkStatus();
    case HBBP_FEED_THREAD_NAME:
    case HBBP_FEED_BUILD_ID:
      return event.name == nullptr ? Bad("name: is NULL") : OkStatus();
    case HBBP_FEED_LOST:
    case HBBP_FEED_THROTTLED:
      return event.source < source_count ? OkStatus() : Bad("source: there is none of this number");
    default:
      return OkStatus();
  }
}

FeedSample ReadSample(const hbbp_feed_sample& given, std::vector<uint8_t>* ibs) {
  FeedSample sample;
  sample.pid = given.pid;
  sample.tid = given.tid;
  sample.time_ns = given.time_ns;
  sample.ip = given.ip;
  sample.period = given.period;
  if (given.branch_count != 0) {
    sample.branches = {reinterpret_cast<const uint8_t*>(given.branches),
                       given.branch_count * sizeof(hbbp_branch_entry)};
  }
  if (given.ibs_register_count != 0) {
    const size_t register_bytes = given.ibs_register_count * sizeof(uint64_t);
    ibs->resize(sizeof(given.ibs_capabilities) + register_bytes);
    std::memcpy(ibs->data(), &given.ibs_capabilities, sizeof(given.ibs_capabilities));
    std::memcpy(ibs->data() + sizeof(given.ibs_capabilities), given.ibs_registers, register_bytes);
    sample.ibs = *ibs;
  }
  return sample;
}

FeedBurst ReadBurst(const hbbp_feed_sample& given, std::vector<TakenBranch>* branches) {
  FeedBurst burst;
  burst.pid = given.pid;
  burst.tid = given.tid;
  burst.time_ns = given.time_ns;
  burst.period = given.period;
  burst.extent = given.extent;
  branches->resize(given.branch_count);
  for (uint32_t i = 0; i < given.branch_count; ++i) {
    (*branches)[i] = {given.branches[i].from, given.branches[i].to};
  }
  burst.branches = *branches;
  return burst;
}

FeedEvent ReadEvent(const hbbp_feed_event& given) {
  FeedEvent event;
  event.kind = static_cast<FeedEventKind>(given.kind);
  event.pid = given.pid;
  event.tid = given.tid;
  event.parent_pid = given.parent_pid;
  event.parent_tid = given.parent_tid;
  event.source = given.source;
  event.time_ns = given.time_ns;
  event.address = given.address;
  event.size = given.size;
  event.file_offset = given.file_offset;
  event.device = given.device;
  event.inode = given.inode;
  event.count = given.count;
  if (HasName(given)) event.name = given.name;
  if (HasBuildId(given)) event.build_id = {given.build_id, given.build_id_size};
  if (given.kind == HBBP_FEED_CODE && given.code != nullptr) {
    event.code = {given.code, given.size};
  }
  return event;
}

Status Translate(const hbbp_feed_options& given, hbbp::FeedOptions* options) {
  HBBP_RETURN_IF_ERROR(CheckReserved("hbbp_feed_options.reserved", given.reserved));
  if (given.order != HBBP_FEED_BY_TIME && given.order != HBBP_FEED_AS_ADDED) {
    return BadField("hbbp_feed_options.order", "a hbbp_feed_order");
  }
  if (given.order == HBBP_FEED_AS_ADDED) {
    options->delivery.order = hbbp::DeliveryOptions::Order::kAsWritten;
  }
  constexpr uint64_t kDefaultWaitingBytes = 64 << 20;
  options->delivery.max_waiting_bytes =
      given.max_waiting_bytes != 0 ? given.max_waiting_bytes : kDefaultWaitingBytes;
  if (given.cpu_id != nullptr) options->cpu_id = given.cpu_id;
  if (!options->cpu_id.empty() && (given.host == nullptr || *given.host == '\0')) {
    return BadField("hbbp_feed_options.cpu_id", "NULL without a host, which is this machine");
  }
  if (given.command != nullptr) options->command = given.command;
  if (given.host != nullptr) options->host = given.host;
  HBBP_RETURN_IF_ERROR(hbbp::capi::CheckSlice("hbbp_feed_options", given.slice_ns));
  options->files.slice_ns = given.slice_ns;
  HBBP_RETURN_IF_ERROR(
      hbbp::capi::ReadKeptDetail("hbbp_feed_options", given.kept_burst_bytes, &options->files));
  HBBP_RETURN_IF_ERROR(ReadHost("hbbp_feed_options", given, options));
  HBBP_RETURN_IF_ERROR(ReadFiles("hbbp_feed_create", given.root, given.moved_files,
                                 given.moved_file_count, &options->files));
  options->find_files = hbbp::capi::FileFinder(options->files);
  return OkStatus();
}

Status AddRecordSource(const hbbp_feed_source& source, Feed* feed, uint32_t* index) {
  if (source.kind != 0 || source.event != 0 || source.ibs != 0 || source.include_kernel != 0 ||
      source.period != 0 || source.frequency_hz != 0) {
    return BadField("hbbp_feed_source.kind, event, ibs, include_kernel, period and frequency_hz",
                    "0 with a perf_attr, which says them");
  }
  if (source.perf_ids == nullptr && source.perf_id_count != 0) {
    return BadField("hbbp_feed_source.perf_id_count", "0 if perf_ids is NULL");
  }
  const auto* attr = static_cast<const uint8_t*>(source.perf_attr);
  HBBP_ASSIGN_OR_RETURN(
      *index, feed->AddRecordSource({attr, source.perf_attr_size},
                                    {source.perf_ids, source.perf_ids + source.perf_id_count},
                                    source.event_name != nullptr ? source.event_name : ""));
  return OkStatus();
}

Status AddSampleSource(const hbbp_feed_source& source, Feed* feed, uint32_t* index) {
  if (source.kind < HBBP_SOURCE_EBS || source.kind > HBBP_SOURCE_SWBT) {
    return BadField("hbbp_feed_source.kind",
                    "HBBP_SOURCE_EBS, _LBR, _IBS or _SWBT, or perf_attr be set for raw records");
  }
  if (source.event <= HBBP_EVENT_AUTO || source.event > HBBP_EVENT_UOPS) {
    return BadField("hbbp_feed_source.event", "a HBBP_EVENT_ value other than AUTO");
  }
  const bool is_ibs = source.kind == HBBP_SOURCE_IBS;
  if (is_ibs ? source.ibs != HBBP_IBS_OP && source.ibs != HBBP_IBS_FETCH
             : source.ibs != HBBP_IBS_NONE) {
    return BadField("hbbp_feed_source.ibs",
                    "HBBP_IBS_OP or HBBP_IBS_FETCH for HBBP_SOURCE_IBS, else 0");
  }
  if (source.include_kernel > 1) return BadField("hbbp_feed_source.include_kernel", "0 or 1");
  if (source.period != 0 && source.frequency_hz != 0) {
    return BadField("hbbp_feed_source.period", "0 with a frequency_hz");
  }
  if (source.perf_id_count != 0) return BadField("hbbp_feed_source.perf_id_count", "0");
  hbbp::SourceRecord record;
  record.kind = static_cast<SourceKind>(source.kind);
  record.event = static_cast<hbbp::EventKind>(source.event);
  record.period_mode =
      source.frequency_hz != 0 ? hbbp::PeriodMode::kByFrequency : hbbp::PeriodMode::kFixed;
  record.period = source.period;
  record.frequency_hz = source.frequency_hz;
  record.include_kernel = source.include_kernel != 0;
  if (source.event_name != nullptr) record.event_name = source.event_name;
  HBBP_ASSIGN_OR_RETURN(*index,
                        feed->AddSampleSource(record, static_cast<hbbp::IbsKind>(source.ibs)));
  return OkStatus();
}

Status AddEvents(const Elements<hbbp_feed_event>& events, size_t count, Feed* feed) {
  return feed->FeedEvents(count, [&](size_t i) { return ReadEvent(events[i]); });
}

// A thread whose name cannot be read has ended since it was listed.
std::string ReadThreadName(uint32_t pid, pid_t tid) {
  const std::string path = hbbp::ProcPath(static_cast<pid_t>(pid), tid, "comm");
  const hbbp::StatusOr<std::string> line = hbbp::ReadTextFile(path, kLongestName);
  return line.ok() ? line->substr(0, line->find('\n')) : "";
}

Status AddProcess(uint32_t pid, Feed* feed) {
  HBBP_ASSIGN_OR_RETURN(const std::vector<pid_t> threads,
                        hbbp::ListThreads(static_cast<pid_t>(pid)));
  HBBP_ASSIGN_OR_RETURN(const std::vector<hbbp::Mapping> mappings,
                        hbbp::ReadProcessMaps(static_cast<pid_t>(pid)));
  if (mappings.empty()) {
    return MakeStatus(StatusCode::kNotFound,
                      "process %u has no memory: it has ended, or is of the kernel", pid);
  }
  std::vector<hbbp_feed_event> events;
  hbbp_feed_event event = {};
  event.kind = HBBP_FEED_MAPPING;
  event.pid = pid;
  for (const hbbp::Mapping& mapping : mappings) {
    if (!mapping.executable) continue;
    event.tid = pid;
    event.address = mapping.start.value;
    event.size = mapping.size();
    event.file_offset = mapping.offset.value;
    event.device = makedev(mapping.device_major, mapping.device_minor);
    event.inode = mapping.inode;
    event.name = mapping.path.c_str();
    events.push_back(event);
  }
  HBBP_RETURN_IF_ERROR(AddEvents({events.data(), sizeof(event)}, events.size(), feed));
  event.kind = HBBP_FEED_THREAD_NAME;
  for (const pid_t tid : threads) {
    const std::string name = ReadThreadName(pid, tid);
    if (name.empty()) continue;
    event.tid = static_cast<uint32_t>(tid);
    event.name = name.c_str();
    HBBP_RETURN_IF_ERROR(AddEvents({&event, sizeof(event)}, 1, feed));
  }
  return OkStatus();
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_feed_create(const hbbp_feed_options* options, hbbp_feed** feed,
                                      hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (feed == nullptr) return NullArgument("hbbp_feed_create", "feed");
    HBBP_INIT(hbbp_feed_options, full);
    if (options != nullptr) {
      HBBP_RETURN_IF_ERROR(ReadInput(options, "hbbp_feed_options", &full));
    }
    hbbp::FeedOptions chosen;
    HBBP_RETURN_IF_ERROR(Translate(full, &chosen));
    *feed = new hbbp_feed(std::make_unique<Feed>(chosen));
    return OkStatus();
  });
}

HBBP_API void hbbp_feed_destroy(hbbp_feed* feed) { delete feed; }

HBBP_API hbbp_status hbbp_feed_add_source(hbbp_feed* feed, const hbbp_feed_source* source,
                                          uint32_t* index, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (feed == nullptr) return NullArgument("hbbp_feed_add_source", "feed");
    if (source == nullptr) return NullArgument("hbbp_feed_add_source", "source");
    hbbp_feed_source full;
    HBBP_RETURN_IF_ERROR(ReadInput(source, "hbbp_feed_source", &full));
    uint32_t added = 0;
    HBBP_RETURN_IF_ERROR(full.perf_attr != nullptr ? AddRecordSource(full, &feed->feed, &added)
                                                   : AddSampleSource(full, &feed->feed, &added));
    if (index != nullptr) *index = added;
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_feed_add_perf_ids(hbbp_feed* feed, uint32_t index,
                                            const uint64_t* perf_ids, size_t perf_id_count,
                                            hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (feed == nullptr) return NullArgument("hbbp_feed_add_perf_ids", "feed");
    if (perf_ids == nullptr) return NullArgument("hbbp_feed_add_perf_ids", "perf_ids");
    return feed->feed.AddIds(index, {perf_ids, perf_id_count}).Annotate("hbbp_feed_add_perf_ids");
  });
}

HBBP_API hbbp_status hbbp_feed_add_perf_records(hbbp_feed* feed, const void* records, size_t bytes,
                                                size_t* consumed, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kName[] = "hbbp_feed_add_perf_records";
    if (feed == nullptr) return NullArgument(kName, "feed");
    if (records == nullptr && bytes != 0) return NullArgument(kName, "records");
    size_t taken = 0;
    const Status status =
        feed->feed.FeedRecords({static_cast<const uint8_t*>(records), bytes}, &taken);
    if (consumed != nullptr) *consumed = taken;
    return status.Annotate(kName);
  });
}

HBBP_API hbbp_status hbbp_feed_add_samples(hbbp_feed* feed, uint32_t index,
                                           const hbbp_feed_sample* samples, size_t count,
                                           size_t sample_size, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kName[] = "hbbp_feed_add_samples";
    if (feed == nullptr) return NullArgument(kName, "feed");
    HBBP_RETURN_IF_ERROR(
        CheckElements(kName, "samples", samples, count, sample_size, kSmallestSample));
    const SourceKind kind = feed->feed.KindOfSource(index);
    if (kind == SourceKind::kNone) count = 0;  // there is no such source, which is said below
    const Elements<hbbp_feed_sample> all(samples, sample_size);
    for (size_t i = 0; i < count; ++i) {
      if (all.HasUnknownField(i)) return UnknownField(kName, "samples", i);
      const Status status = Check(all[i], kind);
      if (!status.ok()) return BadElement(kName, "samples", i, status);
    }
    if (kind == SourceKind::kSwbt) {
      std::vector<TakenBranch> branches;
      return feed->feed
          .FeedBursts(index, count, [&](size_t i) { return ReadBurst(all[i], &branches); })
          .Annotate(kName);
    }
    std::vector<uint8_t> ibs;
    return feed->feed.FeedSamples(index, count, [&](size_t i) { return ReadSample(all[i], &ibs); })
        .Annotate(kName);
  });
}

HBBP_API hbbp_status hbbp_feed_add_events(hbbp_feed* feed, const hbbp_feed_event* events,
                                          size_t count, size_t event_size, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kName[] = "hbbp_feed_add_events";
    if (feed == nullptr) return NullArgument(kName, "feed");
    HBBP_RETURN_IF_ERROR(CheckElements(kName, "events", events, count, event_size, kSmallestEvent));
    const size_t sources = feed->feed.source_count();
    const Elements<hbbp_feed_event> all(events, event_size);
    for (size_t i = 0; i < count; ++i) {
      if (all.HasUnknownField(i)) return UnknownField(kName, "events", i);
      const Status status = Check(all[i], sources);
      if (!status.ok()) return BadElement(kName, "events", i, status);
    }
    return AddEvents(all, count, &feed->feed).Annotate(kName);
  });
}

HBBP_API hbbp_status hbbp_feed_process(hbbp_feed* feed, uint32_t pid, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kName[] = "hbbp_feed_process";
    if (feed == nullptr) return NullArgument(kName, "feed");
    if (pid > INT32_MAX) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s: %u is not a process id", kName, pid);
    }
    const uint32_t chosen = pid != 0 ? pid : static_cast<uint32_t>(::getpid());
    return AddProcess(chosen, &feed->feed).Annotate(kName);
  });
}

HBBP_API hbbp_status hbbp_feed_end_round(hbbp_feed* feed, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (feed == nullptr) return NullArgument("hbbp_feed_end_round", "feed");
    return feed->feed.FinishRound();
  });
}

HBBP_API hbbp_status hbbp_feed_flush(hbbp_feed* feed, uint64_t up_to_ns, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (feed == nullptr) return NullArgument("hbbp_feed_flush", "feed");
    return feed->feed.FlushUpTo(up_to_ns);
  });
}

HBBP_API hbbp_status hbbp_feed_snapshot(hbbp_feed* feed, const hbbp_work_options* work,
                                        hbbp_profile** profile, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (feed == nullptr) return NullArgument("hbbp_feed_snapshot", "feed");
    if (profile == nullptr) return NullArgument("hbbp_feed_snapshot", "profile");
    HBBP_RETURN_IF_ERROR(CheckOwn("hbbp_feed_snapshot", *feed));
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    *profile = NewProfile(feed->feed.Snapshot(chosen));
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_feed_get_info(hbbp_feed* feed, hbbp_feed_info* info, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (feed == nullptr) return NullArgument("hbbp_feed_get_info", "feed");
    if (info == nullptr) return NullArgument("hbbp_feed_get_info", "info");
    HBBP_RETURN_IF_ERROR(CheckOwn("hbbp_feed_get_info", *feed));
    const hbbp::SessionInfo now = feed->feed.Info();
    HBBP_INIT(hbbp_feed_info, full);
    full.samples = now.samples;
    full.lost = now.lost;
    full.throttled = now.throttled;
    full.duration_ns = now.duration_ns;
    full.waiting = now.waiting;
    full.dropped = now.dropped;
    full.memory_bytes = now.memory_bytes;
    full.peak_memory_bytes = now.peak_memory_bytes;
    return WriteOutput(full, "hbbp_feed_info", info);
  });
}

}  // extern "C"
