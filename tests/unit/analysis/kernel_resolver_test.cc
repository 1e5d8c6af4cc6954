// Tests where the analysis takes kernel code and symbols from (vmlinux, core file, kallsyms, memory
// of the running kernel, the profile itself), and that it refuses files of other kernels. The
// kernel is one of a few instructions (support/tiny_kernel.h): TinyKernelFiles builds its files
// with the system's compiler, TinyKernelProfile() returns samples in it.
#include "analysis/kernel_resolver.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isa/taxonomy.h"
#include "mix/pivot_query.h"
#include "mix/query_keys.h"
#include "profile/profile_file.h"
#include "profile/profile_merge.h"
#include "support/analyze_or_fail.h"
#include "support/catch.h"
#include "support/compute_mix_or_fail.h"
#include "support/event_builders.h"
#include "support/tiny_kernel.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

constexpr uint64_t kStart = kTinyKernelStart;
constexpr uint64_t kPeriod = 1000;

// Returns a profile of another machine: 2 samples at the start of sys_work, 10 in its loop, 1 at
// its end, 3 in traced, 4 in a kernel module.
ProfileData TinyKernelProfile() {
  ProfileData data;
  data.sources.resize(1);
  data.sources[0].kind = SourceKind::kEbs;
  data.sources[0].event = EventKind::kInstructions;
  data.sources[0].include_kernel = true;
  data.threads = {{10, 10, "first"}};
  data.modules.resize(1);
  data.modules[0].kind = ModuleKind::kKernel;
  data.modules[0].path = kRecordedKernel;
  data.modules[0].build_id = std::vector<uint8_t>(4, kTinyBuildIdByte);
  data.modules[0].kernel.reference_symbol = "_text";
  data.modules[0].kernel.reference_address = kStart;
  data.counts = {
      MakeCount(0, 0, 0, kStart, 2, kPeriod),
      MakeCount(0, 0, 0, kStart + kSysWorkLoop, 10, kPeriod),
      MakeCount(0, 0, 0, kStart + kSysWorkReturn, 1, kPeriod),
      MakeCount(0, 0, 0, kStart + kTraced, 3, kPeriod),
      MakeCount(0, 0, 0, kTinyKernelModule, 4, kPeriod),
  };
  return data;
}

class TinyKernelFiles {
 public:
  // Returns false where there is no compiler.
  bool Build() {
    TinyKernelCore().Write(core());
    directory_.Write("kallsyms", TinyKallsyms());
    return BuildTinyVmlinux(vmlinux());
  }
  std::string vmlinux() const { return directory_.File("vmlinux"); }
  std::string core() const { return directory_.File("core"); }
  std::string kallsyms() const { return directory_.File("kallsyms"); }
  const TemporaryFolder& directory() const { return directory_; }

 private:
  TemporaryFolder directory_;
};

Analysis AnalysisWith(const ProfileData& data, const KernelFilePaths& paths) {
  StatusOr<KernelFiles> files = OpenKernelFilesFor(data, paths);
  INFO(files.status().message());
  REQUIRE(files.ok());
  return AnalyzeOrFail(data, {.kernel_files = *std::move(files)});
}

std::map<std::string, double> Mnemonics(const Analysis& profile) {
  std::map<std::string, double> counts;
  for (const MixRow& row : ComputeMixOrFail(profile, {.mnemonic = true}).rows) {
    counts[std::string(MnemonicName(row.mnemonic))] = row.instructions;
  }
  return counts;
}

std::map<std::string, uint64_t> SamplesByFunction(const Analysis& profile) {
  std::map<std::string, uint64_t> samples;
  for (const FunctionRecord& function : profile.functions()) {
    samples[function.name] += function.samples;
  }
  return samples;
}

