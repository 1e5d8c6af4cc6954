// Records of the perf ABI, parsed from bytes that need not be trusted.
#ifndef HBBP_LIB_PERF_RECORDS_H_
#define HBBP_LIB_PERF_RECORDS_H_

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hbbp {

// The fields of a PERF_RECORD_SAMPLE up to PERF_SAMPLE_PERIOD; absent ones are 0.
struct SampleRecord {
  uint16_t misc = 0;
  uint64_t ip = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time = 0;
  uint64_t addr = 0;
  uint64_t id = 0;
  uint64_t stream_id = 0;
  uint32_t cpu = 0;
  uint64_t period = 0;
};

// PERF_RECORD_MMAP2, of executable memory.
struct Mmap2Record {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;
  uint64_t device = 0;  // makedev; 0 if the record has a build ID instead
  uint64_t inode = 0;   // likewise
  std::vector<uint8_t> build_id;
  std::string path;
  uint64_t time = 0;
};

// PERF_RECORD_FORK, also of threads.
struct ForkRecord {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t tid = 0;
  uint32_t parent_tid = 0;
};

struct CommRecord {
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::string name;
  uint64_t time = 0;
};

// `record` is a whole record with its header; `sample_type` is that of its event, which must have
// sample_id_all set. Nothing for a record of another type or one too short for its fields.
std::optional<SampleRecord> ParseSample(std::span<const uint8_t> record, uint64_t sample_type);
std::optional<Mmap2Record> ParseMmap2(std::span<const uint8_t> record, uint64_t sample_type);
std::optional<CommRecord> ParseComm(std::span<const uint8_t> record, uint64_t sample_type);
std::optional<ForkRecord> ParseFork(std::span<const uint8_t> record);
// How many records a PERF_RECORD_LOST or PERF_RECORD_LOST_SAMPLES tells of.
std::optional<uint64_t> ParseLost(std::span<const uint8_t> record);

// Precondition: a whole header.
perf_event_header HeaderOf(std::span<const uint8_t> record);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_RECORDS_H_
