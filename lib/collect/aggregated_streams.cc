#include "collect/aggregated_streams.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "base/random_bits.h"

namespace hbbp {
namespace {

// More clumps are assigned by the normal distribution. From here on no sum is below 0: its mean is
// 11.3 times its deviation, and no difference of two sums of NextNormal reaches that.
constexpr uint64_t kMaxClumps = 2048;

// The sum of twelve fractions has a variance of 1, and differs from 6 by 6 at most.
double NextNormal(RandomBits* random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random->NextFraction();
  return sum;
}

}  // namespace

ReplicateSums AssignClumps(uint64_t streams, uint64_t seed) {
  ReplicateSums result;
  RandomBits random(seed);
  if (streams <= kMaxClumps * kMaxStreamsOfStack) {
    for (uint64_t rest = streams; rest != 0;) {
      const uint64_t clump = std::min(rest, kMaxStreamsOfStack);
      result.sums[random.Next() % kReplicates] += static_cast<float>(clump);
      rest -= clump;
    }
    return result;
  }
  const auto all = static_cast<double>(streams);
  const double deviation = std::sqrt(static_cast<double>(kMaxStreamsOfStack) * all / kReplicates);
  std::array<double, kReplicates> normals;
  double mean = 0;
  for (double& normal : normals) {
    normal = NextNormal(&random);
    mean += normal / kReplicates;
  }
  for (size_t i = 0; i < kReplicates; ++i) {
    result.sums[i] = static_cast<float>(all / kReplicates + deviation * (normals[i] - mean));
  }
  return result;
}

void AggregatedStreams::AddBranch(Location from, Location to, uint64_t count) {
  branches_.push_back({to, from, count});
}

void AggregatedStreams::AddStream(Location start, Location end, uint64_t count) {
  streams_.push_back({start, end, count});
}

void AggregatedStreams::AddTrace(Location from, Location start, Location end, uint64_t count) {
  Append(from, start, end, count, &traces_);
}

void AggregatedStreams::Append(Location from, Location start, std::optional<Location> end,
                               uint64_t count, std::vector<BranchCount>* counts) {
  if (count == 0) return;
  BranchCount branch;
  branch.from_module = from.module;
  branch.from = from.offset;
  branch.to_module = start.module;
  branch.to = start.offset;
  branch.number = count;
  if (end) {
    const bool has_end = end->module == start.module && end->offset < kStreamCut;
    branch.stream_end = has_end ? end->offset : kStreamLeavesModule;
    branch.weights = static_cast<double>(count);
    branch.replicates = AssignClumps(count, counts->size());
  }
  counts->push_back(branch);
}

void AggregatedStreams::SortAndAdd(std::pmr::vector<Sum>* sums) {
  std::sort(sums->begin(), sums->end(), [](const Sum& a, const Sum& b) { return a.IsBefore(b); });
  size_t kept = 0;
  for (const Sum& sum : *sums) {
    if (kept > 0 && !(*sums)[kept - 1].IsBefore(sum)) {
      (*sums)[kept - 1].count += sum.count;
    } else {
      (*sums)[kept++] = sum;
    }
  }
  sums->resize(kept);
}

void AggregatedStreams::AppendTo(std::vector<BranchCount>* counts) {
  SortAndAdd(&branches_);
  SortAndAdd(&streams_);
  auto branch = branches_.begin();
  auto stream = streams_.begin();
  while (branch != branches_.end() || stream != streams_.end()) {
    const bool has_branch =
        stream == streams_.end() || (branch != branches_.end() && branch->at <= stream->at);
    const bool has_stream =
        branch == branches_.end() || (stream != streams_.end() && stream->at <= branch->at);
    const uint64_t count = !has_stream   ? branch->count
                           : !has_branch ? stream->count
                                         : std::min(branch->count, stream->count);
    const Location start = has_branch ? branch->at : stream->at;
    Append(has_branch ? branch->other : Location{}, start,
           has_stream ? std::optional(stream->other) : std::nullopt, count, counts);
    if (has_branch && (branch->count -= count) == 0) ++branch;
    if (has_stream && (stream->count -= count) == 0) ++stream;
  }
  counts->insert(counts->end(), traces_.begin(), traces_.end());
  branches_.clear();
  streams_.clear();
  traces_.clear();
}

}  // namespace hbbp