TEST_CASE("kernel code from memory over the static file") {
  TinyKernelFiles files;
  if (!files.Build()) HBBP_SKIP("there is no compiler");
  const Analysis profile =
      AnalysisWith(TinyKernelProfile(), {files.vmlinux(), files.core(), files.kallsyms(), ""});
  // The trace point is a call, which ends the first block after two instructions.
  const auto& blocks = profile.blocks();
  REQUIRE(blocks.size() == 5);
  CHECK(blocks[0].block.start.value == kStart);
  CHECK(blocks[0].block.end.value == kStart + kSysWorkLoop);
  CHECK(blocks[0].block.terminator == BranchKind::kCall);
  CHECK(blocks[0].block.target.value == kStart + kTraced);
  CHECK(blocks[0].estimate.count == Approx(2 * kPeriod / 2));
  CHECK(blocks[1].estimate.count == Approx(10 * kPeriod / 2));
  CHECK(blocks[2].block.terminator == BranchKind::kJump);
  CHECK(blocks[3].estimate.count == Approx(3 * kPeriod / 2));
  CHECK(blocks[4].block.start.value == kTinyKernelModule);
  CHECK(profile.UnexplainedOfSource(0) == 0);
  CHECK(profile.modules().CodeStateOf(0) == CodeState::kCore);
  CHECK(profile.modules().ProblemOf(0).empty());
  CHECK(profile.PatchedBytesOf(0) == 3);
  std::string mix;
  for (const auto& [mnemonic, count] : Mnemonics(profile)) {
    mix += mnemonic + " " + std::to_string(std::lround(count)) + ", ";
  }
  CHECK(mix == "call 1000, dec 5000, jmp 1000, jne 5000, mov 1000, ret 3500, xor 3500, ");
  CHECK(SamplesByFunction(profile) ==
        std::map<std::string, uint64_t>{{"sys_work", 13}, {"traced", 3}, {"tiny_irq [tiny]", 4}});
}

TEST_CASE("kernel code from the static file alone is what was linked, without modules") {
  TinyKernelFiles files;
  if (!files.Build()) HBBP_SKIP("there is no compiler");
  const Analysis profile = AnalysisWith(TinyKernelProfile(), {files.vmlinux(), "", "", ""});
  CHECK(profile.modules().CodeStateOf(0) == CodeState::kFile);
  CHECK(profile.modules().ProblemOf(0).find("rewrote") != std::string::npos);
  CHECK(profile.PatchedBytesOf(0) == 0);
  const auto mnemonics = Mnemonics(profile);
  CHECK(mnemonics.count("call") == 0);
  CHECK(mnemonics.at("nop") == Approx(1000));
  CHECK(profile.UnexplainedOfSource(0) == 4);
}

TEST_CASE("functions with and without code stand in order") {
  TinyKernelFiles files;
  if (!files.Build()) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyKernelProfile();
  data.modules[0].kernel.modules = {{{{kStart - 4096}, {kStart}}, "[before]"},
                                    {{{kTinyKernelModule}, {kTinyKernelModule + 4096}}, "[tiny]"}};
  data.counts.push_back(MakeCount(0, 0, 0, kStart - 10, 7, kPeriod));
  const Analysis profile = AnalysisWith(data, {files.vmlinux(), "", "", ""});
  const auto& functions = profile.functions();
  REQUIRE(functions.size() == 4);
  std::string names;
  for (const FunctionRecord& function : functions) names += function.name + " ";
  CHECK(names == "[before] sys_work traced [tiny] ");
  for (const BlockRecord& block : profile.blocks()) {
    CHECK(functions[block.function].range.Contains(block.block.start));
  }
  CHECK(functions[0].samples == 7);
  CHECK(functions[3].instructions == Approx(4 * kPeriod));
  // They have no mnemonics, but all else counts.
  CHECK(ComputeMixOrFail(profile, {.mnemonic = true}).total == Approx(16 * kPeriod));
  const Mix by_function = ComputeMixOrFail(profile, {.function = true, .thread = true});
  CHECK(by_function.total == Approx(27 * kPeriod));
  CHECK(by_function.rows.size() == 4);
}

