// Counts blocks from bursts of taken branches (software branch tracing, branch stacks).
//
// A burst of N taken branches, worth P events, holds N - 1 streams: the code from the target of one
// branch to the next branch. Each stream adds the weight P / extent to every block that it crosses,
// and c = the sum of the weights. The extent is what the streams cover, in occurrences of the event
// that started the burst: a burst that starts at random is found by so many starts.
//
//   event              extent
//   taken branches     N - 1 (Nowak et al., "Hybrid Basic Block Profiling", section IV)
//   instructions       those in the streams: from behind the first branch to the last one; or the
//                      number that ends all bursts (trace/burst_recorder.h)
//   a clock            the estimated native time of the streams (backends/burst_time.h)
//   cycles             those that the processor counted in the streams of a branch stack
//                      (perf/branch_stack_bursts.h)
//   any other          not known; N - 1, and counts are proportional to something else
//
// Every burst adds P in all, whatever its length: P streams, P instructions, or P ns of code.
//
//   Period 1000. A burst of 5 branches crosses a block in three of its streams, one of 3 branches
//   in both: c = 3 * 1000 / 4 + 2 * 1000 / 2 = 1750.
//   If the periods are instructions, and the bursts hold 40 and 10: c = 3 * 1000 / 40 + 2 * 1000 /
//   10 = 275.
//
// Instructions before the first branch and after the last one are in no stream, so they are neither
// counted nor part of the extent. What one burst loses by that the others make up for.
//
// Unless all have the same extent, it assumes that bursts that start within a burst's length of
// each other have similar ones. A stream is found by the starts before it, as many as there are
// instructions in the N - 1 streams before; it is weighted by those in the streams with which it
// was found. Sums over a program are right in any case, shares only if they do not change from one
// burst to the next:
//
//   for (;;) { for (int i = 0; i < 500; ++i) Nop(); Straight400(); Straight400(); Straight400(); }
//
// Bursts of 256 branches in the loop of 2 instructions hold 510, those that reach the rest up to
// three times as many: the rest, 55 % of all instructions, is estimated at 35 %. With 50,000
// iterations and 250 of the blocks, each 50 %, it is estimated at 49.3 %.
//
// Cycles of branch stacks are all those of the core between two branches. It is assumed that the
// event counts the same ones, which it does not if it leaves out the kernel, whose cycles are in
// the stack:
//
//   for (;;) { getppid(); for (int i = 0; i < 1000; ++i) Nop(); }
//
// Sampled by cycles of user code, with 2 cycles an iteration, 200 a call and 31 streams, a call is
// found by the starts in 62 cycles, and weighs P / 262: calls are estimated at a quarter. So are,
// the less the farther, the iterations next to one.
//
// Each sum is also kept by replicate, of which the burst drew one at random, for its standard error
// (estimate/stream_estimator.h).
#ifndef HBBP_LIB_PROFILE_STREAM_SUMS_H_
#define HBBP_LIB_PROFILE_STREAM_SUMS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace hbbp {

inline constexpr size_t kReplicates = 16;
// A branch stack of the hardware has up to 32 entries.
inline constexpr uint64_t kMaxStreamsOfStack = 31;

// A sum by replicate.
struct ReplicateSums {
  // Single precision suffices, because only errors are computed from it.
  std::array<float, kReplicates> sums{};

  void Add(const ReplicateSums& more, double factor = 1) {
    for (size_t i = 0; i < kReplicates; ++i) {
      sums[i] += static_cast<float>(factor * static_cast<double>(more.sums[i]));
    }
  }
  bool operator==(const ReplicateSums&) const = default;
};

struct StreamSums {
  uint64_t streams = 0;
  double weights = 0;
  ReplicateSums replicates;

  void Add(const StreamSums& more) {
    streams += more.streams;
    weights += more.weights;
    replicates.Add(more.replicates);
  }
};

// Returns the weight of each stream of a burst, or 0 if it has fewer than two branches, which means
// no stream. An extent of 0 stands for the number of streams.
inline double StreamWeight(uint64_t period, size_t branches, double extent = 0) {
  if (branches < 2) return 0;
  return static_cast<double>(period) / (extent != 0 ? extent : static_cast<double>(branches - 1));
}

// Returns the replicate of a burst by its number in the session. It is the same in every run, and
// pseudo-random, so that it is independent of what the program does periodically.
size_t ReplicateOf(uint64_t burst_number);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_STREAM_SUMS_H_
