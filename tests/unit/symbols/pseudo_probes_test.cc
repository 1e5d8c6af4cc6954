// Tests the reader of pseudo-probes on sections that are built here, whole and damaged.
#include "symbols/pseudo_probes.h"

#include <string>
#include <tuple>
#include <vector>

#include "support/catch.h"
#include "support/probe_sections.h"

namespace hbbp {
namespace {

constexpr uint64_t kStart = 0x1000, kEnd = 0x1100, kOther = 0x2000;

std::vector<FunctionStart> Starts() {
  return {{FunctionGuid("outer"), {{kStart}, {kEnd}}},
          {FunctionGuid("outer.cold"), {{kOther}, {kOther}}},
          {FunctionGuid("twin"), {{0x3000}, {0x3100}}},
          {FunctionGuid("twin"), {{0x4000}, {0x4100}}},
          // A symbol is in two tables.
          {FunctionGuid("outer"), {{kStart}, {kEnd}}}};
}

StatusOr<PseudoProbes> ReadSections(const ProbeSections& sections) {
  return PseudoProbes::Read(sections.descriptions(), sections.trees(), Starts());
}

PseudoProbes ReadOrFail(const ProbeSections& sections) {
  StatusOr<PseudoProbes> probes = ReadSections(sections);
  INFO(probes.status().message());
  REQUIRE(probes.ok());
  return *std::move(probes);
}

std::vector<uint64_t> Addresses(const PseudoProbes& probes) {
  std::vector<uint64_t> addresses;
  for (const PseudoProbe& probe : probes.all()) addresses.push_back(probe.address.value);
  return addresses;
}

// outer has inlined middle at its probe 3, which has inlined inner at its probe 2.
ProbeSections Nested() {
  ProbeSections sections;
  sections.Describe("outer", 77).Describe("middle", 88).Describe("inner", 99);
  sections.BeginTree("outer", 3, 1)
      .AddProbe(1, ProbeSections::kBlock, 0)
      .AddProbe(4, ProbeSections::kDirectCall, 0x90)
      .AddProbe(2, ProbeSections::kIndirectCall, -0x50);
  sections.BeginInlined(3, "middle", 1, 1).AddDiscriminated(1, 0x10, 300);
  sections.BeginInlined(2, "inner", 1, 0).AddProbe(1, ProbeSections::kBlock, 0);
  return sections;
}

TEST_CASE("GUIDs are of MD5", "[pseudo_probes]") {
  CHECK(FunctionGuid("") == 0x04b2008fd98c1dd4);
  CHECK(FunctionGuid("abc") == 0xb04fd23c98500190);
  CHECK(FunctionGuid("main") == 15822663052811949562u);
  CHECK(FunctionGuid("1234567890123456789012345678901234567890123456789012345678901234567890123456"
                     "7890") == 0x55c9e32ba2f4ed57);
}

TEST_CASE("probes have addresses by those before, and the functions around them",
          "[pseudo_probes]") {
  const PseudoProbes probes = ReadOrFail(Nested());
  REQUIRE(Addresses(probes) == std::vector<uint64_t>{0x1000, 0x1040, 0x1050, 0x1050, 0x1090});
  REQUIRE(probes.functions().size() == 3);
  CHECK(probes.functions()[0].guid == FunctionGuid("outer"));
  CHECK(probes.functions()[0].caller == ProbedFunction::kNone);
  CHECK(probes.functions()[1].guid == FunctionGuid("middle"));
  CHECK(probes.functions()[1].caller == 0);
  CHECK(probes.functions()[1].call_probe == 3);
  CHECK(probes.functions()[2].guid == FunctionGuid("inner"));
  CHECK(probes.functions()[2].caller == 1);
  CHECK(probes.functions()[2].call_probe == 2);

  CHECK(probes.At({0x1001}).empty());
  CHECK(probes.At({0x1000})[0].index == 1);
  CHECK_FALSE(probes.At({0x1000})[0].is_call);
  CHECK(probes.At({0x1040})[0].is_call);
  CHECK(probes.At({0x1090})[0].is_call);
  REQUIRE(probes.At({0x1050}).size() == 2);  // in the order of the section
  CHECK(probes.At({0x1050})[0].function == 1);
  CHECK(probes.At({0x1050})[0].discriminator == 300);
  CHECK(probes.At({0x1050})[1].function == 2);

  REQUIRE(probes.Describe(FunctionGuid("middle")) != nullptr);
  CHECK(probes.Describe(FunctionGuid("middle"))->name == "middle");
  CHECK(probes.Describe(FunctionGuid("middle"))->checksum == 88);
  CHECK(probes.Describe(FunctionGuid("other")) == nullptr);
  REQUIRE(probes.DescribeStart({kStart}) != nullptr);
  CHECK(probes.DescribeStart({kStart})->name == "outer");
  CHECK(probes.DescribeStart({kStart + 1}) == nullptr);
  CHECK(probes.DescribeStart({kOther}) == nullptr);  // a part without a description
}

TEST_CASE("inlined calls that were merged are functions of their own", "[pseudo_probes]") {
  ProbeSections sections;
  sections.BeginTree("outer", 1, 1).AddProbe(1, 0, 0);
  sections.BeginInlined(0, "middle", 1, 1).AddProbe(1, 0, 4);
  sections.BeginInlined(2, "inner", 1, 0).AddProbe(1, 0, 4);
  const PseudoProbes probes = ReadOrFail(sections);
  REQUIRE(probes.functions().size() == 3);
  CHECK(probes.functions()[1].caller == ProbedFunction::kNone);
  CHECK(probes.functions()[2].caller == 1);
  CHECK(Addresses(probes) == std::vector<uint64_t>{kStart, kStart + 4, kStart + 8});
}

TEST_CASE("a sentinel names the symbol of split code", "[pseudo_probes]") {
  ProbeSections sections;
  sections.BeginTree("outer", 2, 0).AddSentinel("outer.cold").AddProbe(5, 0, 8);
  sections.BeginTree("outer", 1, 0).AddProbe(1, 0, 0);
  const PseudoProbes probes = ReadOrFail(sections);
  CHECK(Addresses(probes) == std::vector<uint64_t>{kStart, kOther + 8});
  CHECK(probes.all()[1].index == 5);
  CHECK(probes.trees_without_symbol() == 0);
}

TEST_CASE("old sections have addresses", "[pseudo_probes]") {
  ProbeSections sections;
  sections.BeginTree("unknown", 2, 0).AddProbeAt(1, 0, 0x5000).AddProbe(2, 0, 4);
  sections.BeginTree("outer", 1, 0).AddProbe(1, 0, 0x100);  // after the probe before
  const PseudoProbes probes = ReadOrFail(sections);
  CHECK(Addresses(probes) == std::vector<uint64_t>{0x5000, 0x5004, 0x5104});
  CHECK(probes.trees_without_symbol() == 0);
}

TEST_CASE("functions without one symbol are left out", "[pseudo_probes]") {
  ProbeSections sections;
  sections.BeginTree("unknown", 1, 1).AddProbe(1, 0, 0);
  sections.BeginInlined(2, "outer", 2, 0).AddProbe(1, 0, 0).AddProbe(2, 0, 1);
  sections.BeginTree("twin", 1, 0).AddProbe(1, 0, 0);
  sections.BeginTree("twin", 1, 0).AddProbe(1, 0, 0);
  sections.BeginTree("outer", 1, 0).AddProbe(1, 0, 2);
  const PseudoProbes probes = ReadOrFail(sections);
  CHECK(Addresses(probes) == std::vector<uint64_t>{kStart + 2});
  CHECK(probes.trees_without_symbol() == 1);
  CHECK(probes.trees_of_several_symbols() == 2);
}

TEST_CASE("a probe at the end of its function is of no code", "[pseudo_probes]") {
  ProbeSections sections;
  sections.BeginTree("outer", 3, 0)
      .AddProbe(1, 0, 0)
      .AddProbe(2, 0, kEnd - kStart)
      .AddProbe(3, 0, -1);
  CHECK(Addresses(ReadOrFail(sections)) == std::vector<uint64_t>{kStart, kEnd - 1});
}

TEST_CASE("functions of one name with other graphs have no description", "[pseudo_probes]") {
  ProbeSections sections;
  sections.Describe("same", 1).Describe("other", 1).Describe("same", 1).Describe("other", 2);
  const PseudoProbes probes = ReadOrFail(sections);
  CHECK(probes.Describe(FunctionGuid("same")) != nullptr);
  CHECK(probes.Describe(FunctionGuid("other")) == nullptr);
}

TEST_CASE("sections that end early are refused wherever they end", "[pseudo_probes]") {
  const ProbeSections whole = Nested();
  const std::span<const uint8_t> descriptions = whole.descriptions(), trees = whole.trees();
  for (size_t size = 1; size < trees.size(); ++size) {
    const StatusOr<PseudoProbes> read =
        PseudoProbes::Read(descriptions, trees.first(size), Starts());
    CHECK(read.status().code() == StatusCode::kBadFormat);
    CHECK(read.status().message().find(".pseudo_probe is damaged at byte ") == 0);
  }
  size_t refused = 0;
  for (size_t size = 1; size < descriptions.size(); ++size) {
    const StatusOr<PseudoProbes> read =
        PseudoProbes::Read(descriptions.first(size), trees, Starts());
    refused += read.status().code() == StatusCode::kBadFormat;
  }
  CHECK(refused == descriptions.size() - 3);  // it may end between two descriptions
}

TEST_CASE("numbers beyond all bounds are refused", "[pseudo_probes]") {
  const auto message = [](const ProbeSections& sections) {
    const StatusOr<PseudoProbes> read = ReadSections(sections);
    CHECK(read.status().code() == StatusCode::kBadFormat);
    return read.status().message();
  };
  CHECK(message(ProbeSections().BeginTree("outer", UINT64_MAX, 0)).find("index") !=
        std::string::npos);
  CHECK(message(ProbeSections().BeginTree("outer", 0, UINT64_MAX)).find("inlined call") !=
        std::string::npos);
  CHECK(message(ProbeSections().BeginTree("outer", 1, 0).AddProbe(0x10000, 0, 0)).find("index") !=
        std::string::npos);
  CHECK(message(ProbeSections().BeginTree("outer", 1, 0).AddDiscriminated(1, 0, 1ull << 32))
            .find("discriminator") != std::string::npos);
  ProbeSections deep;
  deep.BeginTree("outer", 0, 1);
  for (int i = 0; i < 100000; ++i) deep.BeginInlined(1, "inner", 0, 1);
  CHECK(message(deep).find("too deeply") != std::string::npos);
}

}  // namespace
}  // namespace hbbp
