// Queries by name, of a profile of real code.
#include "mix/pivot_query.h"

#include <cmath>
#include <string>
#include <vector>

#include "mix/mix_ratios.h"
#include "mix/query_keys.h"
#include "support/catch.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

#define HBBP_BUILD_OR_SKIP(...) \
  if (!BuildTinyLibrary(__VA_ARGS__)) HBBP_SKIP("there is no compiler")

PivotQuery Query(std::vector<std::string> rows, std::string where = "") {
  PivotQuery query;
  query.rows = std::move(rows);
  query.where = std::move(where);
  return query;
}

double TotalOf(const ResolvedProfile& profile, const std::string& where) {
  const auto table = MakePivotTable(profile, Query({"mnemonic"}, where));
  INFO(where << ": " << table.status().message());
  REQUIRE(table.ok());
  return table->Whole(0).value;
}

std::string ErrorOf(const ResolvedProfile& profile, const PivotQuery& query) {
  const auto table = MakePivotTable(profile, query);
  REQUIRE_FALSE(table.ok());
  CHECK(table.status().code() == StatusCode::kInvalidArgument);
  return table.status().message();
}

TEST_CASE("every key alone adds up to the whole, and the whole is surely that") {
  const TemporaryFolder folder;
  const std::string path = folder.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const ResolvedProfile profile(TinyProfile(path));
  PivotQuery query;
  query.taxonomies = *ParseTaxonomies(DefaultTaxonomyText());
  std::vector<std::string> keys = {"groups", "traffic"};
  for (const std::string_view name : PivotKeyNames()) keys.emplace_back(name);
  double error = 0;
  for (const std::string& key : keys) {
    CAPTURE(key);
    query.rows = {key};
    const auto table = MakePivotTable(profile, query);
    REQUIRE(table.ok());
    double sum = 0;
    for (size_t row = 0; row < table->row_count(); ++row) {
      CHECK_FALSE(table->RowLabel(row, 0).text.empty());
      sum += table->At(row, PivotTable::kAll, 0).value;
    }
    CHECK(sum == Approx(23'000));
    CHECK(table->Whole(0).value == Approx(23'000));
    // Who asks for what does not change how sure the whole is.
    const double whole_error = table->Whole(0).StandardError();
    if (error == 0) error = whole_error;
    CHECK(whole_error == Approx(error));
  }
}

// Counts of TinyProfile: entry 2000 times, loop 6000 times, tiny_twice 1000 / 3 times.
TEST_CASE("conditions on threads, places and properties") {
  const TemporaryFolder folder;
  const std::string path = folder.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const ResolvedProfile profile(TinyProfile(path));
  CHECK(TotalOf(profile, "thread = 10") == Approx(16'000));
  CHECK(TotalOf(profile, "thread = second") == Approx(7'000));
  CHECK(TotalOf(profile, "thread != second") == Approx(16'000));
  CHECK(TotalOf(profile, "process = 10") == Approx(23'000));
  CHECK(TotalOf(profile, "process > 10") == 0);
  CHECK(TotalOf(profile, "module = lib.so") == Approx(23'000));
  CHECK(TotalOf(profile, "module = \"" + path + "\"") == Approx(23'000));
  CHECK(TotalOf(profile, "module != lib.so") == 0);
  CHECK(TotalOf(profile, "module = other.so") == 0);
  CHECK(TotalOf(profile, "function = tiny_twice") == Approx(1000));
  CHECK(TotalOf(profile, "function ~ tiny_w*") == Approx(22'000));
  CHECK(TotalOf(profile, "source = ebs") == Approx(23'000));
  CHECK(TotalOf(profile, "mnemonic = dec") == Approx(6000));
  CHECK(TotalOf(profile, "mnemonic = dec and thread = 11") == Approx(2000));
  CHECK(TotalOf(profile, "mnemonic = dec or function = tiny_twice") == Approx(7000));
  CHECK(TotalOf(profile, "not (mnemonic = dec or function = tiny_twice)") == Approx(16'000));
  CHECK(TotalOf(profile, "(thread = 10 and mnemonic = dec) or thread = 11") == Approx(11'000));
  // What blocks alone tell needs no look at instructions.
  const auto by_module = MakePivotTable(profile, Query({"module"}, "function = tiny_twice"));
  REQUIRE(by_module.ok());
  CHECK(by_module->Whole(0).value == Approx(1000));
}

TEST_CASE("loops, lines and slices are keys") {
  const TemporaryFolder folder;
  const std::string path = folder.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  data.slices = {1'000'000, 2};
  data.counts[0].slice = 0;
  data.counts[1].slice = 1;
  const ResolvedProfile profile(data);
  const auto loops = MakePivotTable(profile, Query({"loop"}));
  REQUIRE(loops.ok());
  REQUIRE(loops->row_count() == 2);
  CHECK(loops->RowLabel(0, 0).kind == LabelKind::kAddress);
  CHECK(loops->At(0, PivotTable::kAll, 0).value == Approx(18'000));
  CHECK(loops->RowLabel(1, 0).text == "none");
  const auto slices = MakePivotTable(profile, Query({"slice"}));
  REQUIRE(slices.ok());
  REQUIRE(slices->row_count() == 3);
  CHECK(slices->RowLabel(0, 0).text == "unknown");
  CHECK(slices->RowLabel(1, 0).text == "1");
  CHECK(slices->At(1, PivotTable::kAll, 0).value == Approx(5000));
  CHECK(slices->At(2, PivotTable::kAll, 0).value == Approx(4000));
  CHECK(slices->Whole(0).value == Approx(23'000));
  // There is no debug information: functions are those of the symbol table.
  const auto lines = MakePivotTable(profile, Query({"file", "line", "inlined"}));
  REQUIRE(lines.ok());
  REQUIRE(lines->row_count() == 2);
  CHECK(lines->RowLabel(0, 1).text == "unknown");
  CHECK(lines->RowLabel(0, 2).text == "tiny_work");
  CHECK(lines->At(0, PivotTable::kAll, 0).value == Approx(22'000));
  CHECK(TotalOf(profile, "slice = 1") == Approx(5000));
  CHECK(TotalOf(profile, "loop != none") == Approx(18'000));
  CHECK(TotalOf(profile, "inlined = tiny_twice") == Approx(1000));
}

// Each instruction stands on a line of its own: those of the loop on 9 to 11.
TEST_CASE("lines of source code are keys") {
  const TemporaryFolder folder;
  const std::string path = folder.File("lib.so");
  HBBP_BUILD_OR_SKIP(path, "", "-g -Wl,--build-id");
  const ResolvedProfile profile(TinyProfile(path));
  if (!profile.LinesOf(0).ok()) HBBP_SKIP(profile.LinesOf(0).status().message());
  const auto table = MakePivotTable(profile, Query({"line"}));
  REQUIRE(table.ok());
  REQUIRE(table->row_count() == 8);
  std::vector<std::string> loop;
  for (size_t row = 0; row < 3; ++row) {
    CHECK(table->At(row, PivotTable::kAll, 0).value == Approx(6000));
    loop.push_back(table->RowLabel(row, 0).text);
  }
  CHECK(loop == std::vector<std::string>{path + ".s:10", path + ".s:11", path + ".s:9"});
  CHECK(TotalOf(profile, "file = lib.so.s") == Approx(23'000));
  CHECK(TotalOf(profile, "line ~ *:10") == Approx(6000));
}

TEST_CASE("addresses and blocks are numbers") {
  const TemporaryFolder folder;
  const std::string path = folder.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const ResolvedProfile profile(TinyProfile(path));
  const auto blocks = MakePivotTable(profile, Query({"block"}));
  REQUIRE(blocks.ok());
  REQUIRE(blocks->row_count() == 3);
  const std::string loop = blocks->RowLabel(0, 0).text;
  CHECK(loop.starts_with("0x"));
  CHECK(TotalOf(profile, "block = " + loop) == Approx(18'000));
  CHECK(TotalOf(profile, "address = " + loop) == Approx(6'000));
  CHECK(TotalOf(profile, "address < " + loop + " and function = tiny_work") == Approx(4'000));
}

TEST_CASE("values follow from properties") {
  const TemporaryFolder folder;
  const std::string path = folder.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const ResolvedProfile profile(TinyProfile(path));
  PivotQuery query = Query({"mnemonic"});
  query.measures = AllPivotMeasures();
  const auto table = MakePivotTable(profile, query);
  REQUIRE(table.ok());
  for (size_t row = 0; row < table->row_count(); ++row) {
    if (table->RowLabel(row, 0).text != "ret") continue;
    // c3, which pops its address.
    CHECK(table->At(row, PivotTable::kAll, 0).value == Approx(1000 / 3.0));
    CHECK(table->At(row, PivotTable::kAll, 1).value == Approx(1000 / 3.0));
    CHECK(table->At(row, PivotTable::kAll, 2).value == Approx(1000 / 3.0));
    CHECK(table->At(row, PivotTable::kAll, 3).value == Approx(8000 / 3.0));
    CHECK(table->At(row, PivotTable::kAll, 4).value == 0);
    CHECK(table->At(row, PivotTable::kAll, 5).value == 0);
  }
  CHECK(table->Whole(1).value == Approx(8000 + 1000 / 3.0));
}

TEST_CASE("groups of a user are keys and can be asked for") {
  const TemporaryFolder folder;
  const std::string path = folder.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const ResolvedProfile profile(TinyProfile(path));
  PivotQuery query = Query({"mine"}, "mine = down, other");
  query.taxonomies = *ParseTaxonomies("[mine]\nup: mnemonic = add\ndown: mnemonic = dec, sub\n");
  const auto table = MakePivotTable(profile, query);
  REQUIRE(table.ok());
  REQUIRE(table->row_count() == 2);
  CHECK(table->RowLabel(0, 0).text == "other");
  CHECK(table->RowLabel(1, 0).text == "down");
  CHECK(table->At(1, PivotTable::kAll, 0).value == Approx(6000));
  query.where = "mine = dwn";
  CHECK(ErrorOf(profile, query) == "condition: column 8: no mine 'dwn'; did you mean 'down'?");
  query.taxonomies.clear();
  query.where = "";
  CHECK(ErrorOf(profile, query).starts_with("no key is called 'mine'"));
}

TEST_CASE("no taxonomy is called as a key") {
  for (const char* name : {"module", "function", "loop", "source", "thread", "slice"}) {
    const auto taxonomies = ParseTaxonomies("[" + std::string(name) + "]\nup: mnemonic = add\n");
    REQUIRE(taxonomies.ok());
    CHECK(CheckTaxonomyNames(*taxonomies).message().find(name) != std::string::npos);
  }
  CHECK(CheckTaxonomyNames(*ParseTaxonomies(DefaultTaxonomyText())).ok());
}

TEST_CASE("what is asked for wrongly is told, with what is near") {
  const ResolvedProfile profile{ProfileData()};
  CHECK(ErrorOf(profile, Query({"mnemnic"})) ==
        "no key is called 'mnemnic'; did you mean 'mnemonic'?");
  CHECK(ErrorOf(profile, Query({"module", "module"})) == "the key 'module' is there twice");
  CHECK(ErrorOf(profile, Query({"module"}, "functoin = f")) ==
        "condition: column 1: no key 'functoin'; did you mean 'function'?");
  CHECK(ErrorOf(profile, Query({"module"}, "thread > 3")).find("no number") != std::string::npos);
  CHECK(FindPivotMeasure("read_bytes").status().message() ==
        "no value is called 'read_bytes'; did you mean 'read-bytes'?");
  const auto empty = MakePivotTable(profile, Query({"module"}));
  REQUIRE(empty.ok());
  CHECK(empty->row_count() == 0);
}

double RatioOf(const std::vector<MixRatio>& ratios, const std::string& name) {
  for (const MixRatio& ratio : ratios) {
    if (name == ratio.name) return ratio.value.value_or(-1);
  }
  return -2;
}

TEST_CASE("ratios of a mix") {
  const TemporaryFolder folder;
  const std::string path = folder.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const ResolvedProfile profile(TinyProfile(path));
  const auto ratios = ComputeMixRatios(profile, "", {});
  REQUIRE(ratios.ok());
  CHECK(RatioOf(*ratios, "instructions") == Approx(23'000));
  CHECK(RatioOf(*ratios, "flops") == 0);
  CHECK(RatioOf(*ratios, "packed") == 0);
  // IP samples tell of no taken branch.
  CHECK(RatioOf(*ratios, "instructions-by-taken-branch") == -1);
  // One in the loop, one at the end of tiny_twice.
  CHECK(RatioOf(*ratios, "branches") == Approx((6000 + 1000 / 3.0) / 23'000));
  CHECK(RatioOf(*ratios, "conditional-branches") == Approx(6000 / 23'000.0));
  const auto of_one = ComputeMixRatios(profile, "function = tiny_twice", {});
  REQUIRE(of_one.ok());
  CHECK(RatioOf(*of_one, "branches") == Approx(1 / 3.0));
  CHECK_FALSE(ComputeMixRatios(profile, "functoin = x", {}).ok());
}

// Nothing but rounds of the loop, of three instructions and one taken branch each.
TEST_CASE("instructions by taken branch are known if streams count all of them") {
  const TemporaryFolder folder;
  const std::string path = folder.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const ProfileData samples = TinyProfile(path);
  ProfileData data = samples;
  data.counts.clear();
  data.sources[0].kind = SourceKind::kLbr;
  const uint64_t loop = TinyWorkOffset(path) + kTinyLoop;
  data.branches = {MakeBranch(0, 0, 0, loop + 4, 0, loop, loop + 4, 100, 1)};
  const auto by_taken = [](const ProfileData& of) {
    const auto ratios = ComputeMixRatios(ResolvedProfile(of), "", {});
    REQUIRE(ratios.ok());
    return RatioOf(*ratios, "instructions-by-taken-branch");
  };
  CHECK(by_taken(data) == Approx(3));
  // Of the second source, which has IP samples: in the block that streams count, and elsewhere.
  ProfileData merged = data;
  merged.counts = {samples.counts[3]};
  CHECK(by_taken(merged) == -1);
  merged.counts[0].offset = TinyWorkOffset(path) + kTinyTwice;
  CHECK(by_taken(merged) == -1);
}

}  // namespace
}  // namespace hbbp
