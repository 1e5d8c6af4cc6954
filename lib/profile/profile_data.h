// ProfileData: what a session observed, before any estimation.
//
// Addresses are counted, not blocks: finding blocks needs the code of the modules and a decoder,
// which the profiled process should not pay for. Analyze() does that (analysis/analyze.h).
#ifndef HBBP_LIB_PROFILE_PROFILE_DATA_H_
#define HBBP_LIB_PROFILE_PROFILE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "base/work.h"
#include "events/samples.h"
#include "image/named_range.h"
#include "profile/kernel_record.h"
#include "profile/stream_sums.h"
#include "profile/time_slices.h"
#include "symbols/code_lines.h"

namespace hbbp {

// The values are those of hbbp_module_kind; capi/ asserts it.
enum class ModuleKind : int32_t { kFile = 0, kVdso = 1, kAnonymous = 2, kKernel = 3 };

// ModuleRecord::path of the kernel of this machine, and of the kernel of a recording.
inline constexpr char kRunningKernel[] = "[kernel]";
inline constexpr char kRecordedKernel[] = "[kernel.kallsyms]";

struct CodeChunk {
  uint64_t offset;  // as IpCount::offset
  std::vector<uint8_t> bytes;
  std::string name = {};  // of generated code that is known to be a function; else empty
  CodeLines lines = {};   // of generated code, if they are known
};

struct ModuleRecord {
  ModuleKind kind = ModuleKind::kFile;
  std::string path;
  std::vector<uint8_t> build_id;
  uint64_t device = 0;  // of the mapped file; 0 if unknown
  uint64_t inode = 0;
  // For kFile and kVdso the image of the file, for kAnonymous and kKernel the memory around samples
  // or the code that was fed; where the file at `path` cannot serve. By rising offset.
  std::vector<CodeChunk> chunks;
  // The file, held open since its first sample, as long as the profiled process lives. It may
  // have been deleted or replaced since. Not stored.
  std::shared_ptr<const UniqueFd> pinned_file;
  KernelRecord kernel;  // of kKernel
  // Of kAnonymous: functions with samples that a perf map names, whose code is not known. By
  // address, without overlaps.
  std::vector<NamedRange> functions;
};

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
  uint64_t unmapped = 0;  // IP samples; branches to nowhere are among ProfileData::branches
  std::string note;
  std::string event_name;                    // of an imported source, as its recording spells it
  TraceStatistics trace;                     // of software branch tracing; counters of any source
  uint32_t precise_ip = 0;                   // of its perf_event_attr: 0 any skid, ..., 3 none
  EbsMethod ebs_method = EbsMethod::kPlain;  // never kAuto
  // Of the samples of an imported source; 0 without any.
  uint64_t smallest_period = 0;
  uint64_t largest_period = 0;
  BurstExtent burst_extent = BurstExtent::kStreams;
};

// Samples at one address, of one thread, from one source, in one slice of time.
struct IpCount {
  uint32_t source = 0;  // indices of the vectors of ProfileData
  uint32_t thread = 0;
  uint32_t module = 0;
  IpPosition position = IpPosition::kAt;
  // In the file for kFile, in the image for kVdso, the runtime address otherwise.
  uint64_t offset = 0;
  uint64_t samples = 0;
  double period_sum = 0;      // of the samples' periods: events observed
  double period_squares = 0;  // sum of squares: the variance of period_sum (Poisson)
  uint32_t slice = kNoSlice;
};

// BranchCount::from_module and to_module of an address that nothing was mapped at.
inline constexpr uint32_t kNoModule = UINT32_MAX;
// BranchCount::stream_end of the last branch of a burst: no stream follows it. Each burst has
// exactly one, so these count bursts.
inline constexpr uint64_t kNoStream = UINT64_MAX;
// BranchCount::stream_end where the next branch was in another module than the target.
inline constexpr uint64_t kStreamLeavesModule = UINT64_MAX - 1;

// BranchCount::stream_end where what follows of a branch stack was left out, but there is more of
// it.
inline constexpr uint64_t kStreamCut = UINT64_MAX - 2;

