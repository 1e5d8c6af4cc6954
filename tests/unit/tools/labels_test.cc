#include "train/labels.h"

#include <cmath>
#include <optional>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

const std::vector<std::string> kFeatures = {"length", "bytes", "ebs_count", "streams_count"};

// Blocks of 16 bytes that follow each other.
class FakeCode : public Code {
 public:
  std::optional<Block> FindBlock(uint64_t address) const override {
    const uint64_t start = address / 16 * 16;
    return Block{start, start + 16};
  }
  std::optional<Instruction> Decode(uint64_t) const override { return std::nullopt; }
  std::optional<Function> FindFunction(uint64_t) const override { return std::nullopt; }
};

ModuleCounts Truth(std::map<uint64_t, BlockCounts> blocks) {
  ModuleCounts truth;
  truth.blocks = std::move(blocks);
  return truth;
}

ObservedBlock Observed(double length, double ebs, double streams) {
  return {"f", length, ebs, streams, {length, 16, ebs, streams}};
}

std::vector<LabelledBlock> Label(const ModuleCounts& truth, ObservedModule observed) {
  observed.path = "/bin/x";
  return LabelModule(truth, observed, FakeCode(), kFeatures);
}

TEST_CASE("Labels: each family is scaled to the instructions of the truth") {
  // 100 * 4 + 50 * 2 = 500 instructions; ebs saw 5 * 4 + 15 * 2 = 50, streams 40 + 10 * 2 = 60.
  const auto labels = Label(Truth({{0x10, {4, 100, 0}}, {0x20, {2, 50, 0}}}),
                            {"", {{0x10, Observed(4, 5, 10)}, {0x20, Observed(2, 15, 10)}}});
  REQUIRE(labels.size() == 2);
  CHECK(labels[0].address == 0x10);
  CHECK(labels[0].module == "/bin/x");
  CHECK(labels[0].function == "f");
  CHECK(labels[0].truth == 100);
  CHECK(labels[0].ebs == Approx(50));
  CHECK(labels[0].streams == Approx(10 * 500.0 / 60));
  CHECK(labels[0].weight == 400);
  CHECK(labels[0].is_streams);
  CHECK(labels[0].features == std::vector<double>{4, 16, 5, 10});
  CHECK(labels[1].ebs == Approx(150));
  double ebs = 0;
  double streams = 0;
  for (const LabelledBlock& label : labels) {
    ebs += label.ebs * label.features[0];
    streams += label.streams * label.features[0];
  }
  CHECK(ebs == Approx(500));
  CHECK(streams == Approx(500));
}

TEST_CASE("Labels: the closer family, streams where both are as close") {
  const auto labels = Label(
      Truth({{0x10, {1, 10, 0}}, {0x20, {1, 20, 0}}, {0x30, {1, 10, 0}}}),
      {"", {{0x10, Observed(1, 10, 18)}, {0x20, Observed(1, 21, 21)}, {0x30, Observed(1, 9, 1)}}});
  REQUIRE(labels.size() == 3);
  CHECK_FALSE(labels[0].is_streams);
  CHECK(labels[1].is_streams);
  CHECK_FALSE(labels[2].is_streams);
}

TEST_CASE("Labels: a block that never ran has the truth 0 and no weight") {
  const auto labels = Label(Truth({{0x10, {1, 10, 0}}}),
                            {"", {{0x10, Observed(1, 8, 10)}, {0x20, Observed(1, 2, 0)}}});
  REQUIRE(labels.size() == 2);
  CHECK(labels[1].truth == 0);
  CHECK(labels[1].weight == 0);
  CHECK(labels[1].ebs == Approx(2));
  CHECK(labels[1].is_streams);
}

TEST_CASE("Labels: a block that no source saw has the features of its code") {
  const auto labels =
      Label(Truth({{0x10, {1, 10, 0}}, {0x20, {3, 5, 0}}}), {"", {{0x10, Observed(1, 8, 10)}}});
  REQUIRE(labels.size() == 2);
  CHECK(labels[1].ebs == 0);
  CHECK(labels[1].streams == 0);
  CHECK(labels[1].weight == 15);
  CHECK(labels[1].features == std::vector<double>{3, 16, 0, 0});
}

TEST_CASE("Labels: nothing chooses in a module of one family, or that never ran") {
  const ModuleCounts truth = Truth({{0x10, {1, 10, 0}}});
  CHECK(Label(truth, {"", {{0x10, Observed(1, 0, 10)}}}).empty());
  CHECK(Label(truth, {"", {{0x10, Observed(1, 10, 0)}}}).empty());
  CHECK(Label(truth, {"", {}}).empty());
  CHECK(Label(Truth({}), {"", {{0x10, Observed(1, 10, 10)}}}).empty());
}

TEST_CASE("Labels: as CSV, in the order that hbbp train reads") {
  Table table = LabelTable(kFeatures);
  LabelledBlock block;
  block.module = "/bin/a,b";
  block.function = "f(int, char)";
  block.address = 0x401;
  block.truth = 0.1;
  block.ebs = 1e9 / 3;
  block.weight = 2;
  block.features = {1, 2, 3, 4};
  AddLabels("x", {block}, &table);
  CHECK(table.ToCsv() ==
        "program,module,function,address,truth,ebs,streams,weight,label,length,bytes,ebs_count,"
        "streams_count\n"
        "x,\"/bin/a,b\",\"f(int, char)\",0x401,0.1,333333333.3333333,0,2,ebs,1,2,3,4\n");
}

}  // namespace
}  // namespace hbbp::tools
