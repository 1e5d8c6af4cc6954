// Tests what the bursts of software branch tracing stand for (BurstWeights), of an event of
// instructions and of streams, which needs no model of time.
#include "backends/burst_weights.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/stream_sums.h"
#include "support/catch.h"

namespace hbbp {
namespace {

struct Delivered {
  double weight = 0;
  size_t streams = 0;
  bool is_continued = false;
};

struct WeightSink : EventSink {
  void OnBurst(const BurstSample& burst) override {
    const size_t branches = burst.branches.size();
    const double weight = StreamWeight(burst.period, branches, burst.extent);
    bursts.push_back({weight, branches - 1, burst.stack.is_continued});
    occurrences += weight * static_cast<double>(branches - 1);
  }

  std::vector<Delivered> bursts;
  double occurrences = 0;
};

// Each stream has so many instructions.
constexpr uint64_t kInstructions = 10;

class Burst {
 public:
  explicit Burst(const std::vector<size_t>& branches_of_segments)
      : branches_(1000, TakenBranch{0x1010, 0x1000}) {
    for (const size_t count : branches_of_segments) {
      const uint64_t instructions = count == 0 ? 0 : (count - 1) * kInstructions;
      segments_.push_back({std::span(branches_).first(count), {}, instructions});
    }
  }

  void DeliverTo(BurstWeights* weights, const trace::BurstCost& cost, WeightSink* sink,
                 uint32_t tid = 7) const {
    BurstSample head;
    head.tid = tid;
    constexpr double kPeriod = 1'000'000;
    weights->Deliver(head, kPeriod, segments_, cost, sink);
  }

 private:
  std::vector<TakenBranch> branches_;
  std::vector<BurstSegment> segments_;
};

BurstWeights Weights(BurstExtent extent, uint32_t branches, uint64_t instructions = 0) {
  BurstWeights weights;
  trace::BurstLimits limits;
  limits.branches = branches;
  limits.instructions = instructions;
  weights.Begin(extent, limits, std::nullopt, nullptr, 0);
  return weights;
}

constexpr trace::BurstCost kCut = {.memory_use = {}, .is_cut = true};
constexpr trace::BurstCost kExact = {.memory_use = {}, .has_all_instructions = true};

TEST_CASE(
    "a burst that was cut weighs as much as a whole one, and the next one stands for the rest") {
  BurstWeights weights = Weights(BurstExtent::kStreams, 17);
  WeightSink sink;
  Burst({17}).DeliverTo(&weights, {}, &sink);
  Burst({9}).DeliverTo(&weights, kCut, &sink);
  Burst({2}).DeliverTo(&weights, kCut, &sink);
  Burst({17}).DeliverTo(&weights, {}, &sink);
  REQUIRE(sink.bursts.size() == 4);
  const double whole = 1'000'000 / 16.0;
  CHECK(sink.bursts[0].weight == Approx(whole));
  CHECK(sink.bursts[1].weight == Approx(whole));
  CHECK(sink.bursts[2].weight == Approx(1.5 * whole));  // a half is of the burst before
  CHECK(weights.threads() == 0);
  CHECK(sink.occurrences == Approx(4e6));
}

TEST_CASE("bursts of other threads stand for what ended ones left, for a period more at most") {
  BurstWeights weights = Weights(BurstExtent::kStreams, 17);
  WeightSink sink;
  for (uint32_t tid = 1; tid <= 3; ++tid) Burst({9}).DeliverTo(&weights, kCut, &sink, tid);
  CHECK(weights.threads() == 3);
  weights.DropThreads([](pid_t tid) { return tid <= 3; });
  CHECK(weights.threads() == 0);
  for (int i = 0; i < 3; ++i) Burst({17}).DeliverTo(&weights, {}, &sink);
  REQUIRE(sink.bursts.size() == 6);
  const double whole = 1'000'000 / 16.0;
  CHECK(sink.bursts[3].weight == Approx(2 * whole));
  CHECK(sink.bursts[4].weight == Approx(1.5 * whole));
  CHECK(sink.bursts[5].weight == Approx(whole));
  CHECK(sink.occurrences == Approx(6e6));
}

TEST_CASE("the part of a burst that was cut is that of its streams or of its instructions") {
  BurstWeights weights = Weights(BurstExtent::kEvents, 3000, 101);
  WeightSink sink;
  Burst({6}).DeliverTo(&weights, kCut, &sink);  // 50 of 100 instructions
  Burst({11}).DeliverTo(&weights, kExact, &sink);
  REQUIRE(sink.bursts.size() == 2);
  CHECK(sink.bursts[0].weight == Approx(1e6 / 100));
  CHECK(sink.bursts[1].weight == Approx(1.5e6 / 100));
}

TEST_CASE("parts of a burst have one weight, and all but the last are continued") {
  BurstWeights weights = Weights(BurstExtent::kEvents, 1000);
  WeightSink sink;
  // An extent of a part by itself would be rounded.
  Burst({2, 1, 4, 3, 0}).DeliverTo(&weights, {}, &sink);
  REQUIRE(sink.bursts.size() == 3);
  for (const Delivered& part : sink.bursts) CHECK(part.weight == Approx(1e6 / 60));
  CHECK(sink.bursts[0].is_continued);
  CHECK(sink.bursts[1].is_continued);
  CHECK_FALSE(sink.bursts[2].is_continued);
}

// In a loop of 8,000 instructions, a quarter of the bursts of 6,000 has no taken branch but one.
TEST_CASE(
    "a whole burst without streams stands for its period, and a cut one leaves it to the next") {
  BurstWeights weights = Weights(BurstExtent::kEvents, 3000, 101);
  WeightSink sink;
  Burst({1}).DeliverTo(&weights, kExact, &sink);
  CHECK(sink.bursts.empty());
  CHECK(weights.threads() == 0);
  Burst({1}).DeliverTo(&weights, kCut, &sink);
  CHECK(weights.threads() == 1);
  Burst({1}).DeliverTo(&weights, kExact, &sink);
  Burst({11}).DeliverTo(&weights, kExact, &sink);
  REQUIRE(sink.bursts.size() == 1);
  CHECK(sink.bursts[0].weight == Approx(2e6 / 100));
}

}  // namespace
}  // namespace hbbp
