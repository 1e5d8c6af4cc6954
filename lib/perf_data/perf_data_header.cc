// Each feature has a Read function, in the layout of perf. PerfDataReader reads those at the end of
// a file, PerfDataRun for those in the records of a pipe.
#include "perf_data/perf_data_header.h"

#include <algorithm>
#include <charconv>

#include "perf/perf_abi.h"
#include "perf/record_cursor.h"
#include "perf/record_format.h"

namespace hbbp {
namespace {

constexpr size_t kBuildIdBytes = 20;

std::string UpToNul(std::span<const uint8_t> bytes) {
  const auto end = std::find(bytes.begin(), bytes.end(), uint8_t{0});
  return std::string(bytes.begin(), end);
}

// Reads a length, and so many bytes with a NUL and padding in them.
bool ReadString(RecordCursor& cursor, std::string* text) {
  uint32_t size;
  std::span<const uint8_t> bytes;
  if (!cursor.Read(&size) || !cursor.ReadBytes(size, &bytes)) return false;
  *text = UpToNul(bytes);
  return true;
}

bool ReadNumber(RecordCursor& cursor, std::optional<uint64_t>* number) {
  uint64_t value;
  if (!cursor.Read(&value)) return false;
  *number = value;
  return true;
}

// Reads as many items as the next number says, each by `read`.
template <typename T, typename Read>
bool ReadList(RecordCursor& cursor, std::vector<T>* list, const Read& read) {
  uint32_t count;
  if (!cursor.Read(&count)) return false;
  for (uint32_t i = 0; i < count; ++i) {
    T item;
    if (!read(cursor, &item)) return false;
    list->push_back(std::move(item));
  }
  return true;
}

bool ReadPmu(RecordCursor& cursor, std::pair<uint32_t, std::string>* pmu) {
  return cursor.Read(&pmu->first) && ReadString(cursor, &pmu->second);
}

bool ReadGroup(RecordCursor& cursor, PerfDataHeader::Group* group) {
  return ReadString(cursor, &group->name) && cursor.Read(&group->leader) &&
         cursor.Read(&group->members);
}

bool ReadHybridPmu(RecordCursor& cursor, PerfDataHeader::HybridPmu* pmu) {
  return ReadString(cursor, &pmu->name) && ReadString(cursor, &pmu->cpus);
}

bool ReadCapability(RecordCursor& cursor, std::pair<std::string, std::string>* capability) {
  return ReadString(cursor, &capability->first) && ReadString(cursor, &capability->second);
}

bool ReadCpuCaps(RecordCursor& cursor, PerfDataHeader* header) {
  PerfDataHeader::Capabilities cpu;
  const bool is_whole = ReadList(cursor, &cpu.values, ReadCapability);
  header->capabilities.push_back(std::move(cpu));
  return is_whole;
}

bool ReadPmuCaps(RecordCursor& cursor, PerfDataHeader::Capabilities* pmu) {
  return ReadList(cursor, &pmu->values, ReadCapability) && ReadString(cursor, &pmu->pmu);
}

bool ReadBuildIds(std::span<const uint8_t> bytes, ByteOrder order, PerfDataHeader* header) {
  while (bytes.size() >= sizeof(perf_event_header)) {
    const size_t size = RecordHeader(bytes, order).size;
    PerfDataHeader::FileBuildId build_id;
    if (size > bytes.size() || !ParseBuildId(bytes.first(size), order, &build_id)) return false;
    header->build_ids.push_back(std::move(build_id));
    bytes = bytes.subspan(size);
  }
  return bytes.empty();
}

bool ReadCpuCount(RecordCursor& cursor, PerfDataHeader* header) {
  uint32_t available, online;
  if (!cursor.Read(&available) || !cursor.Read(&online)) return false;
  header->cpus_available = available;
  header->cpus_online = online;
  return true;
}

bool ReadEvents(RecordCursor& cursor, EventTable* events) {
  uint32_t count, attr_size;
  if (!cursor.Read(&count) || !cursor.Read(&attr_size)) return false;
  for (uint32_t i = 0; i < count; ++i) {
    std::span<const uint8_t> attr;
    uint32_t id_count;
    std::string name;
    U64View words;
    if (!cursor.ReadBytes(attr_size, &attr) || !cursor.Read(&id_count) ||
        !ReadString(cursor, &name) || !cursor.ReadWords(id_count, &words)) {
      return false;
    }
    const std::vector<uint64_t> ids(words.begin(), words.end());
    size_t index = i;
    if (!ids.empty()) index = events->IndexOfId(ids.front()).value_or(i);
    if (index >= events->events().size()) continue;
    events->SetName(index, std::move(name));
    events->AddIds(index, ids);
  }
  return true;
}

bool ReadCompression(RecordCursor& cursor, PerfDataHeader* header) {
  PerfDataHeader::Compression compression;
  if (!cursor.Read(&compression.version) || !cursor.Read(&compression.type) ||
      !cursor.Read(&compression.level) || !cursor.Read(&compression.ratio) ||
      !cursor.Read(&compression.block_bytes)) {
    return false;
  }
  header->compression = compression;
  return true;
}

bool ReadClock(RecordCursor& cursor, PerfDataHeader* header) {
  uint32_t version;
  PerfDataHeader::ClockPair clock;
  if (!cursor.Read(&version) || !cursor.Read(&clock.clock_id) || !cursor.Read(&clock.wall_time) ||
      !cursor.Read(&clock.clock_time)) {
    return false;
  }
  header->clock = clock;
  return true;
}

// Each node is followed by a size and then a bitmap, which has it once more.
bool ReadMemoryNodes(RecordCursor& cursor, MemoryNodes* memory) {
  constexpr uint64_t kKnownVersion = 1;
  uint64_t version, count;
  MemoryNodes read;
  if (!cursor.Read(&version)) return false;
  if (version != kKnownVersion) return true;
  if (!cursor.Read(&read.block_bytes) || !cursor.Read(&count)) return false;
  if (count > MemoryNodes::kMaxNodes) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t number, size, bits;
    U64View words;
    if (!cursor.Read(&number) || !cursor.Read(&size) || !cursor.Read(&bits) ||
        !cursor.ReadWords(bits / 64 + (bits % 64 != 0), &words)) {
      return false;
    }
    read.nodes.push_back({static_cast<uint32_t>(number), {words.begin(), words.end()}});
  }
  *memory = std::move(read);
  return true;
}

}  // namespace

