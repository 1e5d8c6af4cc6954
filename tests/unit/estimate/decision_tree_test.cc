#include "estimate/decision_tree.h"

#include <cmath>
#include <limits>
#include <string>

#include "estimate/family_choice.h"
#include "support/allocation_count.h"
#include "support/catch.h"

namespace hbbp {
namespace {

BlockFeatures OfLength(double length) {
  BlockFeatures features;
  features[Feature::kLength] = length;
  return features;
}

std::string Tree(const std::string& nodes) {
  return R"({"format": "hbbp-tree", "version": 1, "nodes": [)" + nodes + "]}";
}

constexpr char kLeaf[] = R"({"class": "ebs"})";

std::string Question(int yes, int no) {
  return R"({"feature": "bytes", "threshold": 1, "yes": )" + std::to_string(yes) + R"(, "no": )" +
         std::to_string(no) + "}";
}

TEST_CASE("the published tree takes streams for blocks of up to 18 instructions") {
  const DecisionTree tree;
  CHECK(tree.Choose(OfLength(1)) == SourceFamily::kStreams);
  CHECK(tree.Choose(OfLength(18)) == SourceFamily::kStreams);
  CHECK(tree.Choose(OfLength(19)) == SourceFamily::kEbs);
}

TEST_CASE("a tree of JSON asks its questions") {
  const auto tree = DecisionTree::FromJson(Tree(R"(
      {"feature": "biased", "threshold": 0.5, "yes": 1, "no": 2},
      {"feature": "taken_ratio", "threshold": -0.25, "yes": 3, "no": 4},
      {"class": "ebs"}, {"class": "ebs"}, {"class": "streams", "purity": 0.9})"));
  REQUIRE(tree.ok());
  CHECK(tree->node_count() == 5);
  BlockFeatures features;
  CHECK(tree->Choose(features) == SourceFamily::kStreams);
  features[Feature::kTakenRatio] = -0.25;
  CHECK(tree->Choose(features) == SourceFamily::kEbs);
  features[Feature::kTakenRatio] = 1;
  features[Feature::kBiased] = 1;
  CHECK(tree->Choose(features) == SourceFamily::kEbs);
}

TEST_CASE("choosing allocates nothing") {
  const DecisionTree tree;
  const int before = AllocationCount();
  const SourceFamily family = tree.Choose(OfLength(30));
  CHECK(AllocationCount() == before);
  CHECK(family == SourceFamily::kEbs);
  CHECK(before > 0);
}

TEST_CASE("what is not a number goes to no") {
  CHECK(DecisionTree().Choose(OfLength(std::nan(""))) == SourceFamily::kEbs);
  CHECK(DecisionTree().Choose(OfLength(-std::numeric_limits<double>::infinity())) ==
        SourceFamily::kStreams);
}

TEST_CASE("a tree may be one leaf, and may have notes for people") {
  const auto tree = DecisionTree::FromJson(
      R"({"training": {"programs": ["a"]}, "format": "hbbp-tree", "version": 1,
          "nodes": [{"class": "streams"}]})");
  REQUIRE(tree.ok());
  CHECK(tree->Choose(OfLength(99)) == SourceFamily::kStreams);
}

TEST_CASE("a tree that is written is read again") {
  const auto tree = DecisionTree::FromJson(DecisionTree().ToJson());
  REQUIRE(tree.ok());
  CHECK(tree->ToJson() == DecisionTree().ToJson());
  CHECK(tree->Choose(OfLength(18)) == SourceFamily::kStreams);
  CHECK(tree->Choose(OfLength(19)) == SourceFamily::kEbs);
}

TEST_CASE("every feature has a name of its own") {
  for (size_t i = 0; i < kFeatureCount; ++i) {
    CHECK(FeatureNamed(kFeatureNames[i]) == static_cast<Feature>(i));
  }
  CHECK(FeatureNamed("lenght") == std::nullopt);
}

TEST_CASE("what is not a tree is refused with the node and what would be right") {
  const auto message_of = [](const std::string& json) {
    const auto tree = DecisionTree::FromJson(json);
    REQUIRE_FALSE(tree.ok());
    return tree.status().message();
  };
  using Catch::Contains;
  CHECK_THAT(message_of(""), Contains("no JSON"));
  CHECK_THAT(message_of("{\"format\": "), Contains("line 1"));
  CHECK_THAT(message_of("[]"), Contains("hbbp-tree"));
  CHECK_THAT(message_of(R"({"format": "hbbp-tree"})"), Contains("version missing"));
  CHECK_THAT(message_of(R"({"format": "hbbp-tree", "version": 2, "nodes": []})"),
             Contains("version 2; this library reads 1"));
  CHECK_THAT(message_of(Tree("")), Contains("1 to 65536"));
  CHECK_THAT(message_of(Tree("7")), Contains("node 0: no object"));
  CHECK_THAT(message_of(Tree("{}")), Contains("neither"));
  CHECK_THAT(message_of(Tree(R"({"class": "pebs"})")), Contains("there are: ebs, streams"));
  CHECK_THAT(message_of(Tree(R"({"feature": "colour"})")),
             Contains("\"colour\" is not known") && Contains("taken_ratio"));
  CHECK_THAT(message_of(Tree(R"({"feature": "bytes", "threshold": "x"})")), Contains("threshold"));
  CHECK_THAT(message_of(Tree(R"({"feature": "bytes", "threshold": 1e999})")),
             Contains("no JSON") || Contains("threshold"));
  CHECK_THAT(message_of(Tree(R"({"feature": "bytes", "threshold": 1, "yes": 1})")),
             Contains("\"yes\" is node 1; there are 1"));
  CHECK_THAT(message_of(Tree(Question(1, 1) + "," + kLeaf)), Contains("another parent"));
  CHECK_THAT(message_of(Tree(Question(1, 2) + "," + Question(0, 2) + "," + kLeaf)),
             Contains("cycle"));
  CHECK_THAT(message_of(Tree(Question(0, 1) + "," + kLeaf)), Contains("cycle"));
  CHECK_THAT(message_of(Tree(Question(-1, 1) + "," + kLeaf)), Contains("node -1"));
  CHECK_THAT(message_of(Tree(std::string(kLeaf) + "," + kLeaf)), Contains("node 1: no node"));
}

TEST_CASE("deep JSON and deep trees are refused") {
  CHECK_FALSE(DecisionTree::FromJson(std::string(1 << 20, '[')).ok());
  CHECK_FALSE(DecisionTree::FromJson(Tree(std::string(100, '[') + std::string(100, ']'))).ok());
  std::string nodes;
  const int levels = static_cast<int>(DecisionTree::kMaxDepth) + 1;
  for (int i = 0; i < levels; ++i) {
    nodes += Question(2 * i + 1, 2 * i + 2) + "," + kLeaf + ",";
  }
  const auto tree = DecisionTree::FromJson(Tree(nodes + kLeaf));
  REQUIRE_FALSE(tree.ok());
  CHECK_THAT(tree.status().message(), Catch::Contains("deeper than 256"));
}

TEST_CASE("instructions between branch stacks are not executions of streams") {
  using enum EventKind;
  CHECK(CountsExecutions(SourceFamily::kStreams, kTakenBranches));
  CHECK_FALSE(CountsExecutions(SourceFamily::kStreams, kInstructions));
  CHECK_FALSE(CountsExecutions(SourceFamily::kStreams, kTaskClock));
  CHECK(CountsExecutions(SourceFamily::kStreams, kInstructions, BurstExtent::kEvents));
  CHECK_FALSE(CountsExecutions(SourceFamily::kStreams, kTaskClock, BurstExtent::kEvents));
  CHECK(CountsExecutions(SourceFamily::kStreams, EventKind::kCycles, BurstExtent::kEvents));
  CHECK_FALSE(CountsExecutions(SourceFamily::kStreams, EventKind::kCycles));
  CHECK(CountsExecutions(SourceFamily::kEbs, kInstructions));
  CHECK(CountsExecutions(SourceFamily::kEbs, kUops));
  CHECK_FALSE(CountsExecutions(SourceFamily::kEbs, kTakenBranches));
  CHECK_FALSE(CountsExecutions(SourceFamily::kEbs, kCycles));
}

TEST_CASE("counts are scaled to the family that counts executions") {
  const FamilyEvidence executions{true, true, 100};
  const FamilyEvidence clock{true, false, 400};
  CHECK(FindScales(executions, executions).ebs == 1);
  CHECK(FindScales(executions, clock).streams == 0.25);
  CHECK(FindScales(executions, clock).ebs == 1);
  CHECK(FindScales(clock, executions).ebs == 0.25);
  CHECK(FindScales(clock, executions).streams == 1);
  const FamilyEvidence other_clock{true, false, 100};
  CHECK(FindScales(clock, other_clock).ebs == 0.25);
  CHECK(FindScales(clock, other_clock).streams == 1);
  CHECK(FindScales(clock, {}).ebs == 1);
  CHECK(FindScales({}, clock).streams == 1);
  CHECK(FindScales({}, clock).are_common);
  CHECK(FindScales(executions, clock).are_common);
  // Neither a module that both observed nor absurd numbers give a common scale.
  CHECK_FALSE(FindScales({true, true, 0}, {true, false, 0}).are_common);
  CHECK_FALSE(FindScales({true, true, 1e300}, {true, false, 1e-300}).are_common);
  CHECK(FindScales({true, true, 1e300}, {true, false, 1e-300}).streams == 1);
}

TEST_CASE("flow is the default where both families count executions") {
  const FamilyEvidence executions{true, true, 100};
  const FamilyEvidence clock{true, false, 400};
  using enum EstimatorKind;
  CHECK(EstimatorFor(kAuto, executions, executions) == kFlow);
  CHECK(EstimatorFor(kAuto, executions, {true, true, 100, false}) == kStreams);
  CHECK(EstimatorFor(kAuto, clock, executions) == kStreams);
  CHECK(EstimatorFor(kAuto, executions, clock) == kStreams);
  CHECK(EstimatorFor(kAuto, executions, {}) == kEbs);
  CHECK(EstimatorFor(kAuto, clock, {}) == kEbs);
  CHECK(EstimatorFor(kAuto, {}, clock) == kStreams);
  CHECK(EstimatorFor(kAuto, {}, {}) == kStreams);
  CHECK(EstimatorFor(kEbs, executions, executions) == kEbs);
}

}  // namespace
}  // namespace hbbp
