#include "estimate/model_error.h"

#include <cmath>

#include "estimate/stream_estimator.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kPage = 4096;

ProfileData OneSource(SourceKind kind, EventKind event, BurstExtent extent) {
  ProfileData data;
  SourceRecord source;
  source.kind = kind;
  source.event = event;
  source.burst_extent = extent;
  data.sources = {source};
  return data;
}

ProfileData Timed() {
  return OneSource(SourceKind::kSwbt, EventKind::kTaskClock, BurstExtent::kEvents);
}

BranchCount BranchTo(uint64_t to, double weights) {
  BranchCount branch;
  branch.to = to;
  branch.stream_end = to + 8;
  branch.number = 1;
  branch.weights = weights;
  return branch;
}

TEST_CASE("code of a page has the error of the model, whatever its sums") {
  const ProfileData data = Timed();
  ReplicateSums sum;
  for (uint64_t to = 0; to < 10; ++to) {
    const ReplicateSums part = ModeledReplicates(data, BranchTo(0x5000 + 64 * to, 100));
    CHECK(std::sqrt(VarianceOf(part)) == Approx(12));
    sum.Add(part);
  }
  CHECK(std::sqrt(VarianceOf(sum)) == Approx(120));
}

TEST_CASE("errors of a ratio within a page cancel out") {
  const ProfileData data = Timed();
  ReplicateSums difference = ModeledReplicates(data, BranchTo(0x5000, 100));
  difference.Add(ModeledReplicates(data, BranchTo(0x5800, 400)), -0.25);
  CHECK(std::sqrt(VarianceOf(difference)) == Approx(0).margin(1e-4));
}

TEST_CASE("errors of pages add up as independent ones") {
  const ProfileData data = Timed();
  constexpr int kSets = 200;
  constexpr int kPages = 50;
  double variance = 0;
  for (uint64_t set = 0; set < kSets; ++set) {
    ReplicateSums sum;
    for (uint64_t page = 0; page < kPages; ++page) {
      const auto to = kPage * (set * kPages + page);
      sum.Add(ModeledReplicates(data, BranchTo(to, 100)));
    }
    variance += VarianceOf(sum) / kSets;
  }
  CHECK(std::sqrt(variance) == Approx(12 * std::sqrt(kPages)).epsilon(0.1));
}

TEST_CASE("the scatter of bursts and the error of the model add up") {
  const ProfileData data = Timed();
  double variance = 0;
  constexpr uint64_t kPages = 400;
  for (uint64_t page = 0; page < kPages; ++page) {
    BranchCount branch = BranchTo(kPage * page, 400);
    for (const size_t replicate : {1, 4, 9, 14}) branch.replicates.sums[replicate] = 100;
    variance += VarianceOf(ModeledReplicates(data, branch)) / kPages;
  }
  ReplicateSums scatter;
  for (const size_t replicate : {1, 4, 9, 14}) scatter.sums[replicate] = 100;
  CHECK(variance == Approx(VarianceOf(scatter) + 48 * 48).epsilon(0.05));
}

TEST_CASE("only bursts of a clock that were weighed by the model have its error") {
  BranchCount branch = BranchTo(0x5000, 100);
  branch.replicates.sums[3] = 100;
  for (const ProfileData& data :
       {OneSource(SourceKind::kSwbt, EventKind::kInstructions, BurstExtent::kEvents),
        OneSource(SourceKind::kSwbt, EventKind::kTaskClock, BurstExtent::kStreams),
        OneSource(SourceKind::kLbr, EventKind::kCycles, BurstExtent::kEvents)}) {
    CHECK_FALSE(IsWeighedByModel(data.sources[0]));
    CHECK(ModeledReplicates(data, branch) == branch.replicates);
  }
  CHECK(IsWeighedByModel(Timed().sources[0]));
}

}  // namespace
}  // namespace hbbp
