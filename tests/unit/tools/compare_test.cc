// Tests the comparison of an estimated profile with a reference: errors of blocks and mnemonics,
// scaling, blocks that only one side has, how modules are matched, and the reports as text, CSV and
// JSON. FakeCode has blocks that a test defines; ExampleCode() is the worked example of
// estimate/error_metrics.h.
#include "compare.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "commands/compare_report.h"
#include "support/catch.h"

namespace hbbp::tools {
namespace {

// Code that a test defines.
class FakeCode : public Code {
 public:
  // Adds a block of instructions, one after the other; returns its end.
  uint64_t AddBlock(uint64_t start, std::vector<Instruction> instructions) {
    uint64_t address = start;
    for (Instruction& instruction : instructions) {
      const uint32_t length = instruction.length;
      instructions_[address] = std::move(instruction);
      address += length;
    }
    blocks_[start] = address;
    return address;
  }

  void AddFunction(uint64_t start, uint64_t end, std::string name) {
    functions_[start] = {end, std::move(name)};
  }

  std::optional<Block> FindBlock(uint64_t address) const override {
    const auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin()) return std::nullopt;
    const auto& [start, end] = *std::prev(next);
    if (address >= end) return std::nullopt;
    return Block{start, end};
  }

  std::optional<Instruction> Decode(uint64_t address) const override {
    const auto found = instructions_.find(address);
    if (found == instructions_.end()) return std::nullopt;
    return found->second;
  }

  std::optional<Function> FindFunction(uint64_t address) const override {
    const auto next = functions_.upper_bound(address);
    if (next == functions_.begin()) return std::nullopt;
    const auto& [start, function] = *std::prev(next);
    if (address >= function.first) return std::nullopt;
    return Function{start, function.second};
  }

