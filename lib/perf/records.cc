// There is a Parse function for each type of record; VisitRecord chooses one. Each reads its fields
// in order from a RecordCursor, and then the sample_id at the end, and returns nothing if the
// record is too short.
#include "perf/records.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>

#include <bit>

#include "perf/record_cursor.h"

namespace hbbp {
namespace {

// Every field of a sample_id takes 8 bytes.
size_t SampleIdBytes(const RecordFormat& format) {
  if (!format.sample_id_all) return 0;
  return 8 * static_cast<size_t>(
                 std::popcount(format.sample_type &
                               (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                                PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)));
}

bool HasSampleId(std::span<const uint8_t> record, const RecordFormat& format) {
  return record.size() >= sizeof(perf_event_header) + SampleIdBytes(format);
}

// Returns the record without header and sample_id.
RecordCursor RecordBody(std::span<const uint8_t> record, const RecordFormat& format) {
  const size_t tail = HasSampleId(record, format) ? SampleIdBytes(format) : 0;
  const size_t size = record.size() - sizeof(perf_event_header) - tail;
  return RecordCursor(record.subspan(sizeof(perf_event_header), size), format.order);
}

bool ReadBuildId(RecordCursor& cursor, std::vector<uint8_t>* build_id) {
  uint8_t size;
  std::span<const uint8_t> bytes;
  if (!cursor.Read(&size) || !cursor.Skip(3) || !cursor.ReadBytes(20, &bytes)) return false;
  if (size > bytes.size()) return false;
  build_id->assign(bytes.begin(), bytes.begin() + size);
  return true;
}

bool ReadInode(RecordCursor& cursor, MmapRecord* mapping) {
  uint32_t major, minor;
  if (!cursor.Read(&major) || !cursor.Read(&minor) || !cursor.Read(&mapping->inode) ||
      !cursor.Read(&mapping->inode_generation)) {
    return false;
  }
  mapping->device = makedev(major, minor);
  return true;
}

}  // namespace

SampleId ParseSampleId(std::span<const uint8_t> record, const RecordFormat& format) {
  SampleId result;
  if (!HasSampleId(record, format) || !format.sample_id_all) return result;
  RecordCursor cursor(record.last(SampleIdBytes(format)), format.order);
  const auto has = [&format](uint64_t field) { return (format.sample_type & field) != 0; };
  // All of them fit; none can fail.
  if (has(PERF_SAMPLE_TID)) cursor.Read(&result.pid), cursor.Read(&result.tid);
  if (has(PERF_SAMPLE_TIME)) cursor.Read(&result.time);
  if (has(PERF_SAMPLE_ID)) cursor.Read(&result.id);
  if (has(PERF_SAMPLE_STREAM_ID)) cursor.Read(&result.stream_id);
  if (has(PERF_SAMPLE_CPU)) cursor.Read(&result.cpu), cursor.Skip(4);
  if (has(PERF_SAMPLE_IDENTIFIER)) cursor.Read(&result.id);
  return result;
}

std::optional<MmapRecord> ParseMmap(std::span<const uint8_t> record, const RecordFormat& format) {
  const bool has_identity = IsOfType(record, PERF_RECORD_MMAP2, format.order);
  if (!has_identity && !IsOfType(record, PERF_RECORD_MMAP, format.order)) return std::nullopt;
  RecordCursor cursor = RecordBody(record, format);
  MmapRecord mapping;
  mapping.misc = RecordHeader(record, format.order).misc;
  if (!cursor.Read(&mapping.pid) || !cursor.Read(&mapping.tid) || !cursor.Read(&mapping.address) ||
      !cursor.Read(&mapping.size) || !cursor.Read(&mapping.file_offset)) {
    return std::nullopt;
  }
  if (has_identity) {
    const bool has_build_id = (mapping.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0;
    if (!(has_build_id ? ReadBuildId(cursor, &mapping.build_id) : ReadInode(cursor, &mapping)) ||
        !cursor.Read(&mapping.protection) || !cursor.Read(&mapping.flags)) {
      return std::nullopt;
    }
  } else {
    mapping.protection =
        (mapping.misc & PERF_RECORD_MISC_MMAP_DATA) != 0 ? PROT_READ : PROT_READ | PROT_EXEC;
  }
  if (!cursor.ReadCString(&mapping.path)) return std::nullopt;
  mapping.sample_id = ParseSampleId(record, format);
  return mapping;
}

std::optional<CommRecord> ParseComm(std::span<const uint8_t> record, const RecordFormat& format) {
  if (!IsOfType(record, PERF_RECORD_COMM, format.order)) return std::nullopt;
  RecordCursor cursor = RecordBody(record, format);
  CommRecord comm;
  if (!cursor.Read(&comm.pid) || !cursor.Read(&comm.tid) || !cursor.ReadCString(&comm.name)) {
    return std::nullopt;
  }
  comm.is_exec = (RecordHeader(record, format.order).misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  comm.sample_id = ParseSampleId(record, format);
  return comm;
}

std::optional<TaskRecord> ParseTask(std::span<const uint8_t> record, const RecordFormat& format) {
  if (!IsOfType(record, PERF_RECORD_FORK, format.order) &&
      !IsOfType(record, PERF_RECORD_EXIT, format.order)) {
    return std::nullopt;
  }
  RecordCursor cursor = RecordBody(record, format);
  TaskRecord task;
  task.misc = RecordHeader(record, format.order).misc;
  if (!cursor.Read(&task.pid) || !cursor.Read(&task.parent_pid) || !cursor.Read(&task.tid) ||
      !cursor.Read(&task.parent_tid) || !cursor.Read(&task.time)) {
    return std::nullopt;
  }
  task.sample_id = ParseSampleId(record, format);
  return task;
}

std::optional<LostRecord> ParseLost(std::span<const uint8_t> record, const RecordFormat& format) {
  LostRecord lost;
  lost.only_samples = IsOfType(record, PERF_RECORD_LOST_SAMPLES, format.order);
  if (!lost.only_samples && !IsOfType(record, PERF_RECORD_LOST, format.order)) return std::nullopt;
  RecordCursor cursor = RecordBody(record, format);
  if (!lost.only_samples && !cursor.Read(&lost.id)) return std::nullopt;
  if (!cursor.Read(&lost.count)) return std::nullopt;
  lost.sample_id = ParseSampleId(record, format);
  return lost;
}

std::optional<ThrottleRecord> ParseThrottle(std::span<const uint8_t> record,
                                            const RecordFormat& format) {
  ThrottleRecord throttle;
  throttle.is_throttled = IsOfType(record, PERF_RECORD_THROTTLE, format.order);
  if (!throttle.is_throttled && !IsOfType(record, PERF_RECORD_UNTHROTTLE, format.order)) {
    return std::nullopt;
  }
  RecordCursor cursor = RecordBody(record, format);
  if (!cursor.Read(&throttle.time) || !cursor.Read(&throttle.id) ||
      !cursor.Read(&throttle.stream_id)) {
    return std::nullopt;
  }
  throttle.sample_id = ParseSampleId(record, format);
  return throttle;
}

std::optional<SwitchRecord> ParseSwitch(std::span<const uint8_t> record,
                                        const RecordFormat& format) {
  const bool is_cpu_wide = IsOfType(record, PERF_RECORD_SWITCH_CPU_WIDE, format.order);
  if (!is_cpu_wide && !IsOfType(record, PERF_RECORD_SWITCH, format.order)) return std::nullopt;
  SwitchRecord change;
  RecordCursor cursor = RecordBody(record, format);
  if (is_cpu_wide && (!cursor.Read(&change.other_pid) || !cursor.Read(&change.other_tid))) {
    return std::nullopt;
  }
  const uint16_t misc = RecordHeader(record, format.order).misc;
  change.is_out = (misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
  change.is_preempted = (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
  change.sample_id = ParseSampleId(record, format);
  return change;
}

std::optional<NamespacesRecord> ParseNamespaces(std::span<const uint8_t> record,
                                                const RecordFormat& format) {
  if (!IsOfType(record, PERF_RECORD_NAMESPACES, format.order)) return std::nullopt;
  RecordCursor cursor = RecordBody(record, format);
  NamespacesRecord result;
  uint64_t count;
  if (!cursor.Read(&result.pid) || !cursor.Read(&result.tid) || !cursor.Read(&count) ||
      count > cursor.remaining() / 16) {
    return std::nullopt;
  }
  result.namespaces.resize(count);
  for (NamespacesRecord::Namespace& entry : result.namespaces) {
    cursor.Read(&entry.device);
    cursor.Read(&entry.inode);
  }
  result.sample_id = ParseSampleId(record, format);
  return result;
}

std::optional<KsymbolRecord> ParseKsymbol(std::span<const uint8_t> record,
                                          const RecordFormat& format) {
  if (!IsOfType(record, PERF_RECORD_KSYMBOL, format.order)) return std::nullopt;
  RecordCursor cursor = RecordBody(record, format);
  KsymbolRecord symbol;
  uint16_t flags;
  if (!cursor.Read(&symbol.address) || !cursor.Read(&symbol.size) || !cursor.Read(&symbol.type) ||
      !cursor.Read(&flags) || !cursor.ReadCString(&symbol.name)) {
    return std::nullopt;
  }
  symbol.is_removed = (flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) != 0;
  symbol.sample_id = ParseSampleId(record, format);
  return symbol;
}

std::optional<BpfEventRecord> ParseBpfEvent(std::span<const uint8_t> record,
                                            const RecordFormat& format) {
  if (!IsOfType(record, PERF_RECORD_BPF_EVENT, format.order)) return std::nullopt;
  RecordCursor cursor = RecordBody(record, format);
  BpfEventRecord event;
  if (!cursor.Read(&event.type) || !cursor.Read(&event.flags) || !cursor.Read(&event.id) ||
      !cursor.Read(&event.tag)) {
    return std::nullopt;
  }
  event.sample_id = ParseSampleId(record, format);
  return event;
}

std::optional<CgroupRecord> ParseCgroup(std::span<const uint8_t> record,
                                        const RecordFormat& format) {
  if (!IsOfType(record, PERF_RECORD_CGROUP, format.order)) return std::nullopt;
  RecordCursor cursor = RecordBody(record, format);
  CgroupRecord group;
  if (!cursor.Read(&group.id) || !cursor.ReadCString(&group.path)) return std::nullopt;
  group.sample_id = ParseSampleId(record, format);
  return group;
}

std::optional<TextPokeRecord> ParseTextPoke(std::span<const uint8_t> record,
                                            const RecordFormat& format) {
  if (!IsOfType(record, PERF_RECORD_TEXT_POKE, format.order)) return std::nullopt;
  RecordCursor cursor = RecordBody(record, format);
  TextPokeRecord poke;
  uint16_t old_size, new_size;
  if (!cursor.Read(&poke.address) || !cursor.Read(&old_size) || !cursor.Read(&new_size) ||
      !cursor.ReadBytes(old_size, &poke.old_bytes) ||
      !cursor.ReadBytes(new_size, &poke.new_bytes)) {
    return std::nullopt;
  }
  poke.sample_id = ParseSampleId(record, format);
  return poke;
}

}  // namespace hbbp
