// Tests queries by name, of a profile of real code.
#include "mix/pivot_query.h"

#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "mix/mix_ratios.h"
#include "mix/query_keys.h"
#include "support/analyze_or_fail.h"
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

double ComputeTotal(const PivotSubject& profile, const std::string& where) {
  const auto table = MakePivotTable(profile, Query({"mnemonic"}, where));
  INFO(where << ": " << table.status().message());
  REQUIRE(table.ok());
  return table->Whole(0).value;
}

std::string QueryError(const PivotSubject& profile, const PivotQuery& query) {
  const auto table = MakePivotTable(profile, query);
  REQUIRE_FALSE(table.ok());
  CHECK(table.status().code() == StatusCode::kInvalidArgument);
  return table.status().message();
}

TEST_CASE("every key alone adds up to the whole, and the whole is surely that") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
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
    // The error of the whole does not depend on the key.
    const double whole_error = table->Whole(0).StandardError();
    if (error == 0) error = whole_error;
    CHECK(whole_error == Approx(error));
  }
}

// Whichever thread is first finds blocks, loops and lines.
TEST_CASE("many threads may ask for pivots, loops and lines at once") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path, "", "-Wa,-g -Wl,--build-id");
  const std::vector<std::string> keys = {"loop", "line", "inlined", "function"};
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  const LineTableCache tables(profile.shared_modules());
  PivotSubject subject(profile);
  AddMissing({.instructions = true, .loops = true}, &subject);
  subject.lines = &tables;
  std::vector<double> wholes(2 * keys.size());
  std::vector<size_t> loops(wholes.size());
  std::vector<std::string> problems(wholes.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < wholes.size(); ++i) {
    threads.emplace_back([&, i] {
      if (i % 2 == 1) loops[i] = FindProfileLoops(profile).loops.size();
      const auto lines = tables.Open(0);
      const auto table = MakePivotTable(subject, Query({keys[i % keys.size()]}));
      if (table.ok()) wholes[i] = table->Whole(0).value;
      loops[i] = subject.loops->loops.size();
      for (const BlockRecord& block : profile.blocks()) {
        if (lines.ok()) (*lines)->Find(block.block.start);
      }
      if (!lines.ok()) problems[i] = lines.status().message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wholes == std::vector<double>(wholes.size(), wholes[0]));
  CHECK(wholes[0] == Approx(23'000));
  CHECK(loops == std::vector<size_t>(loops.size(), 1));
  CHECK(problems == std::vector<std::string>(problems.size(), problems[0]));
}

// TinyProfile counts entry 2000 times, loop 6000 times, tiny_twice 1000 / 3 times.
TEST_CASE("conditions on threads, code and properties") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  CHECK(ComputeTotal(profile, "thread = 10") == Approx(16'000));
  CHECK(ComputeTotal(profile, "thread = second") == Approx(7'000));
  CHECK(ComputeTotal(profile, "thread != second") == Approx(16'000));
  CHECK(ComputeTotal(profile, "process = 10") == Approx(23'000));
  CHECK(ComputeTotal(profile, "process > 10") == 0);
  CHECK(ComputeTotal(profile, "module = lib.so") == Approx(23'000));
  CHECK(ComputeTotal(profile, "module = \"" + path + "\"") == Approx(23'000));
  CHECK(ComputeTotal(profile, "module != lib.so") == 0);
  CHECK(ComputeTotal(profile, "module = other.so") == 0);
  CHECK(ComputeTotal(profile, "function = tiny_twice") == Approx(1000));
  CHECK(ComputeTotal(profile, "function ~ tiny_w*") == Approx(22'000));
  CHECK(ComputeTotal(profile, "source = ebs") == Approx(23'000));
  CHECK(ComputeTotal(profile, "mnemonic = dec") == Approx(6000));
  CHECK(ComputeTotal(profile, "mnemonic = dec and thread = 11") == Approx(2000));
  CHECK(ComputeTotal(profile, "mnemonic = dec or function = tiny_twice") == Approx(7000));
  CHECK(ComputeTotal(profile, "not (mnemonic = dec or function = tiny_twice)") == Approx(16'000));
  CHECK(ComputeTotal(profile, "(thread = 10 and mnemonic = dec) or thread = 11") == Approx(11'000));
  // Keys of blocks need no instructions.
  const auto by_module = MakePivotTable(profile, Query({"module"}, "function = tiny_twice"));
  REQUIRE(by_module.ok());
  CHECK(by_module->Whole(0).value == Approx(1000));
}

TEST_CASE("loops, lines and slices are keys") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  data.slices = {1'000'000, 2};
  data.counts[0].slice = 0;
  data.counts[1].slice = 1;
  const Analysis profile = AnalyzeOrFail(data);
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
  // Without debug information, functions are those of the symbol table.
  const auto lines = MakePivotTable(profile, Query({"file", "line", "inlined"}));
  REQUIRE(lines.ok());
  REQUIRE(lines->row_count() == 2);
  CHECK(lines->RowLabel(0, 1).text == "unknown");
  CHECK(lines->RowLabel(0, 2).text == "tiny_work");
  CHECK(lines->At(0, PivotTable::kAll, 0).value == Approx(22'000));
  CHECK(ComputeTotal(profile, "slice = 1") == Approx(5000));
  CHECK(ComputeTotal(profile, "loop != none") == Approx(18'000));
  CHECK(ComputeTotal(profile, "inlined = tiny_twice") == Approx(1000));
}

// Each instruction has a line of its own: those of the loop have 9 to 11.
TEST_CASE("lines of source code are keys") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path, "", "-g -Wl,--build-id");
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  const LineTableCache lines(profile.shared_modules());
  if (!lines.Open(0).ok()) HBBP_SKIP(lines.Open(0).status().message());
  PivotSubject subject(profile);
  subject.lines = &lines;
  const auto table = MakePivotTable(subject, Query({"line"}));
  REQUIRE(table.ok());
  REQUIRE(table->row_count() == 8);
  std::vector<std::string> loop;
  for (size_t row = 0; row < 3; ++row) {
    CHECK(table->At(row, PivotTable::kAll, 0).value == Approx(6000));
    loop.push_back(table->RowLabel(row, 0).text);
  }
  CHECK(loop == std::vector<std::string>{path + ".s:10", path + ".s:11", path + ".s:9"});
  CHECK(ComputeTotal(subject, "file = lib.so.s") == Approx(23'000));
  CHECK(ComputeTotal(subject, "line ~ *:10") == Approx(6000));
}

TEST_CASE("addresses and blocks are numbers") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  const auto blocks = MakePivotTable(profile, Query({"block"}));
  REQUIRE(blocks.ok());
  REQUIRE(blocks->row_count() == 3);
  const std::string loop = blocks->RowLabel(0, 0).text;
  CHECK(loop.starts_with("0x"));
  CHECK(ComputeTotal(profile, "block = " + loop) == Approx(18'000));
  CHECK(ComputeTotal(profile, "address = " + loop) == Approx(6'000));
  CHECK(ComputeTotal(profile, "address < " + loop + " and function = tiny_work") == Approx(4'000));
}

TEST_CASE("values follow from properties") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  PivotQuery query = Query({"mnemonic"});
  query.measures = AllPivotMeasures();
  const auto table = MakePivotTable(profile, query);
  REQUIRE(table.ok());
  for (size_t row = 0; row < table->row_count(); ++row) {
    if (table->RowLabel(row, 0).text != "ret") continue;
    // The instruction c3 pops its address.
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
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  PivotQuery query = Query({"mine"}, "mine = down, other");
  query.taxonomies = *ParseTaxonomies("[mine]\nup: mnemonic = add\ndown: mnemonic = dec, sub\n");
  const auto table = MakePivotTable(profile, query);
  REQUIRE(table.ok());
  REQUIRE(table->row_count() == 2);
  CHECK(table->RowLabel(0, 0).text == "other");
  CHECK(table->RowLabel(1, 0).text == "down");
  CHECK(table->At(1, PivotTable::kAll, 0).value == Approx(6000));
  query.where = "mine = dwn";
  CHECK(QueryError(profile, query) == "condition: column 8: no mine 'dwn'; did you mean 'down'?");
  query.taxonomies.clear();
  query.where = "";
  CHECK(QueryError(profile, query).starts_with("no key is called 'mine'"));
}

TEST_CASE("no taxonomy is called as a key") {
  for (const char* name : {"module", "function", "loop", "source", "thread", "slice"}) {
    const auto taxonomies = ParseTaxonomies("[" + std::string(name) + "]\nup: mnemonic = add\n");
    REQUIRE(taxonomies.ok());
    CHECK(CheckTaxonomyNames(*taxonomies).message().find(name) != std::string::npos);
  }
  CHECK(CheckTaxonomyNames(*ParseTaxonomies(DefaultTaxonomyText())).ok());
}

TEST_CASE("a wrong query is an error that says what is near") {
  const Analysis profile = AnalyzeOrFail(ProfileData());
  CHECK(QueryError(profile, Query({"mnemnic"})) ==
        "no key is called 'mnemnic'; did you mean 'mnemonic'?");
  CHECK(QueryError(profile, Query({"module", "module"})) == "the key 'module' is there twice");
  CHECK(QueryError(profile, Query({"module"}, "functoin = f")) ==
        "condition: column 1: no key 'functoin'; did you mean 'function'?");
  CHECK(QueryError(profile, Query({"module"}, "thread > 3")).find("is not a number") !=
        std::string::npos);
  CHECK(QueryError(profile, Query({"module"}, "source = swtb")) ==
        "condition: column 10: no source 'swtb'; did you mean 'swbt'?");
  CHECK(QueryError(profile, Query({"module"}, "source != timer")) ==
        "condition: column 11: no source 'timer'; choose from none, ebs, lbr, ibs, swbt, truth, "
        "combined");
  CHECK(QueryError(profile, Query({"module"}, "memory = both")) ==
        "condition: column 10: no memory 'both'; choose from none, read, write, read-write");
  CHECK(QueryError(profile, Query({"module"}, "mnemonic = fooooooooooooooo")) ==
        "condition: column 12: no mnemonic 'fooooooooooooooo'; 'hbbp mix FILE --by mnemonic' lists "
        "those of a profile");
  CHECK(QueryError(profile, Query({"zzzzzz"})).find("; choose from process, thread, module") !=
        std::string::npos);
  CHECK(FindPivotMeasure("zzz").status().message() ==
        "no value is called 'zzz'; choose from instructions, executions, bytes, read-bytes, "
        "written-bytes, flops");
  CHECK(FindPivotMeasure("read_bytes").status().message() ==
        "no value is called 'read_bytes'; did you mean 'read-bytes'?");
  const auto empty = MakePivotTable(profile, Query({"module"}));
  REQUIRE(empty.ok());
  CHECK(empty->row_count() == 0);
}

double FindRatio(const std::vector<MixRatio>& ratios, const std::string& name) {
  for (const MixRatio& ratio : ratios) {
    if (name == ratio.name) return ratio.value ? ratio.value->count : -1;
  }
  return -2;
}

double ErrorOfRatio(const std::vector<MixRatio>& ratios, const std::string& name) {
  for (const MixRatio& ratio : ratios) {
    if (name == ratio.name && ratio.value) return ratio.value->standard_error;
  }
  return -1;
}

// Computes the same share by a pivot.
CountEstimate ShareOfPivot(const Analysis& profile, const std::string& groups) {
  PivotQuery query;
  query.rows = {"asked"};
  query.taxonomies = *ParseTaxonomies("[asked]\n" + groups + "\n");
  const auto table = MakePivotTable(profile, query);
  REQUIRE(table.ok());
  for (size_t row = 0; row < table->row_count(); ++row) {
    if (table->RowLabel(row, 0).text == "other") continue;
    return ComputeShare(table->At(row, PivotTable::kAll, 0), table->Whole(0));
  }
  return {};
}

// The table has the value that hbbp_pivot_label.index must have, by key; keys without a list have
// none.
TEST_CASE("labels of lists have the index of their entry, all others have none") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  PivotQuery query;
  query.taxonomies = *ParseTaxonomies(DefaultTaxonomyText());
  std::vector<std::string> keys = {"groups"};
  for (const std::string_view name : PivotKeyNames()) keys.emplace_back(name);
  for (const std::string& key : keys) {
    CAPTURE(key);
    query.rows = {key};
    const auto table = MakePivotTable(profile, query);
    REQUIRE(table.ok());
    for (size_t row = 0; row < table->row_count(); ++row) {
      const PivotLabel& label = table->RowLabel(row, 0);
      if (key == "thread") {
        CHECK(profile.data().threads.at(label.index).tid == label.number);
      } else if (key == "module") {
        CHECK(profile.data().modules.at(label.index).path == label.text);
      } else if (key == "function") {
        CHECK(profile.functions().at(label.index).name == label.text);
      } else if (key == "block") {
        CHECK(profile.blocks().at(label.index).block.start.value == label.number);
      } else if (key == "address") {
        CHECK(label.index == 0);
      } else if (key == "loop" && label.kind == LabelKind::kAddress) {
        CHECK(FindProfileLoops(profile).loops.at(label.index).header.value == label.number);
      } else {
        CHECK(label.index == kNoIndex);
      }
    }
  }
}

TEST_CASE("what queries need is made once for all of them, or for each") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  const PivotQuery query = Query({"loop"}, "mnemonic = dec");
  const StatusOr<QueryNeeds> needs = FindNeeds(profile, query);
  REQUIRE(needs.ok());
  CHECK(needs->instructions);
  CHECK(needs->loops);
  CHECK_FALSE(needs->lines);
  CHECK_FALSE(FindNeeds(profile, Query({"functoin"})).ok());
  PivotSubject subject(profile);
  AddMissing(*needs, &subject);
  const std::shared_ptr<const InstructionTable> code = subject.code;
  size_t instructions = 0;
  for (const BlockRecord& block : profile.blocks()) instructions += block.block.instruction_count;
  CHECK(code->instructions.size() == instructions);
  CHECK(code->kinds.size() <= instructions);
  AddMissing(*needs, &subject);
  CHECK(subject.code == code);
  CHECK(MakePivotInput(profile, code, {}).code == code);
  CHECK(MakePivotInput(profile, nullptr, {}).code == nullptr);
  const double total = MakePivotTable(profile, query)->Whole(0).value;
  // Several threads query at once.
  std::vector<std::thread> threads;
  std::vector<double> found(4);
  for (double& one : found) {
    threads.emplace_back([&] {
      const auto table = MakePivotTable(subject, query);
      one = table.ok() ? table->Whole(0).value : -1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(found == std::vector<double>(4, total));
}

TEST_CASE("errors of ratios are those of pivots") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  const auto ratios = ComputeMixRatios(profile, "", {});
  REQUIRE(ratios.ok());
  const CountEstimate conditional = ShareOfPivot(profile, "it: category = conditional-branch");
  CHECK(FindRatio(*ratios, "conditional-branches") == Approx(conditional.count));
  CHECK(ErrorOfRatio(*ratios, "conditional-branches") == Approx(conditional.standard_error));
  CHECK(conditional.standard_error > 0);
  const CountEstimate memory = ShareOfPivot(profile, "it: memory != none");
  CHECK(ErrorOfRatio(*ratios, "memory-instructions") == Approx(memory.standard_error));
  const auto whole = MakePivotTable(profile, Query({"module"}));
  REQUIRE(whole.ok());
  CHECK(ErrorOfRatio(*ratios, "instructions") == Approx(whole->Whole(0).StandardError()));
  // The relative error of 1 / x is that of x.
  const double by_branch = FindRatio(*ratios, "instructions-by-branch");
  CHECK(ErrorOfRatio(*ratios, "instructions-by-branch") / by_branch ==
        Approx(ErrorOfRatio(*ratios, "branches") / FindRatio(*ratios, "branches")));
  // Threads are summed separately, without their sources.
  const auto of_threads = ComputeMixRatios(profile, "thread != 999", {});
  REQUIRE(of_threads.ok());
  CHECK(ErrorOfRatio(*of_threads, "conditional-branches") == Approx(conditional.standard_error));
  const auto of_one = ComputeMixRatios(profile, "function = tiny_twice", {});
  REQUIRE(of_one.ok());
  CHECK(ErrorOfRatio(*of_one, "branches") == Approx(0).margin(1e-6));
  CHECK(ErrorOfRatio(*of_one, "instructions") > 0);
}

TEST_CASE("ratios of a mix") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  const auto ratios = ComputeMixRatios(profile, "", {});
  REQUIRE(ratios.ok());
  CHECK(FindRatio(*ratios, "instructions") == Approx(23'000));
  CHECK(FindRatio(*ratios, "flops") == 0);
  CHECK(FindRatio(*ratios, "packed") == 0);
  // IP samples do not show taken branches.
  CHECK(FindRatio(*ratios, "instructions-by-taken-branch") == -1);
  // One is in the loop, one at the end of tiny_twice.
  CHECK(FindRatio(*ratios, "branches") == Approx((6000 + 1000 / 3.0) / 23'000));
  CHECK(FindRatio(*ratios, "conditional-branches") == Approx(6000 / 23'000.0));
  const auto of_one = ComputeMixRatios(profile, "function = tiny_twice", {});
  REQUIRE(of_one.ok());
  CHECK(FindRatio(*of_one, "branches") == Approx(1 / 3.0));
  CHECK_FALSE(ComputeMixRatios(profile, "functoin = x", {}).ok());
}

// The profile has only iterations of the loop, of three instructions and one taken branch each.
TEST_CASE("instructions by taken branch are known if streams count all of them") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const ProfileData samples = TinyProfile(path);
  ProfileData data = samples;
  data.counts.clear();
  data.sources[0].kind = SourceKind::kLbr;
  const uint64_t loop = TinyWorkOffset(path) + kTinyLoop;
  data.branches = {MakeBranch(0, 0, 0, loop + 4, 0, loop, loop + 4, 100, 1)};
  const auto by_taken = [](const ProfileData& of) {
    const auto ratios = ComputeMixRatios(AnalyzeOrFail(of), "", {});
    REQUIRE(ratios.ok());
    return FindRatio(*ratios, "instructions-by-taken-branch");
  };
  CHECK(by_taken(data) == Approx(3));
  // The second source has IP samples: in the block that streams count, and elsewhere.
  ProfileData merged = data;
  merged.counts = {samples.counts[3]};
  CHECK(by_taken(merged) == -1);
  merged.counts[0].offset = TinyWorkOffset(path) + kTinyTwice;
  CHECK(by_taken(merged) == -1);
}

}  // namespace
}  // namespace hbbp
