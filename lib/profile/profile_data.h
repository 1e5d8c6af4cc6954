// ProfileData is what a session observed, before any estimation.
//
// Addresses are counted, not blocks: finding blocks needs the code of the modules and a decoder,
// which would cost the profiled process too much. Analyze() does that (analysis/analyze.h).
#ifndef HBBP_LIB_PROFILE_PROFILE_DATA_H_
#define HBBP_LIB_PROFILE_PROFILE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "base/work.h"
#include "events/ibs_sample.h"
#include "events/samples.h"
#include "image/named_range.h"
#include "profile/kernel_record.h"
#include "profile/stream_sums.h"
#include "profile/time_slices.h"
#include "symbols/code_lines.h"

namespace hbbp {

// The values are those of hbbp_module_kind; capi/ asserts it.
enum class ModuleKind : int32_t { kFile = 0, kVdso = 1, kAnonymous = 2, kKernel = 3 };

// These are ModuleRecord::path of the kernel of this machine, and of the kernel of a recording.
inline constexpr char kRunningKernel[] = "[kernel]";
inline constexpr char kRecordedKernel[] = "[kernel.kallsyms]";

// This is CodeChunk::name of code of a kernel that was changed, or generated, while it was sampled,
// as most samples saw it.
inline constexpr char kPokedCode[] = "text_poke";

struct CodeChunk {
  uint64_t offset;  // like IpCount::offset
  std::vector<uint8_t> bytes;
  std::string name = {};  // of generated code that is a function; kPokedCode; else empty
  CodeLines lines = {};   // of generated code, if they are known
};

struct ModuleRecord {
  ModuleKind kind = ModuleKind::kFile;
  std::string path;  // where it was when it was profiled, by which everything names it
  // Of a recording from elsewhere: where the file is here. Empty: at `path`.
  std::string local_path;
  std::vector<uint8_t> build_id;
  uint64_t device = 0;  // of the mapped file; 0: unknown
  uint64_t inode = 0;
  // For kFile and kVdso the image of the file, for kAnonymous and kKernel the memory around samples
  // or the code that was fed; they are used where the file at `path` cannot be. By rising offset.
  std::vector<CodeChunk> chunks;
  // The file, held open since its first sample, as long as the profiled process lives. It may have
  // been deleted or replaced since. It is not stored.
  std::shared_ptr<const UniqueFd> pinned_file;
  KernelRecord kernel;  // for kKernel
  // For kAnonymous in a sum: which process generated the code. 0: that of the profile.
  uint64_t process = 0;
  // For kAnonymous: functions with samples that a perf map names, whose code is unknown. By
  // address, without overlaps.
  std::vector<NamedRange> functions;
};

// Returns where to open the file of a module.
inline const std::string& LocalPath(const ModuleRecord& module) {
  return module.local_path.empty() ? module.path : module.local_path;
}

inline void SetLocalPath(std::string path, ModuleRecord* module) {
  module->local_path = path == module->path ? std::string() : std::move(path);
}

struct ThreadRecord {
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::string name;
};

struct SourceRecord {
  SourceKind kind = SourceKind::kNone;
  EventKind event = EventKind::kAuto;
  PeriodMode period_mode = PeriodMode::kPrime;
  bool include_kernel = false;
  uint64_t period = 0;
  uint64_t frequency_hz = 0;
  uint64_t lost = 0;
  uint64_t throttled = 0;
  uint64_t unmapped = 0;  // IP samples; branches to unmapped addresses are in ProfileData::branches
  std::string note;
  std::string event_name;                    // of an imported source, as in its recording
  TraceStatistics trace;                     // of software branch tracing; counters of any source
  uint32_t precise_ip = 0;                   // from its perf_event_attr: 0 any skid, ..., 3 none
  EbsMethod ebs_method = EbsMethod::kPlain;  // never kAuto
  // The range of periods of an imported source; 0 without samples.
  uint64_t smallest_period = 0;
  uint64_t largest_period = 0;
  BurstExtent burst_extent = BurstExtent::kStreams;
};

// The samples at one address, by one thread, source and slice of time.
struct IpCount {
  uint32_t source = 0;  // indices of the vectors of ProfileData
  uint32_t thread = 0;
  uint32_t module = 0;
  IpPosition position = IpPosition::kAt;
  // The offset in the file for kFile, in the image for kVdso, and the run-time address otherwise.
  uint64_t offset = 0;
  uint64_t samples = 0;
  double period_sum = 0;      // of the samples' periods: events observed
  double period_squares = 0;  // sum of squares: the variance of period_sum (Poisson)
  uint32_t slice = kNoSlice;
};

// This is BranchCount::from_module and to_module of an address without a mapping.
inline constexpr uint32_t kNoModule = UINT32_MAX;
// This is BranchCount::stream_end of the last branch of a burst, which no stream follows. Each
// burst has exactly one, so these count bursts.
inline constexpr uint64_t kNoStream = UINT64_MAX;
// This is BranchCount::stream_end where the next branch was in another module than the target.
inline constexpr uint64_t kStreamLeavesModule = UINT64_MAX - 1;

// This is BranchCount::stream_end where the rest of a branch stack was dropped.
inline constexpr uint64_t kStreamCut = UINT64_MAX - 2;

// A taken branch, by one thread, source and slice of time, and the stream of code that followed it.
struct BranchCount {
  uint32_t source = 0;  // indices of the vectors of ProfileData
  uint32_t thread = 0;
  uint32_t from_module = 0;
  uint32_t to_module = 0;
  // Like IpCount::offset; run-time addresses without a module.
  uint64_t from = 0;  // the branch instruction
  uint64_t to = 0;
  uint64_t stream_end = kNoStream;  // the branch that ended the stream, in to_module
  uint64_t number = 0;
  double weights = 0;  // sum of StreamWeight; 0 without a stream
  ReplicateSums replicates;
  // For hardware branch stacks: how often it was the oldest entry, and how often it would have been
  // if all entries of a stack were equally likely.
  uint64_t oldest = 0;
  double oldest_expected = 0;
  uint32_t slice = kNoSlice;

