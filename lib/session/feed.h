// Feed: what a host observes with means of its own and hands over.
//
// Records of perf go the way that those of a recording go (collect/perf_record_import.h); samples,
// bursts and events that the host has decoded join them where records are parsed. A feed counts by
// itself, or its events go to a session, whose external source pumps it.
#ifndef HBBP_LIB_SESSION_FEED_H_
#define HBBP_LIB_SESSION_FEED_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/counted_memory.h"
#include "base/status.h"
#include "base/work.h"
#include "collect/host_settings.h"
#include "collect/import_messages.h"
#include "collect/importer.h"
#include "collect/perf_record_import.h"
#include "collect/session_log.h"
#include "events/event_sink.h"
#include "perf_data/perf_data_event.h"
#include "perf_data/perf_data_header.h"
#include "perf_data/record_delivery.h"
#include "session/feed_item.h"
#include "session/session_info.h"
#include "session/session_registry.h"

namespace hbbp {

struct FeedOptions : HostSettings {
  ImportOptions files;
  // Finds files of modules that are not at their paths, for a snapshot. Empty: an analysis does it.
  std::function<void(ProfileData*, CancelCheck*)> find_files;
  DeliveryOptions delivery;
  std::string host;    // empty: this machine
  std::string cpu_id;  // of another machine, as perf spells it
  std::string command;
};

// The session that counts the events of a feed. All must outlive the feed.
struct FeedTarget {
  std::mutex* mutex;  // of the session; guards what the sink leads to, and the feed
  EventSink* sink;
  std::function<uint32_t(SourceRecord)> add_source;  // returns its number in the sink
  SessionLog* log;
  CountedMemory* memory;
};

// All functions may be called from any thread, at once; but those that say so are called for a feed
// that a session counts, with its mutex locked. Sources are called by their number, in the order in
// which they were added.
class Feed : private ForkParticipant {
 public:
  // Makes a feed that counts by itself.
  explicit Feed(const FeedOptions& options);
  // Makes a feed that a session counts; times are of CLOCK_MONOTONIC.
  Feed(const FeedTarget& target, const DeliveryOptions& delivery);
  ~Feed() override;
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Adds a source of records. `attr` may have the layout of any kernel; `ids` are those by which
  // the kernel distinguishes the event from others in a ring.
  StatusOr<uint32_t> AddRecordSource(std::span<const uint8_t> attr, std::vector<uint64_t> ids,
                                     std::string name);
  Status AddIds(uint32_t source, std::span<const uint64_t> ids);
  // Adds a source of decoded samples of one kind, or of bursts if it is kSwbt.
  StatusOr<uint32_t> AddSampleSource(const SourceRecord& source, IbsKind ibs);

  // Takes whole records, as in a ring buffer. `consumed` is where a record begins that is not
  // whole, or, after an error, where something begins that is not a record.
  Status FeedRecords(std::span<const uint8_t> bytes, size_t* consumed);

  // at(i) returns each of `count` FeedSamples, FeedBursts, or FeedEvents.
  template <typename At>
  Status FeedSamples(uint32_t source, size_t count, At&& at) {
    return FeedItems(source, false, count, at);
  }
  template <typename At>
  Status FeedBursts(uint32_t source, size_t count, At&& at) {
    return FeedItems(source, true, count, at);
  }
  template <typename At>
  Status FeedEvents(size_t count, At&& at) {
    std::unique_lock lock(mutex_);
    HBBP_RETURN_IF_ERROR(CheckOpen());
    for (size_t i = 0; i < count; ++i) Take(at(i));
    return EndCall(std::move(lock));
  }
  // Returns the kind of a source that AddSampleSource added, and kNone for others.
  SourceKind KindOfSource(uint32_t source) const;
  size_t source_count() const;

  Status FinishRound();
  // Everything up to `time_ns` was fed.
  Status FlushUpTo(uint64_t time_ns);

  // Returns what is complete. Work is as for Session::Snapshot. Precondition: it counts by itself.
  ProfileData Snapshot(const Work& work = {});
  SessionInfo Info();

  // The following are for a feed that a session counts, with its mutex locked.
  // Delivers everything that waits; from then on every call fails.
  void Close();
  void ReportStatistics() { import_.ReportStatistics(); }
  void CompleteSources(std::span<SourceRecord> sources) const {
    import_.CompleteSources(summary_, sources);
  }
  uint64_t waiting() const { return delivery_.waiting(); }
  uint64_t dropped_records() const { return summary_.dropped_records; }
  // Is called in the child of a fork; nothing more is delivered.
  void Abandon() { is_closed_ = true; }

 private:
  struct Source {
    const PerfEvent* event = nullptr;
    SourceKind kind = SourceKind::kNone;  // of decoded samples
  };
  // The parts that only a feed has that counts by itself.
  struct OwnCounts {
    explicit OwnCounts(const FeedOptions& options);

    FeedTarget Target();

    const FeedOptions options;
    const uint64_t start_time_ns;
    SessionLog log;
    CountedMemory memory;
    std::mutex mutex;
    Importer importer;
  };

  struct Own {};
  Feed(OwnCounts* own, Own);
  Feed(std::unique_ptr<OwnCounts> own, const FeedTarget& target, const DeliveryOptions& delivery);

  void LockForFork() override {
    mutex_.lock();
    log_.LockForFork();
  }
  void UnlockAfterFork() override {
    log_.UnlockAfterFork();
    mutex_.unlock();
  }
  // The child knows of what the host knows of, but what was to be logged is dropped.
  void ResetInChild() override { log_.ResetInChild(); }

  // Returns its number, and otherwise does what EndCall does.
  uint32_t EndAdding(std::unique_lock<std::mutex> lock, const Source& source);
  // Logs what there is to log, without the lock. Returns kOk.
  Status EndCall(std::unique_lock<std::mutex> lock);

  Status CheckOpen() const;
  Status CheckSource(uint32_t source) const;
  Status CheckSampleSource(uint32_t source, bool has_bursts) const;
  bool is_this_machine() const { return own_ == nullptr || own_->options.host.empty(); }
  void TakeRecord(std::span<const uint8_t> record, uint64_t offset);
  template <typename At>
  Status FeedItems(uint32_t source, bool has_bursts, size_t count, At&& at) {
    std::unique_lock lock(mutex_);
    HBBP_RETURN_IF_ERROR(CheckOpen());
    HBBP_RETURN_IF_ERROR(CheckSampleSource(source, has_bursts));
    for (size_t i = 0; i < count; ++i) {
      auto item = at(i);
      item.source = source;
      ++samples_;
      Take(item);
    }
    return EndCall(std::move(lock));
  }
  template <typename Item>
  void Take(const Item& item);
  void Deliver(const FeedSample& sample);
  void Deliver(const FeedBurst& burst);
  void Deliver(const FeedEvent& event);

  const std::unique_ptr<OwnCounts> own_;  // NULL: a session counts
  PerfDataHeader header_;
  SessionLog& log_;
  std::mutex& mutex_;  // guards all below
  EventTable events_;
  std::deque<PerfEvent> sample_events_;  // of decoded samples
  std::vector<Source> sources_;
  std::vector<SourceRecord> new_sources_;  // that were not logged yet
  PerfRecordImport import_;
  PerfDataSummary summary_;
  RecordDelivery delivery_;
  std::vector<uint8_t> packed_;
  bool knows_pmus_ = false;
  bool is_closed_ = false;
  uint64_t samples_ = 0;
  uint64_t fed_bytes_ = 0;  // of records
  ImportMessages messages_{&log_};
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_FEED_H_