TEST_CASE("every key adds up to the same whole where some code is missing") {
  TinyKernelFiles files;
  if (!files.Build()) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyKernelProfile();
  data.modules[0].kernel.modules = {{{{kTinyKernelModule}, {kTinyKernelModule + 4096}}, "[tiny]"}};
  const Analysis profile = AnalysisWith(data, {files.vmlinux(), "", "", ""});
  PivotQuery query;
  query.taxonomies = *ParseTaxonomies(DefaultTaxonomyText());
  std::vector<std::string_view> keys = {"groups"};
  keys.insert(keys.end(), PivotKeyNames().begin(), PivotKeyNames().end());
  for (const std::string_view key : keys) {
    CAPTURE(key);
    query.rows = {std::string(key)};
    const auto table = MakePivotTable(profile, query);
    REQUIRE(table.ok());
    double sum = 0, without_code = 0;
    for (size_t row = 0; row < table->row_count(); ++row) {
      const double instructions = table->At(row, PivotTable::kAll, 0).value;
      sum += instructions;
      if (table->RowLabel(row, 0).text == "no-code") without_code += instructions;
    }
    CHECK(sum == Approx(20 * kPeriod));
    CHECK(table->Whole(0).value == Approx(20 * kPeriod));
    const bool needs_code = key != "process" && key != "thread" && key != "module" &&
                            key != "function" && key != "source" && key != "slice";
    CHECK(without_code == Approx(needs_code ? 4 * kPeriod : 0));
  }
  query.rows = {"function"};
  for (const auto& [where, kept] : {std::pair("module != nothing", 20), std::pair("loop != 1", 16),
                                    std::pair("mnemonic ~ *", 16)}) {
    CAPTURE(where);
    query.where = where;
    const auto table = MakePivotTable(profile, query);
    REQUIRE(table.ok());
    CHECK(table->Whole(0).value == Approx(kept * kPeriod));
  }
}

TEST_CASE("functions of a kernel whose code is not there, by its symbols") {
  TinyKernelFiles files;
  (void)files.Build();
  const Analysis profile = AnalysisWith(TinyKernelProfile(), {"", "", files.kallsyms(), ""});
  CHECK(profile.blocks().empty());
  CHECK(profile.UnexplainedOfSource(0) == 20);
  CHECK(profile.modules().CodeStateOf(0) == CodeState::kMissing);
  CHECK(SamplesByFunction(profile) ==
        std::map<std::string, uint64_t>{{"sys_work", 13}, {"traced", 3}, {"tiny_irq [tiny]", 4}});
  CHECK(profile.modules().ProblemOf(0).find("functions of the kernel are known") !=
        std::string::npos);
}

TEST_CASE("symbols of the kernel as it was linked serve where it was loaded") {
  const TemporaryFolder directory;
  directory.Write("System.map", TinyKallsyms(kTinyKernelLinked, false));
  const Analysis profile =
      AnalysisWith(TinyKernelProfile(), {"", "", directory.File("System.map"), ""});
  CHECK(SamplesByFunction(profile) ==
        std::map<std::string, uint64_t>{{"sys_work", 13}, {"traced", 3}});
}

TEST_CASE("the kernel of another machine has nothing of the one that runs here") {
  const Analysis profile = AnalyzeOrFail(TinyKernelProfile());
  CHECK(profile.functions().empty());
  CHECK(profile.UnexplainedOfSource(0) == 20);
  CHECK(profile.modules().CodeStateOf(0) == CodeState::kMissing);
  CHECK(profile.modules().ProblemOf(0).find("kallsyms") != std::string::npos);
  // A kernel of an earlier boot of this one, or an unknown one, has none either.
  for (const char* boot_id : {"another", ""}) {
    ProfileData data = TinyKernelProfile();
    data.modules[0].path = kRunningKernel;
    data.modules[0].kernel = {};
    data.modules[0].kernel.boot_id = boot_id;
    CHECK(AnalyzeOrFail(data).functions().empty());
  }
}

