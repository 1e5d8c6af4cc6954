// RecordDelivery passes whole records of the kernel to a visitor in the order of time.
//
// Records of several CPUs come ring by ring. Each waits until nothing of an earlier time can come:
// until the end of the round after its own, a round being what was found when every ring was
// emptied once.
#ifndef HBBP_LIB_PERF_DATA_RECORD_DELIVERY_H_
#define HBBP_LIB_PERF_DATA_RECORD_DELIVERY_H_

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <span>

#include "base/counted_memory.h"
#include "perf/sample_record.h"
#include "perf_data/perf_data_event.h"
#include "perf_data/perf_data_summary.h"
#include "perf_data/perf_data_visitor.h"
#include "perf_data/record_queue.h"

namespace hbbp {

struct DeliveryOptions {
  enum class Order {
    // Records wait for those of other CPUs, as in perf, until the rounds, or the end, say that none
    // with an earlier time can come. Records without a time do not wait.
    kByTime,
    kAsWritten,
  };
  Order order = Order::kByTime;
  // If more bytes of records are waiting, the earlier half is delivered.
  uint64_t max_waiting_bytes = 256 << 20;
  // Waiting records are kept here. If there is no memory, all that waits is delivered.
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
};

// Has records wait in `memory`, of which they take a quarter at most.
void LimitWaiting(CountedMemory* memory, DeliveryOptions* options);

class RecordDelivery {
 public:
  // The perf command gives this time to some of the records that it makes itself.
  static constexpr uint64_t kNoTime = UINT64_MAX;

  // All must outlive the delivery. `summary` counts what was skipped or dropped.
  RecordDelivery(const EventTable* events, PerfDataVisitor* visitor, PerfDataSummary* summary,
                 const DeliveryOptions& options)
      : options_(options),
        events_(*events),
        order_(events->order()),
        visitor_(*visitor),
        summary_(*summary),
        queue_(options.memory) {}

  // Is given what TakeOther was.
  std::function<void(std::span<const uint8_t>)> on_other;

  // `record` is whole, of a type of the kernel, and stood at `offset`. A record that does not wait
  // is not copied.
  void Take(std::span<const uint8_t> record, uint64_t offset);

  // Returns whether what happened then must wait for what was earlier.
  bool Waits(uint64_t time_ns) const {
    return options_.order == DeliveryOptions::Order::kByTime && time_ns != 0 && time_ns != kNoTime;
  }
  // Takes something else that happened at a time. Precondition: Waits(time_ns).
  void TakeOther(std::span<const uint8_t> bytes, uint64_t time_ns);

  void FinishRound();
  // Delivers what waits up to `time_ns`, because nothing earlier can come any more.
  void FlushUpTo(uint64_t time_ns);

  size_t waiting() const { return queue_.size(); }
  // Gives back memory that is not needed now.
  void Shrink() { queue_.Shrink(); }

  // Counts a record that cannot be used.
  void Drop(std::span<const uint8_t> record, uint64_t offset, const char* why);

 private:
  void Wait(std::span<const uint8_t> bytes, uint64_t time_ns, const PerfEvent* event,
            uint64_t offset);
  void DeliverInOrder(std::span<const uint8_t> bytes, const RecordQueue::Entry& entry);
  void Deliver(std::span<const uint8_t> record, const PerfEvent& event, uint64_t offset);
  RecordFate Visit(std::span<const uint8_t> record, uint32_t type, const PerfEvent& event);

  const DeliveryOptions options_;
  const EventTable& events_;
  const ByteOrder order_;
  PerfDataVisitor& visitor_;
  PerfDataSummary& summary_;
  SampleRecord sample_;
  RecordQueue queue_;
  uint64_t round_limit_ = 0;  // the latest time when the round before ended
  uint64_t last_time_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_RECORD_DELIVERY_H_
