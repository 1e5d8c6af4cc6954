#include "collect/aggregated_streams.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory_resource>
#include <numeric>
#include <string>
#include <vector>

#include "estimate/stream_estimator.h"

namespace hbbp {
namespace {

using Location = AggregatedStreams::Location;

constexpr Location In(uint64_t offset, uint32_t module = 0) { return {module, offset}; }

// Returns "FROM TO END" with its number.
std::map<std::string, uint64_t> Listed(AggregatedStreams* streams) {
  std::vector<BranchCount> counts;
  streams->AppendTo(&counts);
  std::map<std::string, uint64_t> listed;
  for (const BranchCount& count : counts) {
    std::string text = count.from_module == kNoModule ? "?" : std::to_string(count.from);
    text += " " + std::to_string(count.to) + " ";
    text += !count.HasStream()                        ? "none"
            : count.stream_end == kStreamLeavesModule ? "leaves"
                                                      : std::to_string(count.stream_end);
    CHECK(listed.emplace(text, count.number).second);
    CHECK(count.weights == (count.HasStream() ? static_cast<double>(count.number) : 0));
  }
  return listed;
}

AggregatedStreams Empty() { return AggregatedStreams(std::pmr::new_delete_resource()); }

TEST_CASE("branches and streams are joined at their targets, and keep their sums") {
  AggregatedStreams streams = Empty();
  streams.AddStream(In(100), In(130), 1);
  streams.AddStream(In(100), In(120), 7);
  streams.AddBranch(In(2), In(100), 4);
  streams.AddBranch(In(1), In(100), 2);
  streams.AddBranch(In(1), In(100), 3);
  CHECK(Listed(&streams) ==
        std::map<std::string, uint64_t>{
            {"1 100 120", 5}, {"2 100 120", 2}, {"2 100 130", 1}, {"2 100 none", 1}});
}

TEST_CASE("what has no counterpart stays alone") {
  AggregatedStreams streams = Empty();
  streams.AddBranch(In(1), In(100), 2);
  streams.AddStream(In(200), In(220), 3);
  streams.AddBranch(In(1), In(300), 1);
  streams.AddStream(In(300), In(320), 4);
  CHECK(Listed(&streams) ==
        std::map<std::string, uint64_t>{
            {"1 100 none", 2}, {"? 200 220", 3}, {"1 300 320", 1}, {"? 300 320", 3}});
  // The same address of another file is another target.
  streams.AddBranch(In(1), In(100, 1), 5);
  streams.AddStream(In(100), In(120), 5);
  CHECK(Listed(&streams) == std::map<std::string, uint64_t>{{"1 100 none", 5}, {"? 100 120", 5}});
}

TEST_CASE("a stream that ends in another file leaves its own") {
  AggregatedStreams streams = Empty();
  streams.AddStream(In(100), In(120, 1), 3);
  streams.AddTrace(In(1), In(200), In(220), 6);
  CHECK(Listed(&streams) == std::map<std::string, uint64_t>{{"? 100 leaves", 3}, {"1 200 220", 6}});
}

TEST_CASE("the variance of a sum is that of samples of 31 streams each") {
  for (const uint64_t streams : {uint64_t{310}, uint64_t{6'200}, uint64_t{1'000'000}}) {
    double variances = 0;
    constexpr int kTimes = 400;
    for (int seed = 0; seed < kTimes; ++seed) {
      const ReplicateSums sums = AssignClumps(streams, static_cast<uint64_t>(seed));
      const double sum = std::accumulate(sums.sums.begin(), sums.sums.end(), 0.0);
      CHECK(sum == Approx(static_cast<double>(streams)).epsilon(1e-5));
      variances += VarianceOf(sums) / kTimes;
    }
    CHECK(variances == Approx(31.0 * static_cast<double>(streams)).epsilon(0.1));
  }
  for (int seed = 0; seed < 20'000; ++seed) {
    const ReplicateSums sums = AssignClumps(31 * 2048 + 1, static_cast<uint64_t>(seed));
    CHECK(*std::min_element(sums.sums.begin(), sums.sums.end()) > 0);
  }
  const ReplicateSums few = AssignClumps(5, 1);
  CHECK(VarianceOf(few) == Approx(25));
}

}  // namespace
}  // namespace hbbp