// A taken branch, of one thread, from one source, in one slice of time, and the stream of code that
// followed it.
struct BranchCount {
  uint32_t source = 0;  // indices of the vectors of ProfileData
  uint32_t thread = 0;
  uint32_t from_module = 0;
  uint32_t to_module = 0;
  // As IpCount::offset; run-time addresses where there is no module.
  uint64_t from = 0;  // the branch instruction
  uint64_t to = 0;
  uint64_t stream_end = kNoStream;  // the branch that ended the stream, in to_module
  uint64_t number = 0;
  double weights = 0;  // sum of StreamWeight; 0 without a stream
  ReplicateSums replicates;
  // Of hardware branch stacks: how often it was the oldest entry, and how often it would have been
  // if every place in a stack were as likely.
  uint64_t oldest = 0;
  double oldest_expected = 0;
  uint32_t slice = kNoSlice;

  bool HasStream() const { return stream_end != kNoStream && stream_end != kStreamCut; }
};

// What IBS samples of one instruction, thread and source were, by one event (perf/ibs_events.h).
struct IbsCount {
  uint32_t source = 0;  // indices of the vectors of ProfileData
  uint32_t thread = 0;
  uint32_t module = 0;
  uint32_t event = 0;   // of ibs_names
  uint64_t offset = 0;  // as IpCount::offset
  uint64_t sum = 0;     // of samples, or of cycles
};

// IBS samples of one thread and source whose latency was in a bucket (profile/ibs_buckets.h).
struct IbsBucket {
  uint32_t source = 0;
  uint32_t thread = 0;
  uint32_t latency = 0;  // of ibs_names
  uint32_t bucket = 0;
  uint64_t samples = 0;
};

// Accesses of one thread to one cache line, by IBS samples of one source.
struct IbsLine {
  uint32_t source = 0;
  uint32_t thread = 0;
  uint64_t address = 0;  // of its first byte, in the memory of the process
  uint64_t loads = 0;
  uint64_t stores = 0;
  uint64_t misses = 0;  // of the L1 data cache
  uint64_t miss_cycles = 0;
};

// For AssignReplicates (estimate/ebs_replicates.h): what was counted apart is dealt apart.
uint64_t SeedOf(const IpCount& count);

struct ProfileData {
  uint32_t pid = 0;
  uint64_t start_time_ns = 0;  // CLOCK_REALTIME
  uint64_t duration_ns = 0;
  std::string command;
  std::string host;
  std::vector<SourceRecord> sources;
  std::vector<ThreadRecord> threads;
  std::vector<ModuleRecord> modules;
  TimeSlices slices;
  // Sorted by module, offset, position, source, thread, slice.
  std::vector<IpCount> counts;
  // Sorted by to_module, to, stream_end, from_module, from, source, thread, slice; no two alike.
  std::vector<BranchCount> branches;
  std::vector<std::string> ibs_names;  // no two alike
  std::vector<IbsCount> ibs_counts;    // sorted by module, offset, event, source, thread
  std::vector<IbsBucket> ibs_buckets;  // sorted by latency, bucket, source, thread
  std::vector<IbsLine> ibs_lines;      // sorted by address, source, thread
};

// Sorts `counts` and adds up those that agree in everything but their numbers. If `check` throws,
// what they are then is not known.
void Normalize(std::vector<IpCount>* counts, CancelCheck* check = nullptr);
// The same; takes time for what was added behind those that are sorted.
void Normalize(std::vector<BranchCount>* branches, CancelCheck* check = nullptr);
// The same; gets by without memory, but then takes longer.
void Normalize(std::pmr::vector<BranchCount>* branches);
// How many there would be if slices were not told apart; `branches` are sorted.
size_t CountWithoutSlices(std::span<const BranchCount> branches);

void Normalize(std::vector<IbsCount>* counts, CancelCheck* check = nullptr);
void Normalize(std::vector<IbsBucket>* buckets, CancelCheck* check = nullptr);
void Normalize(std::vector<IbsLine>* lines, CancelCheck* check = nullptr);

// Room for so many more, twice as much as there was if there is memory for that. Throws
// std::bad_alloc, and changes nothing then.
void MakeRoomFor(size_t more, std::pmr::vector<BranchCount>* branches);
// Appends `from` to `to`; with `check`, throws WorkCancelled if it is called off.
void CopyInSteps(std::span<const BranchCount> from, CancelCheck* check,
                 std::vector<BranchCount>* to);

// Numbers add up, counters by name; modes and rungs that differ are listed one after the other.
void AddTraceStatistics(const TraceStatistics& more, TraceStatistics* sum);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_PROFILE_DATA_H_