TEST_CASE("a static file in one of the usual paths is found by its build ID") {
  const TemporaryFolder directory;
  const std::string built = directory.File("built");
  if (!BuildTinyVmlinux(built)) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyKernelProfile();
  data.modules[0].kernel.release = "6.1.0";
  KernelFilePaths paths;
  paths.root = directory.File("root");
  for (const char* usual :
       {"/usr/lib/debug/.build-id/ab/ababab.debug", "/usr/lib/debug/boot/vmlinux-6.1.0",
        "/usr/lib/debug/lib/modules/6.1.0/vmlinux", "/lib/modules/6.1.0/build/vmlinux",
        "/boot/vmlinux-6.1.0"}) {
    CAPTURE(usual);
    const std::filesystem::path path = paths.root + usual;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::copy_file(built, path);
    const Analysis profile = AnalysisWith(data, paths);
    CHECK(profile.modules().CodeStateOf(0) == CodeState::kFile);
    std::filesystem::remove(path);
    // This file is of another kernel of that release.
    REQUIRE(BuildTinyVmlinux(path, "cdcdcdcd"));
    const Analysis other = AnalysisWith(data, paths);
    CHECK(other.modules().CodeStateOf(0) == CodeState::kMissing);
    std::filesystem::remove(path);
  }
}

TEST_CASE("memory of the kernel that runs is read now and stored for later") {
  const TemporaryFolder directory;
  std::filesystem::create_directories(directory.File("proc"));
  TinyKernelCore().Write(directory.File("proc/kcore"));
  ProfileData data = TinyKernelProfile();
  data.modules[0].path = kRunningKernel;
  data.modules[0].kernel = DescribeRunningKernel();
  if (data.modules[0].kernel.boot_id.empty()) HBBP_SKIP("no /proc here");
  KernelFilePaths paths;
  paths.root = directory.File("");
  const Analysis profile = AnalysisWith(data, paths);
  CHECK(profile.modules().CodeStateOf(0) == CodeState::kCore);
  CHECK(profile.UnexplainedOfSource(0) == 0);
  const ProfileData stored = profile.modules().DataToStore();
  CHECK(stored.modules[0].chunks.size() == 2);
  const Analysis later = AnalyzeOrFail(stored);
  CHECK(later.modules().CodeStateOf(0) == CodeState::kProfile);
  CHECK(Mnemonics(later) == Mnemonics(profile));
  // After a boot, or on another machine, it is another kernel.
  data.modules[0].kernel.boot_id = "another";
  const Analysis other = AnalysisWith(data, paths);
  CHECK(other.UnexplainedOfSource(0) == 20);
}

