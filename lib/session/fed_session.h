// FedSession: a profile of what a host observes with events of its own and hands over.
//
// Nothing of ours runs: no thread, no handler, no event. Records of perf go the way that those of a
// recording go (perf_data_import.cc); samples and events that the host has decoded join them where
// records would be parsed.
#ifndef HBBP_LIB_SESSION_FED_SESSION_H_
#define HBBP_LIB_SESSION_FED_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collect/import_messages.h"
#include "collect/importer.h"
#include "collect/perf_record_import.h"
#include "collect/recorded_files.h"
#include "perf_data/perf_data_event.h"
#include "perf_data/perf_data_header.h"
#include "perf_data/record_delivery.h"
#include "session/fed_item.h"
#include "session/session.h"
#include "session/session_registry.h"

namespace hbbp {

struct FeedOptions : HostSettings {
  ImportOptions files;
  DeliveryOptions delivery;
  std::string host;    // empty: this machine
  std::string cpu_id;  // of another machine, as perf spells it
  std::string command;
};

// All functions may be called from any thread, at once. Sources are called by their number, in the
// order in which they were added.
class FedSession : private ForkParticipant {
 public:
  explicit FedSession(const FeedOptions& options);
  ~FedSession() override;
  FedSession(const FedSession&) = delete;
  FedSession& operator=(const FedSession&) = delete;

  // Of records: `attr` in the layout of any kernel; `ids` by which the kernel tells the event from
  // others in a ring.
  StatusOr<uint32_t> AddRecordSource(std::span<const uint8_t> attr, std::vector<uint64_t> ids,
                                     std::string name);
  Status AddIds(uint32_t source, std::span<const uint64_t> ids);
  // Of decoded samples, of one kind.
  uint32_t AddSampleSource(const SourceRecord& source, IbsKind ibs);

  // Whole records, as in a ring buffer. `consumed` is where a record begins that is not whole, or,
  // after an error, where what is no record begins.
  Status FeedRecords(std::span<const uint8_t> bytes, size_t* consumed);

  // at(i) gives each of `count` FedSamples, or FedEvents.
  template <typename At>
  Status FeedSamples(uint32_t source, size_t count, At&& at) {
    std::unique_lock lock(mutex_);
    HBBP_RETURN_IF_ERROR(CheckSampleSource(source));
    for (size_t i = 0; i < count; ++i) {
      FedSample sample = at(i);
      sample.source = source;
      ++samples_;
      Take(sample);
    }
    return EndCall(std::move(lock));
  }
  template <typename At>
  void FeedEvents(size_t count, At&& at) {
    std::unique_lock lock(mutex_);
    for (size_t i = 0; i < count; ++i) Take(at(i));
    (void)EndCall(std::move(lock));
  }
  // Of a source that AddSampleSource made; kNone of others.
  SourceKind KindOfSource(uint32_t source) const;
  size_t source_count() const;

  void FinishRound();
  // Everything up to `time_ns` was fed.
  void FlushUpTo(uint64_t time_ns);

  // What is complete. Work as of Session::Snapshot.
  ProfileData Snapshot(const Work& work = {});
  SessionInfo Info();

 private:
  struct Source {
    const PerfEvent* event = nullptr;
    SourceKind kind = SourceKind::kNone;  // of decoded samples
  };

  void LockForFork() override {
    mutex_.lock();
    log_.LockForFork();
  }
  void UnlockAfterFork() override {
    log_.UnlockAfterFork();
    mutex_.unlock();
  }
  // What the host knows of, its child knows of as well; but not what was to be said.
  void ForgetInChild() override { log_.Forget(); }

  // Its number. The rest is as of EndCall.
  uint32_t EndAdding(std::unique_lock<std::mutex> lock, const Source& source);
  // Says what there is to say, without the lock. kOk.
  Status EndCall(std::unique_lock<std::mutex> lock);

  Status CheckSource(uint32_t source) const;
  Status CheckSampleSource(uint32_t source) const;
  bool is_this_machine() const { return options_.host.empty(); }
  void TakeRecord(std::span<const uint8_t> record, uint64_t offset);
  template <typename Item>
  void Take(const Item& item);
  void Deliver(const FedSample& sample);
  void Deliver(const FedEvent& event);

  const FeedOptions options_;
  const uint64_t start_time_ns_;
  PerfDataHeader header_;

  SessionLog log_;
  CountedMemory memory_;

  mutable std::mutex mutex_;  // all below
  EventTable events_;
  std::deque<PerfEvent> sample_events_;  // of decoded samples
  std::vector<Source> sources_;
  Importer importer_;
  RecordedFiles files_;
  PerfRecordImport import_;
  PerfDataSummary summary_;
  RecordDelivery delivery_;
  std::vector<uint8_t> packed_;
  bool knows_pmus_ = false;
  uint64_t samples_ = 0;
  uint64_t fed_bytes_ = 0;  // of records
  ImportMessages messages_{&log_};
  uint32_t told_sources_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_FED_SESSION_H_
