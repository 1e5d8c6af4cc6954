// Parses records of the perf ABI other than samples, from bytes that need not be trusted.
#ifndef HBBP_LIB_PERF_RECORDS_H_
#define HBBP_LIB_PERF_RECORDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "perf/record_format.h"

namespace hbbp {

// SampleId is what sample_id_all appends to a record: where and when it was written. Absent fields
// are 0.
struct SampleId {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time = 0;
  uint64_t id = 0;
  uint64_t stream_id = 0;
  uint32_t cpu = 0;
};

// MmapRecord is a PERF_RECORD_MMAP2, or a PERF_RECORD_MMAP, which has neither identity nor
// protection.
struct MmapRecord {
  uint16_t misc = 0;
  uint32_t pid = 0;  // ~0 if the mapping is the kernel's
  uint32_t tid = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;
  uint64_t device = 0;            // makedev; 0 if the record has a build ID instead
  uint64_t inode = 0;             // likewise
  uint64_t inode_generation = 0;  // likewise
  std::vector<uint8_t> build_id;
  uint32_t protection = 0;  // PROT_*; of PERF_RECORD_MMAP what its misc field says
  uint32_t flags = 0;       // MAP_*
  std::string path;
  SampleId sample_id;
};

struct CommRecord {
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::string name;
  bool is_exec = false;
  SampleId sample_id;
};

// TaskRecord is a PERF_RECORD_FORK or PERF_RECORD_EXIT, also of a thread.
struct TaskRecord {
  uint16_t misc = 0;
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t tid = 0;
  uint32_t parent_tid = 0;
  uint64_t time = 0;
  SampleId sample_id;
};

// LostRecord is a PERF_RECORD_LOST or PERF_RECORD_LOST_SAMPLES.
struct LostRecord {
  uint64_t id = 0;  // of the event; 0 in LOST_SAMPLES
  uint64_t count = 0;
  bool only_samples = false;
  SampleId sample_id;
};

// ThrottleRecord is a PERF_RECORD_THROTTLE or PERF_RECORD_UNTHROTTLE.
struct ThrottleRecord {
  bool is_throttled = false;
  uint64_t time = 0;
  uint64_t id = 0;
  uint64_t stream_id = 0;
  SampleId sample_id;
};

// SwitchRecord is a PERF_RECORD_SWITCH or PERF_RECORD_SWITCH_CPU_WIDE, of the thread that sample_id
// names.
struct SwitchRecord {
  bool is_out = false;
  bool is_preempted = false;
  uint32_t other_pid = 0;  // of the thread that comes or went; 0 in SWITCH
  uint32_t other_tid = 0;
  SampleId sample_id;
};

struct NamespacesRecord {
  struct Namespace {
    uint64_t device = 0;
    uint64_t inode = 0;
  };
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::vector<Namespace> namespaces;  // in the order of *_NS_INDEX
  SampleId sample_id;
};

struct KsymbolRecord {
  uint64_t address = 0;
  uint32_t size = 0;
  uint16_t type = 0;  // PERF_RECORD_KSYMBOL_TYPE_*
  bool is_removed = false;
  std::string name;
  SampleId sample_id;
};

struct BpfEventRecord {
  uint16_t type = 0;  // PERF_BPF_EVENT_*
  uint16_t flags = 0;
  uint32_t id = 0;
  uint64_t tag = 0;
  SampleId sample_id;
};

struct CgroupRecord {
  uint64_t id = 0;
  std::string path;
  SampleId sample_id;
};

// TextPokeRecord is a change of kernel code. The spans point into the record.
struct TextPokeRecord {
  uint64_t address = 0;
  std::span<const uint8_t> old_bytes;
  std::span<const uint8_t> new_bytes;
  SampleId sample_id;
};

// `record` is a whole record with its header. These return nothing for a record of another type or
// one too short for its fields. A record too short for its sample_id has one of zeros.
std::optional<MmapRecord> ParseMmap(std::span<const uint8_t> record, const RecordFormat& format);
std::optional<CommRecord> ParseComm(std::span<const uint8_t> record, const RecordFormat& format);
std::optional<TaskRecord> ParseTask(std::span<const uint8_t> record, const RecordFormat& format);
std::optional<LostRecord> ParseLost(std::span<const uint8_t> record, const RecordFormat& format);
std::optional<ThrottleRecord> ParseThrottle(std::span<const uint8_t> record,
                                            const RecordFormat& format);
std::optional<SwitchRecord> ParseSwitch(std::span<const uint8_t> record,
                                        const RecordFormat& format);
std::optional<NamespacesRecord> ParseNamespaces(std::span<const uint8_t> record,
                                                const RecordFormat& format);
std::optional<KsymbolRecord> ParseKsymbol(std::span<const uint8_t> record,
                                          const RecordFormat& format);
std::optional<BpfEventRecord> ParseBpfEvent(std::span<const uint8_t> record,
                                            const RecordFormat& format);
std::optional<CgroupRecord> ParseCgroup(std::span<const uint8_t> record,
                                        const RecordFormat& format);
std::optional<TextPokeRecord> ParseTextPoke(std::span<const uint8_t> record,
                                            const RecordFormat& format);

// Parses the sample_id of any record but a sample.
SampleId ParseSampleId(std::span<const uint8_t> record, const RecordFormat& format);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_RECORDS_H_