std::optional<uint32_t> PerfDataHeader::BranchStackDepth() const {
  for (const Capabilities& pmu : capabilities) {
    for (const auto& [name, value] : pmu.values) {
      uint32_t depth;
      const char* end = value.data() + value.size();
      if (name == "branches" && std::from_chars(value.data(), end, depth).ec == std::errc()) {
        return depth;
      }
    }
  }
  return std::nullopt;
}

bool IsKnownFeature(PerfFeature feature) {
  switch (feature) {
    case PerfFeature::kBuildId:
    case PerfFeature::kHostname:
    case PerfFeature::kOsRelease:
    case PerfFeature::kVersion:
    case PerfFeature::kArch:
    case PerfFeature::kCpuCount:
    case PerfFeature::kCpuDescription:
    case PerfFeature::kCpuId:
    case PerfFeature::kTotalMemory:
    case PerfFeature::kCommandLine:
    case PerfFeature::kEventDescription:
    case PerfFeature::kBranchStack:
    case PerfFeature::kPmuMappings:
    case PerfFeature::kGroupDescription:
    case PerfFeature::kSampleTime:
    case PerfFeature::kMemoryTopology:
    case PerfFeature::kClockId:
    case PerfFeature::kBpfPrograms:
    case PerfFeature::kCompressed:
    case PerfFeature::kCpuPmuCaps:
    case PerfFeature::kClockData:
    case PerfFeature::kHybridTopology:
    case PerfFeature::kPmuCaps:
      return true;
    default:
      return false;
  }
}