TEST_CASE("files of other kernels and boots are refused") {
  TinyKernelFiles files;
  if (!files.Build()) HBBP_SKIP("there is no compiler");
  const auto refused = [](const ProfileData& data, const KernelFilePaths& paths) {
    const Status status = OpenKernelFilesFor(data, paths).status();
    CHECK(status.code() == StatusCode::kMismatch);
    return status.message();
  };
  const ProfileData data = TinyKernelProfile();
  using Catch::Matchers::Contains;
  const std::string other = files.directory().File("other");
  REQUIRE(BuildTinyVmlinux(other, "cdcdcdcd"));
  CHECK_THAT(refused(data, {other, "", "", ""}), Contains("cdcdcdcd") && Contains("abababab"));
  CoreBuilder core = TinyKernelCore();
  core.SetVmcoreInfo("BUILD-ID=00112233\n").Write(other);
  CHECK_THAT(refused(data, {"", other, "", ""}), Contains("00112233") && Contains("abababab"));
  core.SetVmcoreInfo("BUILD-ID=abababab\nSYMBOL(_stext)=ffffffff82000000\n").Write(other);
  ProfileData by_stext = data;
  by_stext.modules[0].kernel.reference_symbol = "_stext";
  CHECK_THAT(refused(by_stext, {"", other, "", ""}), Contains("another boot"));
  CHECK_THAT(refused(data, {"", other, "", ""}), Contains("another boot"));
  core.SetVmcoreInfo("SYMBOL(_stext)=ffffffff83c00190\n").Write(other);
  CHECK_THAT(refused(by_stext, {"", other, "", ""}), Contains("another boot"));
  CHECK(OpenKernelFilesFor(data, {"", other, "", ""}).ok());
  files.directory().Write("other", TinyKallsyms(kStart + 16));
  CHECK_THAT(refused(data, {"", "", other, ""}), Contains("_text"));
  files.directory().Write("other", "ffffffff81000000 T none\n");
  CHECK_THAT(refused(data, {"", "", other, ""}), Contains("_text"));
  CHECK(OpenKernelFilesFor(data, {"/nonexistent", "", "", ""}).status().code() ==
        StatusCode::kNotFound);
  files.directory().Write("other", "compressed");
  const Status compressed = OpenKernelFilesFor(data, {other, "", "", ""}).status();
  CHECK(compressed.code() == StatusCode::kBadFormat);
  CHECK_THAT(compressed.message(), Contains("vmlinuz"));
  if (RunCommand("objcopy --only-keep-debug " + files.vmlinux() + " " + other)) {
    CHECK_THAT(OpenKernelFilesFor(data, {other, "", "", ""}).status().message(),
               Contains("without its code"));
  }
  CHECK(OpenKernelFilesFor(data, {"", files.vmlinux(), "", ""}).status().code() ==
        StatusCode::kBadFormat);
  CHECK(OpenKernelFilesFor(data, {"", "", files.vmlinux(), ""}).status().code() ==
        StatusCode::kBadFormat);
  // A profile without kernel samples ignores them.
  CHECK(OpenKernelFilesFor(ProfileData(), {files.vmlinux(), "", "", ""}).ok());
}

TEST_CASE("a core file says where the kernel was if the recording does not") {
  TinyKernelFiles files;
  if (!files.Build()) HBBP_SKIP("there is no compiler");
  TinyKernelCore().SetVmcoreInfo("SYMBOL(_stext)=ffffffff83c00000\n").Write(files.core());
  ProfileData data = TinyKernelProfile();
  data.modules[0].kernel = {};
  data.modules[0].build_id.clear();
  const Analysis profile = AnalysisWith(data, {files.vmlinux(), files.core(), "", ""});
  CHECK(profile.PatchedBytesOf(0) == 3);
  CHECK(SamplesByFunction(profile).at("sys_work") == 13);
  // A vmlinux alone is not enough.
  const Analysis unknown = AnalysisWith(data, {files.vmlinux(), "", "", ""});
  CHECK(unknown.blocks().empty());
  CHECK(unknown.modules().ProblemOf(0).find("where the kernel was loaded") != std::string::npos);
}

TEST_CASE("what is stored of a kernel serves without its files") {
  TinyKernelFiles files;
  if (!files.Build()) HBBP_SKIP("there is no compiler");
  const auto stored_with = [&](const KernelFilePaths& paths) {
    const Analysis profile = AnalysisWith(TinyKernelProfile(), paths);
    const StatusOr<ProfileData> data =
        ParseProfile(SerializeProfile(profile.modules().DataToStore()));
    REQUIRE(data.ok());
    return *data;
  };
  SECTION("memory and symbols") {
    const ProfileData data = stored_with({"", files.core(), files.kallsyms(), ""});
    const Analysis profile = AnalyzeOrFail(data);
    CHECK(profile.modules().CodeStateOf(0) == CodeState::kProfile);
    CHECK(profile.UnexplainedOfSource(0) == 0);
    CHECK(profile.blocks().size() == 5);
    CHECK(Mnemonics(profile).at("call") == Approx(1000));
    CHECK(SamplesByFunction(profile).at("tiny_irq [tiny]") == 4);
    // Storing it again changes nothing, and neither does merging it with itself.
    CHECK(SerializeProfile(profile.modules().DataToStore()) == SerializeProfile(data));
    const ProfileData* const twice[] = {&data, &data};
    CHECK(MergeProfiles(twice).modules[0].kernel == data.modules[0].kernel);
    CHECK(MergeProfiles(twice).modules[0].chunks.size() == data.modules[0].chunks.size());
  }
  SECTION("symbols alone") {
    const ProfileData data = stored_with({"", "", files.kallsyms(), ""});
    CHECK(data.modules[0].chunks.empty());
    CHECK(SamplesByFunction(AnalyzeOrFail(data)).at("traced") == 3);
  }
  SECTION("a static file is not stored, as it is not what ran") {
    CHECK(stored_with({files.vmlinux(), "", "", ""}).modules[0].chunks.empty());
  }
  SECTION("memory without symbols") {
    const ProfileData data = stored_with({"", files.core(), "", ""});
    CHECK(AnalyzeOrFail(data).UnexplainedOfSource(0) == 0);
    CHECK(data.modules[0].kernel.functions.empty());
  }
}

