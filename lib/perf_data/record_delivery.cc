#include "perf_data/record_delivery.h"

#include <algorithm>

#include "perf/record_visitor.h"

namespace hbbp {

void LimitWaiting(CountedMemory* memory, DeliveryOptions* options) {
  options->memory = memory;
  if (memory->limit() == 0) return;
  options->max_waiting_bytes = std::min(options->max_waiting_bytes, memory->limit() / 4);
}

void RecordDelivery::Take(std::span<const uint8_t> record, uint64_t offset) {
  const bool is_sample = RecordHeader(record, order_).type == PERF_RECORD_SAMPLE;
  const PerfEvent* event = is_sample ? events_.OfSample(record) : events_.OfOther(record);
  if (event == nullptr) {
    return Drop(record, offset, "of an event that the recording does not describe");
  }
  const uint64_t time = is_sample ? SampleTime(record, *event) : TrailingTime(record, *event);
  if (Waits(time)) return Wait(record, time, event, offset);
  Deliver(record, *event, offset);
}

void RecordDelivery::TakeOther(std::span<const uint8_t> bytes, uint64_t time_ns) {
  Wait(bytes, time_ns, nullptr, 0);
}

void RecordDelivery::Wait(std::span<const uint8_t> bytes, uint64_t time_ns, const PerfEvent* event,
                          uint64_t offset) {
  if (!HasMemoryFor([&] { queue_.Push(bytes, time_ns, event, offset); })) {
    FlushUpTo(UINT64_MAX);
    queue_.Shrink();
    RecordQueue::Entry entry;
    entry.time = time_ns;
    entry.event = event;
    entry.offset = offset;
    return DeliverInOrder(bytes, entry);
  }
  if (queue_.bytes() > options_.max_waiting_bytes) FlushUpTo(queue_.MedianTime());
}

void RecordDelivery::FinishRound() {
  FlushUpTo(round_limit_);
  round_limit_ = queue_.latest();
}

void RecordDelivery::FlushUpTo(uint64_t time_ns) {
  queue_.Flush(time_ns, [this](std::span<const uint8_t> bytes, const RecordQueue::Entry& entry) {
    DeliverInOrder(bytes, entry);
  });
}

void RecordDelivery::DeliverInOrder(std::span<const uint8_t> bytes,
                                    const RecordQueue::Entry& entry) {
  if (entry.time < last_time_) ++summary_.late_records;
  last_time_ = std::max(last_time_, entry.time);
  if (entry.event == nullptr) return on_other(bytes);
  Deliver(bytes, *entry.event, entry.offset);
}

void RecordDelivery::Deliver(std::span<const uint8_t> record, const PerfEvent& event,
                             uint64_t offset) {
  const uint32_t type = RecordHeader(record, order_).type;
  switch (Visit(record, type, event)) {
    case RecordFate::kVisited:
      return;
    case RecordFate::kTooShort:
      return Drop(record, offset, "is too short for its fields");
    case RecordFate::kUnknownType:
      ++summary_.skipped_records[type];
      return;
  }
}

void RecordDelivery::Drop(std::span<const uint8_t> record, uint64_t offset, const char* why) {
  ++summary_.dropped_records;
  summary_.AddProblem(offset, record.size(),
                      PerfRecordName(RecordHeader(record, order_).type) + " record " + why);
}

RecordFate RecordDelivery::Visit(std::span<const uint8_t> record, uint32_t type,
                                 const PerfEvent& event) {
  if (type != PERF_RECORD_SAMPLE) return VisitRecord(record, event.format, &visitor_);
  if (!ParseSample(record, event.format, &sample_)) return RecordFate::kTooShort;
  visitor_.OnSample(event, sample_);
  return RecordFate::kVisited;
}

}  // namespace hbbp