  bool HasStream() const { return stream_end != kNoStream && stream_end != kStreamCut; }
};

// A sum of IBS samples by thread and source: of an event of one instruction (perf/ibs_events.h), or
// of samples whose latency was in a bucket (profile/ibs_buckets.h), of all instructions or, for the
// latency of loads, of one instruction and level of memory.
struct IbsCount {
  uint32_t source = 0;  // indices of the vectors of ProfileData
  uint32_t thread = 0;
  uint32_t module = 0;  // kNoModule: of all instructions
  uint32_t name = 0;    // of the event or latency: index of ibs_names
  uint64_t offset = 0;  // like IpCount::offset
  uint64_t sum = 0;     // of samples, or of cycles
  uint32_t level = 0;   // IbsLevel
  uint32_t bucket = 0;
};

// This is IbsAccesses::name of what is not in a block.
inline constexpr uint32_t kNoIbsName = UINT32_MAX;

// Accesses by one thread, from IBS samples of one source, to a range of memory: to a cache line, or
// to data. Data is a range in a module, or a block that the process reported, or all other memory.
struct IbsAccesses {
  uint32_t source = 0;
  uint32_t thread = 0;
  // The first byte of a line, in the memory of the process; of a range, its ModuleAddress; else 0.
  uint64_t address = 0;
  uint64_t loads = 0;
  uint64_t stores = 0;
  uint64_t misses = 0;  // in the L1 data cache
  uint64_t miss_cycles = 0;
  uint64_t local = 0;  // loads with data from beyond the caches of their core, from its node
  uint64_t remote = 0;
  // These are of data only.
  uint32_t module = kNoModule;
  uint32_t name = kNoIbsName;    // of a block: index of ibs_names
  uint64_t bytes = 0;            // of a range in a module
  uint32_t node = kUnknownNode;  // NUMA node of the memory of a line
};

// Returns the seed for AssignReplicates (estimate/ebs_replicates.h), which differs for samples that
// were counted separately.
uint64_t SeedOf(const IpCount& count);

struct ProfileData {
  uint32_t pid = 0;
  uint64_t start_time_ns = 0;  // CLOCK_REALTIME
  uint64_t duration_ns = 0;
  std::string command;
  std::string host;
  uint64_t recordings = 0;  // that a sum was merged of (profile_merger.h); 0: it is a recording
  std::vector<SourceRecord> sources;
  std::vector<ThreadRecord> threads;
  std::vector<ModuleRecord> modules;
  TimeSlices slices;
  // Sorted by module, offset, position, source, thread, slice.
  std::vector<IpCount> counts;
  // Sorted by to_module, to, stream_end, from_module, from, source, thread, slice; each once.
  std::vector<BranchCount> branches;
  std::vector<std::string> ibs_names;  // each once
  // Both are sorted by module, offset, name, level, bucket, source, thread.
  std::vector<IbsCount> ibs_counts;    // by events
  std::vector<IbsCount> ibs_buckets;   // by latencies
  std::vector<IbsAccesses> ibs_lines;  // sorted by address, source, thread, node
  std::vector<IbsAccesses> ibs_data;   // sorted by module, name, address, bytes, source, thread
  std::vector<uint8_t> kept_bursts;    // encoded (kept_bursts.h); empty: there are none
};

// Sorts `counts` and adds up those that differ only in their numbers. If `check` throws, they are
// in an unspecified state.
void Normalize(std::vector<IpCount>* counts, CancelCheck* check = nullptr);
// Does the same; the time depends on the branches that were appended to sorted ones.
void Normalize(std::vector<BranchCount>* branches, CancelCheck* check = nullptr);
// Does the same; it works without extra memory too, but then takes longer.
void Normalize(std::pmr::vector<BranchCount>* branches);
// Adds the numbers of `more` to those of `sum`.
void AddAccesses(const IbsAccesses& more, IbsAccesses* sum);
// Returns how many `branches`, which must be sorted, there would be without slices.
size_t CountWithoutSlices(std::span<const BranchCount> branches);

void Normalize(std::vector<IbsCount>* counts, CancelCheck* check = nullptr);
void Normalize(std::vector<IbsAccesses>* accesses, CancelCheck* check = nullptr);

// Normalizes all lists of IBS samples.
void NormalizeIbs(ProfileData* data, CancelCheck* check);
// Normalizes all lists of counts.
void Normalize(ProfileData* data, CancelCheck* check);

void SortChunks(std::vector<CodeChunk>* chunks);

// Reserves space for `more` branches, doubling it if there is memory for that. Throws
// std::bad_alloc, and changes nothing then.
void MakeRoomFor(size_t more, std::pmr::vector<BranchCount>* branches);
// Returns normalized `branches`, of which so many at the beginning are sorted. With `check`, throws
// WorkCancelled if it is cancelled.
std::vector<BranchCount> CopyNormalized(std::span<const BranchCount> branches, size_t sorted,
                                        CancelCheck* check);

// Adds up numbers, counters by name; different modes and methods are listed.
void AddTraceStatistics(const TraceStatistics& more, TraceStatistics* sum);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_PROFILE_DATA_H_