TEST_CASE("code that changed while it was sampled is over that of files, and is stored with it") {
  TinyKernelFiles files;
  if (!files.Build()) HBBP_SKIP("there is no compiler");
  ProfileData poked = TinyKernelProfile();
  const std::vector<uint8_t> nop = {0x0f, 0x1f, 0x44, 0x00, 0x00};
  poked.modules[0].chunks = {{kStart + kTracePoint, nop, kPokedCode}};
  // A sampled address in it does not make it the code of the function.
  poked.counts.insert(poked.counts.begin() + 1,
                      MakeCount(0, 0, 0, kStart + kTracePoint, 1, kPeriod));
  SECTION("with memory") {
    const Analysis profile = AnalysisWith(poked, {"", files.core(), files.kallsyms(), ""});
    CHECK(profile.modules().CodeStateOf(0) == CodeState::kCore);
    CHECK(Mnemonics(profile).count("call") == 0);
    const ProfileData stored = profile.modules().DataToStore();
    CHECK(stored.modules[0].chunks.size() == 4);  // of three functions and the change
    const Analysis again = AnalyzeOrFail(stored);
    CHECK(again.modules().CodeStateOf(0) == CodeState::kProfile);
    CHECK(Mnemonics(again) == Mnemonics(profile));
    CHECK(SerializeProfile(again.modules().DataToStore()) == SerializeProfile(stored));
  }
  SECTION("with a static file, whose code is still not stored") {
    const Analysis profile = AnalysisWith(poked, {files.vmlinux(), "", "", ""});
    CHECK(profile.modules().CodeStateOf(0) == CodeState::kFile);
    CHECK(profile.modules().ProblemOf(0).find("rewrote") != std::string::npos);
    CHECK(profile.modules().DataToStore().modules[0].chunks.size() == 1);
  }
  SECTION("alone") {
    const Analysis profile = AnalyzeOrFail(poked);
    CHECK(profile.modules().CodeStateOf(0) == CodeState::kMissing);
    CHECK(profile.modules().ProblemOf(0).find("only what the recording has") != std::string::npos);
  }
}

TEST_CASE("a hostile profile makes no kernel unsafe") {
  ProfileData data = TinyKernelProfile();
  KernelRecord& kernel = data.modules[0].kernel;
  kernel.functions = {{{{UINT64_MAX}, {0}}, "a"}, {{{0}, {UINT64_MAX}}, "b"}, {{{5}, {9}}, "c"}};
  kernel.modules = kernel.functions;
  kernel.reference_address = UINT64_MAX;
  kernel.release = "../../etc";
  data.modules[0].chunks = {{UINT64_MAX - 1, {1, 2, 3}},
                            {kStart, {0xff}},
                            {kStart, {0xeb, 0xfe}},
                            {UINT64_MAX - 1, {1, 2, 3}, kPokedCode}};
  const Analysis profile = AnalyzeOrFail(data);
  uint64_t in_blocks = 0;
  for (const BlockRecord& block : profile.blocks()) in_blocks += block.samples;
  CHECK(in_blocks + profile.UnexplainedOfSource(0) == 20);
  (void)profile.modules().DataToStore();
}

}  // namespace
}  // namespace hbbp
