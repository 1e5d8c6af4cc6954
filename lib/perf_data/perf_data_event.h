// EventTable has the events of a recording, and finds out which of them a record belongs to.
#ifndef HBBP_LIB_PERF_DATA_PERF_DATA_EVENT_H_
#define HBBP_LIB_PERF_DATA_PERF_DATA_EVENT_H_

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "perf/record_format.h"

namespace hbbp {

// PerfEvent is one thing that was sampled; perf calls it evsel.
struct PerfEvent {
  size_t index = 0;
  // It has the layout and byte order of this machine. Fields that the recording's attr did not have
  // are 0.
  perf_event_attr attr = {};
  RecordFormat format;
  // This is perf's name for it ("cycles:u"), or else one made from type and config.
  std::string name;
  bool has_given_name = false;
  // The kernel calls it by these, one for each CPU or thread that it was opened for.
  std::vector<uint64_t> ids;

  // These say where in a record of this event a field stands, counted from the beginning of a
  // sample and from the end of any other record; 0 if it is not there.
  size_t sample_id_offset = 0;
  size_t sample_time_offset = 0;
  size_t trailing_id_offset = 0;
  size_t trailing_time_offset = 0;
};

// `bytes` begins with an attr in the layout of any kernel, of which no more than its own size field
// says is read. Returns nothing if it is shorter than any attr ever was.
std::optional<perf_event_attr> ParseAttr(std::span<const uint8_t> bytes, ByteOrder order);

class EventTable {
 public:
  explicit EventTable(ByteOrder order) : order_(order) {}

  ByteOrder order() const { return order_; }
  const std::deque<PerfEvent>& events() const { return events_; }

  // Events stay where they are.
  void Add(const perf_event_attr& attr, std::vector<uint64_t> ids);
  // Adds ids to an event that was added without.
  void AddIds(size_t index, std::span<const uint64_t> ids);
  void SetName(size_t index, std::string name);
  // Makes names of PMU and config for events without a name of their own, also for later ones.
  void NamePmus(const std::vector<std::pair<uint32_t, std::string>>& pmus);
  std::optional<size_t> IndexOfId(uint64_t id) const;

  // Return the event of a whole record with its header, or nullptr.
  const PerfEvent* OfSample(std::span<const uint8_t> sample) const;
  // Records that belong to no event have the layout of the first.
  const PerfEvent* OfOther(std::span<const uint8_t> record) const;

 private:
  const PerfEvent* Find(uint64_t id) const;
  void NameByPmu(PerfEvent* event) const;

  ByteOrder order_;
  std::deque<PerfEvent> events_;
  std::unordered_map<uint64_t, size_t> index_of_id_;
  std::map<uint32_t, std::string> pmu_names_;  // by type
  // These are the different offsets of ids among the events.
  std::vector<size_t> sample_id_offsets_;
  std::vector<size_t> trailing_id_offsets_;
};

// Names events by what perf wrote before Linux 3.4: a config and a name, which ends in NUL or with
// `type`. Returns false if `type` is too short.
bool NameEventsOfType(std::span<const uint8_t> type, ByteOrder order, EventTable* events);

// Return the time of a record, or 0 if it has none.
uint64_t SampleTime(std::span<const uint8_t> sample, const PerfEvent& event);
uint64_t TrailingTime(std::span<const uint8_t> record, const PerfEvent& event);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_PERF_DATA_EVENT_H_
