// ParseAttr reads an attr of any kernel, and EventTable::Add finds out where the records of its
// event have their id and time. RecordDelivery then asks for the event of each record, and for its
// time.
#include "perf_data/perf_data_event.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>

namespace hbbp {
namespace {

constexpr size_t kFlagsOffset = 40;

struct AttrField {
  size_t offset;
  size_t size;
};
constexpr AttrField kAttrFields[] = {
    {0, 4},   {4, 4},   {8, 8},   {16, 8},  {24, 8},  {32, 8}, {kFlagsOffset, 8}, {48, 4},
    {52, 4},  {56, 8},  {64, 8},  {72, 8},  {80, 8},  {88, 4}, {92, 4},           {96, 8},
    {104, 4}, {108, 2}, {110, 2}, {112, 4}, {116, 4}, {120, 8}};

template <typename T>
void SwapAt(uint8_t* bytes) {
  const T value = LoadNative<T>(bytes, ByteOrder::kSwapped);
  std::memcpy(bytes, &value, sizeof(value));
}

// The flags are bit-fields of one bit, but for precise_ip, whose two are the 16th and 17th.
void SwapFlags(uint8_t* bytes) {
  const uint64_t word = LoadNative<uint64_t>(bytes, ByteOrder::kSwapped);
  constexpr unsigned kPreciseIp = 15;
  uint64_t flags = 0;
  for (unsigned i = 0; i < 64; ++i) flags |= BitField(word, i, 1, ByteOrder::kSwapped) << i;
  flags &= ~(uint64_t{3} << kPreciseIp);
  flags |= BitField(word, kPreciseIp, 2, ByteOrder::kSwapped) << kPreciseIp;
  std::memcpy(bytes, &flags, sizeof(flags));
}

void SwapAttr(std::array<uint8_t, sizeof(perf_event_attr)>* bytes) {
  for (const AttrField& field : kAttrFields) {
    if (field.offset + field.size > bytes->size()) break;
    uint8_t* at = bytes->data() + field.offset;
    if (field.offset == kFlagsOffset) {
      SwapFlags(at);
    } else if (field.size == 8) {
      SwapAt<uint64_t>(at);
    } else if (field.size == 4) {
      SwapAt<uint32_t>(at);
    } else {
      SwapAt<uint16_t>(at);
    }
  }
}

// Arrays of characters, unlike pointers, need no relocations.
constexpr char kHardwareNames[][24] = {"cycles",
                                       "instructions",
                                       "cache-references",
                                       "cache-misses",
                                       "branches",
                                       "branch-misses",
                                       "bus-cycles",
                                       "stalled-cycles-frontend",
                                       "stalled-cycles-backend",
                                       "ref-cycles"};
constexpr char kSoftwareNames[][20] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

std::string MakeName(const perf_event_attr& attr) {
  const uint64_t number = attr.config & 0xffffffff;
  if (attr.type == PERF_TYPE_HARDWARE && number < std::size(kHardwareNames)) {
    return kHardwareNames[number];
  }
  if (attr.type == PERF_TYPE_SOFTWARE && number < std::size(kSoftwareNames)) {
    return kSoftwareNames[number];
  }
  char name[64];
  if (attr.type == PERF_TYPE_RAW) {
    std::snprintf(name, sizeof(name), "r%llx", static_cast<unsigned long long>(attr.config));
  } else {
    std::snprintf(name, sizeof(name), "type=%u,config=0x%llx", attr.type,
                  static_cast<unsigned long long>(attr.config));
  }
  return name;
}

size_t WordsOf(uint64_t fields) { return static_cast<size_t>(std::popcount(fields)); }

void LocateFields(PerfEvent* event) {
  const uint64_t type = event->format.sample_type;
  constexpr uint64_t kBeforeTime = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
  constexpr uint64_t kBeforeId = kBeforeTime | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
  constexpr uint64_t kFromId =
      PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
  const bool has_trailer = event->format.sample_id_all;
  if ((type & PERF_SAMPLE_IDENTIFIER) != 0) {
    event->sample_id_offset = sizeof(perf_event_header);
    if (has_trailer) event->trailing_id_offset = 8;
  } else if ((type & PERF_SAMPLE_ID) != 0) {
    event->sample_id_offset = sizeof(perf_event_header) + 8 * WordsOf(type & kBeforeId);
    if (has_trailer) event->trailing_id_offset = 8 * WordsOf(type & kFromId);
  }
  if ((type & PERF_SAMPLE_TIME) != 0) {
    event->sample_time_offset = sizeof(perf_event_header) + 8 * WordsOf(type & kBeforeTime);
    if (has_trailer) {
      event->trailing_time_offset = 8 * WordsOf(type & (kFromId | PERF_SAMPLE_TIME));
    }
  }
}

void AddOnce(size_t offset, std::vector<size_t>* offsets) {
  if (offset == 0 || std::find(offsets->begin(), offsets->end(), offset) != offsets->end()) return;
  offsets->push_back(offset);
}

}  // namespace

std::optional<perf_event_attr> ParseAttr(std::span<const uint8_t> bytes, ByteOrder order) {
  if (bytes.size() < PERF_ATTR_SIZE_VER0) return std::nullopt;
  size_t size = LoadNative<uint32_t>(bytes.data() + 4, order);
  if (size == 0) size = PERF_ATTR_SIZE_VER0;
  if (size < PERF_ATTR_SIZE_VER0) return std::nullopt;
  std::array<uint8_t, sizeof(perf_event_attr)> ours = {};
  std::copy_n(bytes.begin(), std::min({size, bytes.size(), ours.size()}), ours.begin());
  if (order == ByteOrder::kSwapped) SwapAttr(&ours);
  return std::bit_cast<perf_event_attr>(ours);
}

void EventTable::Add(const perf_event_attr& attr, std::vector<uint64_t> ids) {
  PerfEvent& event = events_.emplace_back();
  event.index = events_.size() - 1;
  event.attr = attr;
  event.name = MakeName(attr);
  NameByPmu(&event);
  event.format = MakeRecordFormat(attr, order_);
  LocateFields(&event);
  AddOnce(event.sample_id_offset, &sample_id_offsets_);
  AddOnce(event.trailing_id_offset, &trailing_id_offsets_);
  AddIds(event.index, ids);
}

void EventTable::AddIds(size_t index, std::span<const uint64_t> ids) {
  for (uint64_t id : ids) {
    if (index_of_id_.try_emplace(id, index).second) events_[index].ids.push_back(id);
  }
}

void EventTable::SetName(size_t index, std::string name) {
  if (index >= events_.size() || name.empty()) return;
  events_[index].name = std::move(name);
  events_[index].has_given_name = true;
}

void EventTable::NamePmus(const std::vector<std::pair<uint32_t, std::string>>& pmus) {
  for (const auto& [type, pmu] : pmus) pmu_names_.try_emplace(type, pmu);
  for (PerfEvent& event : events_) NameByPmu(&event);
}

void EventTable::NameByPmu(PerfEvent* event) const {
  if (event->has_given_name || event->attr.type < PERF_TYPE_MAX) return;
  const auto pmu = pmu_names_.find(event->attr.type);
  if (pmu == pmu_names_.end()) return;
  char config[32];
  std::snprintf(config, sizeof(config), "/config=0x%llx/",
                static_cast<unsigned long long>(event->attr.config));
  event->name = pmu->second + config;
}

std::optional<size_t> EventTable::IndexOfId(uint64_t id) const {
  const auto found = index_of_id_.find(id);
  if (found == index_of_id_.end()) return std::nullopt;
  return found->second;
}

const PerfEvent* EventTable::Find(uint64_t id) const {
  const std::optional<size_t> index = IndexOfId(id);
  return index.has_value() ? &events_[*index] : nullptr;
}

const PerfEvent* EventTable::OfSample(std::span<const uint8_t> sample) const {
  if (events_.empty()) return nullptr;
  if (events_.size() == 1 || index_of_id_.empty() || sample_id_offsets_.empty()) {
    return &events_.front();
  }
  bool has_no_id = false;
  for (const size_t offset : sample_id_offsets_) {
    if (offset + 8 > sample.size()) continue;
    const uint64_t id = LoadNative<uint64_t>(sample.data() + offset, order_);
    const PerfEvent* event = Find(id);
    if (event != nullptr && event->sample_id_offset == offset) return event;
    has_no_id |= id == 0;
  }
  // perf does so as well: what it adds to a recording itself is of no event.
  return has_no_id ? &events_.front() : nullptr;
}

const PerfEvent* EventTable::OfOther(std::span<const uint8_t> record) const {
  if (events_.empty()) return nullptr;
  if (events_.size() == 1) return &events_.front();
  for (const size_t offset : trailing_id_offsets_) {
    if (sizeof(perf_event_header) + offset > record.size()) continue;
    const uint64_t id = LoadNative<uint64_t>(record.data() + record.size() - offset, order_);
    const PerfEvent* event = Find(id);
    if (event != nullptr && event->trailing_id_offset == offset) return event;
  }
  return &events_.front();
}

bool NameEventsOfType(std::span<const uint8_t> type, ByteOrder order, EventTable* events) {
  if (type.size() < 8) return false;
  const uint64_t config = LoadNative<uint64_t>(type.data(), order);
  const std::string name(type.begin() + 8, std::find(type.begin() + 8, type.end(), uint8_t{0}));
  for (const PerfEvent& event : events->events()) {
    if (event.attr.config == config && !event.has_given_name) events->SetName(event.index, name);
  }
  return true;
}

uint64_t SampleTime(std::span<const uint8_t> sample, const PerfEvent& event) {
  const size_t offset = event.sample_time_offset;
  if (offset == 0 || offset + 8 > sample.size()) return 0;
  return LoadNative<uint64_t>(sample.data() + offset, event.format.order);
}

uint64_t TrailingTime(std::span<const uint8_t> record, const PerfEvent& event) {
  const size_t offset = event.trailing_time_offset;
  if (offset == 0 || sizeof(perf_event_header) + offset > record.size()) return 0;
  return LoadNative<uint64_t>(record.data() + record.size() - offset, event.format.order);
}

}  // namespace hbbp