 private:
  std::map<uint64_t, uint64_t> blocks_;
  std::map<uint64_t, Instruction> instructions_;
  std::map<uint64_t, std::pair<uint64_t, std::string>> functions_;  // end and name, by start
};

ReferenceModule Reference(std::vector<ReferenceCount> counts) { return {"/bin/x", "", counts}; }
EstimatedModule Estimate(std::vector<EstimatedBlock> blocks) {
  return {"/bin/x", "ab", 0, std::move(blocks)};
}

// Returns the worked example of estimate/error_metrics.h.
FakeCode ExampleCode() {
  FakeCode code;
  code.AddBlock(0x10, {{1, "add"}, {1, "add"}, {1, "add"}, {2, "jne"}});
  code.AddBlock(0x20, {{4, "add"}, {1, "ret"}});
  return code;
}
const std::vector<ReferenceCount> kExampleCounts = {{0x10, 100}, {0x11, 100}, {0x12, 100},
                                                    {0x13, 100}, {0x20, 50},  {0x24, 50}};
const std::vector<EstimatedBlock> kExampleBlocks = {{0x10, 0x15, 4, 90}, {0x20, 0x25, 2, 70}};

TEST_CASE("compare: the worked example") {
  const ModuleCounts counts =
      CountModule(Reference(kExampleCounts), Estimate(kExampleBlocks), ExampleCode());
  const Comparison comparison = Summarize({counts}, {}, {}, false);
  REQUIRE(comparison.modules.size() == 1);
  const ModuleComparison& module = comparison.modules[0];
  CHECK(module.name == "/bin/x");
  CHECK(module.build_id == "ab");
  CHECK(module.instructions_reference == Approx(500));
  CHECK(module.instructions_estimate == Approx(500));
  CHECK(module.avg_weighted_error == Approx(0.08));
  CHECK(module.block_accuracy_error == Approx(0.16));
  CHECK(module.overlap == Approx(0.92));
  CHECK(module.mnemonic_overlap == Approx(0.96));
  REQUIRE(module.mnemonics.size() == 3);
  CHECK(module.mnemonics[0].mnemonic == "add");
  CHECK(module.mnemonics[0].error == Approx(10.0 / 350));
  CHECK(module.mnemonics[2].mnemonic == "ret");
  CHECK_FALSE(comparison.scaled);
  CHECK(comparison.scale == 1);
}

TEST_CASE("compare: an estimate up to a factor is scaled as a whole") {
  std::vector<EstimatedBlock> blocks = kExampleBlocks;
  for (EstimatedBlock& block : blocks) block.count /= 4;
  const ModuleCounts counts =
      CountModule(Reference(kExampleCounts), Estimate(blocks), ExampleCode());
  const Comparison comparison = Summarize({counts}, {}, {{"/lib/y", "", 10}}, true);
  CHECK(comparison.scaled);
  CHECK(comparison.scale == Approx(4));
  CHECK(comparison.total.avg_weighted_error == Approx(0.08));
  CHECK(comparison.only_in_estimate.at(0).instructions == Approx(40));
}

TEST_CASE("compare: blocks that only one side has") {
  FakeCode code = ExampleCode();
  code.AddBlock(0x30, {{1, "nop"}});
  const ModuleCounts counts =
      CountModule(Reference({{0x20, 50}, {0x24, 50}}), Estimate({{0x30, 0x31, 1, 7}}), code);
  const ModuleComparison total = Summarize({counts}, {}, {}, false).total;
  CHECK(total.only_referenced == Approx(100));
  CHECK(total.only_estimated == Approx(7));
  CHECK(total.overlap == 0);
  CHECK(total.mnemonics.back().mnemonic == "nop");
  CHECK(std::isinf(total.mnemonics.back().error));
}

TEST_CASE("compare: a block that is left in its middle counts the mean") {
  FakeCode code;
  code.AddBlock(0x10, {{1, "mov"}, {1, "div"}});
  const ModuleCounts counts = CountModule(Reference({{0x10, 10}, {0x11, 4}}), Estimate({}), code);
  CHECK(counts.blocks.at(0x10).reference == Approx(7));
  CHECK(counts.ReferenceInstructions() == Approx(14));
}

TEST_CASE("compare: iterations of string instructions are not executions") {
  FakeCode code;
  code.AddBlock(0x10, {{1, "mov"}, {2, "movs"}, {1, "ret"}});
  code.AddBlock(0x20, {{2, "stos"}});
  code.AddBlock(0x22, {{1, "ret"}});
  code.AddBlock(0x30, {{4, "movsd"}, {1, "ret"}});
  const ModuleCounts counts = CountModule(
      Reference({{0x10, 5}, {0x11, 5005}, {0x13, 5}, {0x20, 300}, {0x22, 3}, {0x30, 8}, {0x34, 8}}),
      Estimate({}), code);
  CHECK(counts.mnemonics.at("movs").reference == Approx(5));
  CHECK(counts.mnemonics.at("stos").reference == Approx(3));
  CHECK(counts.mnemonics.at("movsd").reference == Approx(8));
  CHECK(counts.rep_iterations == Approx(5000 + 297));
  CHECK(counts.blocks.at(0x10).reference == Approx(5));
}

TEST_CASE("compare: reference addresses without code are not dropped") {
  const ModuleCounts counts =
      CountModule(Reference({{0x14, 9}, {0x99, 5}}), Estimate({}), ExampleCode());
  CHECK(counts.unresolved == Approx(14));
  CHECK(counts.mnemonics.at("(unknown)").reference == Approx(14));
  CHECK(counts.ReferenceInstructions() == Approx(14));
}

TEST_CASE("compare: what is decoded short is not dropped either") {
  const ModuleCounts counts =
      CountModule(Reference({}), Estimate({{0x50, 0x55, 3, 2}}), ExampleCode());
  CHECK(counts.mnemonics.at("(unknown)").estimate == Approx(6));
}

TEST_CASE("compare: intervals are scaled like the estimates") {
  FakeCode code;
  code.AddBlock(0x10, {{1, "ret"}});
  code.AddBlock(0x20, {{1, "ret"}});
  const ModuleCounts counts =
      CountModule(Reference({{0x10, 100}, {0x20, 100}}),
                  Estimate({{0x10, 0x11, 1, 12, 1.1}, {0x20, 0x21, 1, 8, 0.5}}), code);
  const Comparison scaled = Summarize({counts}, {}, {}, true);
  CHECK(scaled.scale == Approx(10));
  CHECK(scaled.total.intervals.intervals == 2);
  CHECK(scaled.total.intervals.covering == 1);
  CHECK(Summarize({counts}, {}, {}, false).total.intervals.covering == 0);
}

TEST_CASE("compare: same addresses in two modules are two blocks in the total") {
  const ModuleCounts counts =
      CountModule(Reference(kExampleCounts), Estimate(kExampleBlocks), ExampleCode());
  const Comparison comparison = Summarize({counts, counts}, {}, {}, false);
  CHECK(comparison.total.instructions_reference == Approx(1000));
  CHECK(comparison.total.block_accuracy_error == Approx(0.16));
}

TEST_CASE("compare: modules are sorted by reference instructions") {
  ModuleCounts small;
  small.path = "small";
  small.mnemonics["add"] = {1, 100};
  ModuleCounts large;
  large.path = "large";
  large.mnemonics["add"] = {10, 1};
  const Comparison comparison = Summarize({small, large}, {{"a", "", 1}, {"b", "", 2}}, {}, false);
  CHECK(comparison.modules[0].name == "large");
  CHECK(comparison.only_in_reference[0].name == "b");
}

// Returns counts of functions f0, f1, ... of one instruction each, with these executions.
ModuleCounts Functions(const std::vector<double>& references,
                       const std::vector<double>& estimates) {
  FakeCode code;
  std::vector<ReferenceCount> counts;
  std::vector<EstimatedBlock> blocks;
  for (size_t i = 0; i < references.size(); ++i) {
    const uint64_t start = 0x10 * (i + 1);
    code.AddBlock(start, {{1, "ret"}});
    code.AddFunction(start, start + 1, "f" + std::to_string(i));
    if (references[i] != 0) counts.push_back({start, references[i]});
    if (estimates[i] != 0) blocks.push_back({start, start + 1, 1, estimates[i], 0});
  }
  ModuleCounts module = CountModule(Reference(counts), Estimate(blocks), code);
  SumFunctions(code, &module);
  return module;
}

TEST_CASE("compare: instructions of a function are those of its blocks") {
  FakeCode code = ExampleCode();
  code.AddFunction(0x10, 0x25, "both");
  code.AddBlock(0x30, {{1, "nop"}});
  std::vector<ReferenceCount> references = kExampleCounts;
  references.push_back({0x30, 1000});
  ModuleCounts counts = CountModule(Reference(references), Estimate(kExampleBlocks), code);
  SumFunctions(code, &counts);
  const FunctionRanks ranks = Summarize({counts}, {}, {}, false).functions;
  REQUIRE(ranks.hottest.size() == 1);
  CHECK(ranks.hottest[0].name == "both");
  CHECK(ranks.hottest[0].module == "/bin/x");
  CHECK(ranks.hottest[0].reference == Approx(500));
  CHECK(ranks.hottest[0].estimate == Approx(500));
  CHECK(ranks.found == 1);
  CHECK(ranks.in_place == 1);
}

TEST_CASE("compare: ranks of the hottest functions") {
  // The second and the third are swapped, the fourth was never seen, the fifth is not executed.
  const ModuleCounts counts = Functions({50, 40, 30, 20, 0}, {5, 3, 4, 0, 1});
  const FunctionRanks ranks = Summarize({counts}, {}, {}, true).functions;
  REQUIRE(ranks.hottest.size() == 4);
  CHECK(ranks.hottest[1].name == "f1");
  CHECK(ranks.hottest[1].reference_rank == 2);
  CHECK(ranks.hottest[1].estimate_rank == 3);
  CHECK(ranks.hottest[1].estimate == Approx(3 * 140 / 13.0));
  CHECK(ranks.hottest[3].estimate_rank == 0);
  CHECK(ranks.found == 3);
  CHECK(ranks.in_place == 1);
}

TEST_CASE("compare: of more than ten functions, those outside of the ten are not found") {
  std::vector<double> references, estimates;
  for (int i = 0; i < 12; ++i) references.push_back(100 - i);
  estimates = references;
  estimates[9] = 1;  // the tenth becomes the last one
  const FunctionRanks ranks =
      Summarize({Functions(references, estimates)}, {}, {}, false).functions;
  REQUIRE(ranks.hottest.size() == FunctionRanks::kMaxFunctions);
  CHECK(ranks.hottest.back().estimate_rank == 12);
  CHECK(ranks.found == 9);
  CHECK(ranks.in_place == 9);
}

std::vector<std::optional<size_t>> Match(const std::vector<std::string>& references,
                                         const std::vector<std::string>& estimates) {
  std::vector<ReferenceModule> reference_modules;
  for (const std::string& path : references) reference_modules.push_back({path, "", {}});
  std::vector<EstimatedModule> estimated_modules;
  for (const std::string& path : estimates) estimated_modules.push_back({path, "", 0, {}});
  return MatchModules(reference_modules, estimated_modules);
}

TEST_CASE("compare: modules match by path, name and version, and never twice") {
  using Matches = std::vector<std::optional<size_t>>;
  CHECK(Match({"/a/x", "/b/x"}, {"/b/x", "/a/x"}) == Matches{1, 0});
  CHECK(Match({"/a/x"}, {"/tmp/x (deleted)"}) == Matches{0});
  CHECK(Match({"/lib/libz.so.1"}, {"/opt/libz.so.1.2.13", "/opt/libz.so.12"}) == Matches{0});
  CHECK(Match({"/c/x"}, {"/a/x", "/b/x"}) == Matches{std::nullopt});
  CHECK(Match({"???", "/a/x"}, {"/a/x"}) == Matches{std::nullopt, 0});
  CHECK(Match({}, {"/a/x"}).empty());
}

TEST_CASE("compare: build IDs decide where both sides have one") {
  const std::vector<ReferenceModule> references = {{"/a/x", "11", {}}, {"/a/y", "22", {}}};
  const std::vector<EstimatedModule> estimates = {{"/b/moved", "11", 0, {}}, {"/a/y", "33", 0, {}}};
  CHECK(MatchModules(references, estimates) == std::vector<std::optional<size_t>>{0, std::nullopt});
}

TEST_CASE("compare: of modules with one name, that which has counts matches") {
  const std::vector<ReferenceModule> references = {{"/a/x", "", {}}};
  const EstimatedModule without = {"/a/x", "", 0, {}};
  const EstimatedModule with = {"/a/x", "11", 2, {{0x10, 0x14, 2, 1, 0}}};
  CHECK(MatchModules(references, {without, with}) == std::vector<std::optional<size_t>>{1});
  CHECK(MatchModules(references, {with, without}) == std::vector<std::optional<size_t>>{0});
  CHECK(MatchModules(references, {with, with}) == std::vector<std::optional<size_t>>{std::nullopt});
}

Comparison ExampleComparison() {
  FakeCode code = ExampleCode();
  code.AddFunction(0x10, 0x15, "_ZN3foo3barEv");
  ModuleCounts counts = CountModule(Reference(kExampleCounts), Estimate(kExampleBlocks), code);
  SumFunctions(code, &counts);
  return Summarize({counts}, {{"???", "", 21}}, {{"[vdso]", "", 5}}, true);
}

TEST_CASE("compare report: JSON has the documented keys") {
  const auto json = nlohmann::json::parse(CompareJson(ExampleComparison(), {"a note"}));
  for (const char* key : {"name", "build_id", "instructions_ref", "instructions_est",
                          "avg_weighted_error", "block_accuracy_error", "overlap", "mnemonics"}) {
    INFO(key);
    CHECK(json["total"].contains(key));
    CHECK(json["modules"][0].contains(key));
  }
  CHECK(json["total"]["mnemonics"][0]["mnemonic"] == "add");
  CHECK(json["total"]["mnemonics"][0]["ref"] == 350.0);
  CHECK(json["total"]["mnemonics"][0]["est"] == 340.0);
  CHECK(json["total"]["mnemonics"][0]["error"] == 10 / 350.0);
  CHECK(json["functions"][0]["name"] == "_ZN3foo3barEv");
  CHECK(json["functions"][0]["module"] == "/bin/x");
  CHECK(json["functions"][0]["ref"] == 400.0);
  CHECK(json["functions"][0]["est"] == 360.0);
  CHECK(json["functions"][0]["rank_ref"] == 1);
  CHECK(json["functions"][0]["rank_est"] == 1);
  CHECK(json["functions_found"] == 1);
  CHECK(json["functions_in_place"] == 1);
  CHECK(json["scaled"] == true);
  CHECK(json["scale"] == 1.0);
  CHECK(json["only_in_truth"][0]["name"] == "???");
  CHECK(json["only_in_profile"][0]["instructions"] == 5.0);
  CHECK(json["notes"][0] == "a note");
}

TEST_CASE("compare report: text and CSV") {
  const std::string text = CompareText(ExampleComparison(), {"a note"});
  CHECK(text.find("total") != std::string::npos);
  CHECK(text.find("3 of 3 mnemonics") != std::string::npos);
  CHECK(text.find("only in the reference") != std::string::npos);
  CHECK(text.find("of the 1 hottest functions of the reference, 1 is among the 1 hottest of the "
                  "profile, 1 with the same rank") != std::string::npos);
  CHECK(text.find("note: a note\n") != std::string::npos);
  const std::string csv = CompareCsv(ExampleComparison());
  CHECK(csv.find("total,,add,350,340,") != std::string::npos);
  CHECK(csv.find("/bin/x,ab,,500,500,0.08,0.16,") != std::string::npos);
}

TEST_CASE("compare: where nothing is in both, nothing is said to agree") {
  const OneSidedModule only = {"/bin/x", "ab", 500};
  const Comparison comparison = Summarize({}, {only}, {}, false);
  const auto total = nlohmann::json::parse(CompareJson(comparison, {}))["total"];
  for (const char* metric :
       {"avg_weighted_error", "block_accuracy_error", "overlap", "mnemonic_overlap"}) {
    CHECK(total[metric].is_null());
  }
  CHECK(CompareText(comparison, {}).find('%') == std::string::npos);
  CHECK(CompareCsv(comparison).find("\ntotal,,,0,0,,,\n") != std::string::npos);
}

}  // namespace
}  // namespace hbbp::tools