bool ParseBuildId(std::span<const uint8_t> record, ByteOrder order,
                  PerfDataHeader::FileBuildId* build_id) {
  if (record.size() < sizeof(perf_event_header)) return false;
  RecordCursor cursor(record.subspan(sizeof(perf_event_header)), order);
  build_id->misc = RecordHeader(record, order).misc;
  uint32_t pid;
  uint8_t size;
  std::span<const uint8_t> bytes, path;
  if (!cursor.Read(&pid) || !cursor.ReadBytes(kBuildIdBytes, &bytes) || !cursor.Read(&size) ||
      !cursor.Skip(3) || !cursor.ReadBytes(cursor.remaining(), &path)) {
    return false;
  }
  if ((build_id->misc & kPerfMiscBuildIdSize) == 0) size = kBuildIdBytes;
  if (size > kBuildIdBytes) return false;
  build_id->pid = static_cast<int32_t>(pid);
  build_id->build_id.assign(bytes.begin(), bytes.begin() + size);
  build_id->path = UpToNul(path);
  return true;
}

bool ParseFeature(PerfFeature feature, std::span<const uint8_t> bytes, ByteOrder order,
                  PerfDataHeader* header, EventTable* events) {
  RecordCursor cursor(bytes, order);
  switch (feature) {
    case PerfFeature::kBuildId:
      return ReadBuildIds(bytes, order, header);
    case PerfFeature::kHostname:
      return ReadString(cursor, &header->hostname);
    case PerfFeature::kOsRelease:
      return ReadString(cursor, &header->os_release);
    case PerfFeature::kVersion:
      return ReadString(cursor, &header->perf_version);
    case PerfFeature::kArch:
      return ReadString(cursor, &header->arch);
    case PerfFeature::kCpuCount:
      return ReadCpuCount(cursor, header);
    case PerfFeature::kCpuDescription:
      return ReadString(cursor, &header->cpu_description);
    case PerfFeature::kCpuId:
      return ReadString(cursor, &header->cpu_id);
    case PerfFeature::kTotalMemory:
      return ReadNumber(cursor, &header->total_memory_kib);
    case PerfFeature::kCommandLine:
      return ReadList(cursor, &header->command_line, ReadString);
    case PerfFeature::kEventDescription:
      return ReadEvents(cursor, events);
    case PerfFeature::kBranchStack:
      header->has_branch_stacks = true;
      return true;
    case PerfFeature::kPmuMappings: {
      const bool is_whole = ReadList(cursor, &header->pmus, ReadPmu);
      events->NamePmus(header->pmus);
      return is_whole;
    }
    case PerfFeature::kGroupDescription:
      return ReadList(cursor, &header->groups, ReadGroup);
    case PerfFeature::kSampleTime:
      return ReadNumber(cursor, &header->first_sample_time) &&
             ReadNumber(cursor, &header->last_sample_time);
    case PerfFeature::kMemoryTopology:
      return ReadMemoryNodes(cursor, &header->memory_nodes);
    case PerfFeature::kClockId:
      return ReadNumber(cursor, &header->clock_resolution);
    case PerfFeature::kBpfPrograms:
      return ParseBpfPrograms(bytes, order, &header->bpf_functions);
    case PerfFeature::kCompressed:
      return ReadCompression(cursor, header);
    case PerfFeature::kCpuPmuCaps:
      return ReadCpuCaps(cursor, header);
    case PerfFeature::kClockData:
      return ReadClock(cursor, header);
    case PerfFeature::kHybridTopology:
      return ReadList(cursor, &header->hybrid_pmus, ReadHybridPmu);
    case PerfFeature::kPmuCaps:
      return ReadList(cursor, &header->capabilities, ReadPmuCaps);
    default:
      return true;
  }
}

}  // namespace hbbp
