// The sample types that every source produces and every estimator reads.
#ifndef HBBP_LIB_EVENTS_SAMPLES_H_
#define HBBP_LIB_EVENTS_SAMPLES_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/recorded_access.h"
#include "base/taken_branch.h"

namespace hbbp {

// The values of these enums are those of include/hbbp/samples.h and profile.h; capi/ asserts it.
enum class SourceKind : int32_t {
  kNone = 0,
  kEbs = 1,
  kLbr = 2,
  kIbs = 3,
  kSwbt = 4,
  kTruth = 5,
  kAuto = 6,        // of requests only, as what follows
  kEbsAndSwbt = 7,  // both at once
  kCombined = 8,    // of counts only: several sources together
  kPerf = 10,       // of requests only: branch records, else IP samples
};
enum class EventKind : int32_t {
  kAuto = 0,
  kTaskClock = 1,
  kCpuClock = 2,
  kInstructions = 3,
  kCycles = 4,
  kTakenBranches = 5,
  kOther = 6,  // SourceRecord::event_name says which
  kUops = 7,   // dispatched, as AMD's IBS counts them
};
enum class PeriodMode : int32_t { kPrime = 0, kFixed = 1, kRandom = 2, kByFrequency = 3 };
enum class Unit : int32_t {
  kInstructions = 0,
  kNanoseconds = 1,
  kCycles = 2,
  kTakenBranches = 3,
  kEvents = 4,
  kUops = 5
};

// Do its samples have consecutive taken branches?
constexpr bool HasStreams(SourceKind source) {
  return source == SourceKind::kLbr || source == SourceKind::kSwbt;
}

// Is the error of its counts that of replicates (estimate/stream_estimator.h)?
constexpr bool HasReplicates(SourceKind source) {
  return HasStreams(source) || source == SourceKind::kCombined;
}

// Returns a name such as "swbt", or "none" for what is of requests only.
const char* SourceName(SourceKind source);
// Returns a name such as "task-clock", as perf spells it.
const char* EventName(EventKind event);
Unit UnitOf(EventKind event);

// Says where the sampled instruction is.
enum class IpPosition : uint32_t {
  kAt = 0,     // it starts at the address
  kAfter = 1,  // it ends there: control ran on from it
};

// Says how instruction pointers of IP samples were taken; see perf/ip_correction.h.
enum class EbsMethod : int32_t { kAuto = 0, kPlain = 1, kIpPlusOne = 2 };

// Says by what the period of a burst is divided to weigh each of its streams
// (estimate/stream_estimator.h). The values are those of profile files.
enum class BurstExtent : int32_t {
  kStreams = 0,  // their number
  kEvents = 1    // the occurrences of the sampled event that are in them
};

struct IpSample {
  RuntimeAddress ip;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint64_t period = 0;   // occurrences of the event that it stands for
  uint32_t source = 0;   // which of its backend's
  IpPosition position = IpPosition::kAt;
};

// Says which part of the branch stack or of the traced branches of a sample a burst is.
struct StackPart {
  uint32_t entries = 0;     // of the stack, without those that are empty; 0: of no such stack
  bool has_oldest = false;  // the first branch is the oldest of them
  // Something after the last branch was left out, and more parts follow at once.
  bool is_continued = false;
};

// Consecutive taken branches of one thread. N branches make N - 1 streams: the code from the target
// of one to the source of the next.
struct BurstSample {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time_ns = 0;                   // CLOCK_MONOTONIC
  uint64_t period = 0;                    // occurrences of the event that it stands for
  std::span<const TakenBranch> branches;  // oldest first; valid during the call
  uint32_t source = 0;                    // which of its backend's
  StackPart stack;
  // Its period is divided by this to weigh each of its streams: the occurrences of the event in
  // them, or the number of streams; of all parts, as the period, where it is one of several. 0: its
  // own streams.
  double extent = 0;
  uint32_t repeats = 1;  // how often the same was seen
  // In their order; empty if they were not recorded. Valid during the call.
  std::span<const RecordedAccess> accesses;
};

// Makes "a; b" of "a" and "b".
inline void AppendNote(const std::string& note, std::string* notes) {
  if (!notes->empty() && !note.empty()) *notes += "; ";
  *notes += note;
}

// Counters have names; those that are 0 are left out.
using Counters = std::vector<std::pair<std::string, uint64_t>>;

inline void AddCounter(const char* name, uint64_t number, Counters* counters) {
  if (number != 0) counters->emplace_back(name, number);
}

// Says what software branch tracing did, besides its bursts. The numbers are sums since the backend
// was started.
struct TraceStatistics {
  std::string mode;    // "lookahead", "breakpoint", "verify"
  std::string method;  // what it samples and steps with, and why nothing better: one line
  uint64_t bursts = 0;
  uint64_t taken_branches = 0;
  uint64_t breakpoints = 0;             // that were hit
  uint64_t lookahead_instructions = 0;  // interpreted
  uint64_t decoded_instructions = 0;    // that the code cache did not have
  uint64_t handler_ns = 0;              // time in signal handlers
  uint64_t verified_branches = 0;       // mode verify: compared with a native walk
  uint64_t disagreements = 0;           // of these, wrong
  Counters counters;                    // why bursts ended early, samples were dropped, ...
};

}  // namespace hbbp

#endif  // HBBP_LIB_EVENTS_SAMPLES_H_
