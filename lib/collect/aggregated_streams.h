// AggregatedStreams makes counts of branches and streams that were added up separately.
//
// In such text, branches and the code behind them are different lines: it says how often each
// branch was taken, and how often each stream was seen, not which stream followed which branch. At
// a target they are joined in the order of their addresses, so that both sums stay as they are:
//
//   branches a -> t 5, b -> t 4; streams t..u 7, t..v 1:
//   a -> t..u 5, b -> t..u 2, b -> t..v 1, b -> t without a stream 1
//
// No count depends on which way they are joined. A branch without a stream was the newest one of a
// branch stack, and a stream without a branch has an unknown source.
//
// How many samples a sum is of is not known. The errors are upper bounds: all streams of a stack of
// 32 branches may be the same one, so that a sum of n varies like n / 31 samples of 31 each.
#ifndef HBBP_LIB_COLLECT_AGGREGATED_STREAMS_H_
#define HBBP_LIB_COLLECT_AGGREGATED_STREAMS_H_

#include <compare>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <tuple>
#include <vector>

#include "profile/profile_data.h"

namespace hbbp {

// Returns the sums by replicate of n streams, of which up to 31 each are of one sample.
ReplicateSums AssignClumps(uint64_t streams, uint64_t seed);

class AggregatedStreams {
 public:
  struct Location {
    uint32_t module = kNoModule;
    uint64_t offset = 0;  // like IpCount::offset

    auto operator<=>(const Location&) const = default;
  };

  explicit AggregatedStreams(std::pmr::memory_resource* memory)
      : branches_(memory), streams_(memory) {}

  // These throw std::bad_alloc, and have added nothing then.
  void AddBranch(Location from, Location to, uint64_t count);
  void AddStream(Location start, Location end, uint64_t count);
  // Adds streams of which it is known that they followed a branch.
  void AddTrace(Location from, Location start, Location end, uint64_t count);

  // Appends the counts, of source 0 and thread 0, and forgets the rest.
  void AppendTo(std::vector<BranchCount>* counts);

 private:
  // `other` is the source of a branch, or the end of a stream.
  struct Sum {
    Location at;
    Location other;
    uint64_t count = 0;

    bool IsBefore(const Sum& more) const {
      return std::tie(at, other) < std::tie(more.at, more.other);
    }
  };

  static void Append(Location from, Location start, std::optional<Location> end, uint64_t count,
                     std::vector<BranchCount>* counts);
  static void SortAndAdd(std::pmr::vector<Sum>* sums);

  std::pmr::vector<Sum> branches_;
  std::pmr::vector<Sum> streams_;
  std::vector<BranchCount> traces_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_AGGREGATED_STREAMS_H_
