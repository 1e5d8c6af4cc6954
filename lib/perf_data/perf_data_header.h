// PerfDataHeader has what a recording says about the machine and the command that made it.
#ifndef HBBP_LIB_PERF_DATA_PERF_DATA_HEADER_H_
#define HBBP_LIB_PERF_DATA_PERF_DATA_HEADER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "perf/byte_order.h"
#include "perf/memory_nodes.h"
#include "perf_data/bpf_programs.h"
#include "perf_data/perf_data_event.h"

namespace hbbp {

// These are the bits of the header of a file, and the numbers of records of type HEADER_FEATURE.
enum class PerfFeature : uint32_t {
  kBuildId = 2,
  kHostname = 3,
  kOsRelease = 4,
  kVersion = 5,
  kArch = 6,
  kCpuCount = 7,
  kCpuDescription = 8,
  kCpuId = 9,
  kTotalMemory = 10,
  kCommandLine = 11,
  kEventDescription = 12,
  kBranchStack = 15,
  kPmuMappings = 16,
  kGroupDescription = 17,
  kSampleTime = 21,
  kMemoryTopology = 22,
  kClockId = 23,
  kBpfPrograms = 25,
  kCompressed = 27,
  kCpuPmuCaps = 28,
  kClockData = 29,
  kHybridTopology = 30,
  kPmuCaps = 31,
};
inline constexpr size_t kPerfFeatureBits = 256;

// Everything that a recording does not have is empty.
struct PerfDataHeader {
  struct FileBuildId {
    uint16_t misc = 0;  // PERF_RECORD_MISC_KERNEL, _USER, ...
    int32_t pid = 0;    // of a guest; -1 for the host
    std::vector<uint8_t> build_id;
    std::string path;
  };
  struct Group {
    std::string name;
    uint32_t leader = 0;  // index of an event
    uint32_t members = 0;
  };
  struct Capabilities {
    std::string pmu;  // empty: of the CPU
    std::vector<std::pair<std::string, std::string>> values;
  };
  struct Compression {
    uint32_t version = 0;
    uint32_t type = 0;  // 1: zstd
    uint32_t level = 0;
    uint32_t ratio = 0;
    uint32_t block_bytes = 0;
  };
  struct ClockPair {
    uint32_t clock_id = 0;
    uint64_t wall_time = 0;
    uint64_t clock_time = 0;
  };
  struct HybridPmu {
    std::string name;
    std::string cpus;
  };

  std::string hostname;
  std::string os_release;
  std::string perf_version;
  std::string arch;
  std::string cpu_description;
  std::string cpu_id;
  std::optional<uint32_t> cpus_available;
  std::optional<uint32_t> cpus_online;
  std::optional<uint64_t> total_memory_kib;
  std::vector<std::string> command_line;
  std::vector<FileBuildId> build_ids;
  bool has_branch_stacks = false;
  std::vector<std::pair<uint32_t, std::string>> pmus;  // type of an attr, name
  std::vector<Group> groups;
  std::optional<uint64_t> first_sample_time;
  std::optional<uint64_t> last_sample_time;
  std::optional<Compression> compression;
  std::vector<Capabilities> capabilities;
  std::optional<uint64_t> clock_resolution;  // ns
  std::optional<ClockPair> clock;
  std::vector<HybridPmu> hybrid_pmus;
  MemoryNodes memory_nodes;
  std::vector<BpfFunction> bpf_functions;

  // Returns how many entries a branch stack of this machine has, if the recording says it.
  std::optional<uint32_t> BranchStackDepth() const;
};

// Reads one feature section into `header`, and names and ids of events into `events`. Returns false
// if `bytes` is not what it should be; what came before is kept. Other features are skipped.
bool ParseFeature(PerfFeature feature, std::span<const uint8_t> bytes, ByteOrder order,
                  PerfDataHeader* header, EventTable* events);

// Returns whether ParseFeature reads it.
bool IsKnownFeature(PerfFeature feature);

// Parses a record of type HEADER_BUILD_ID, which a feature section consists of, too.
bool ParseBuildId(std::span<const uint8_t> record, ByteOrder order,
                  PerfDataHeader::FileBuildId* build_id);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_PERF_DATA_HEADER_H_
