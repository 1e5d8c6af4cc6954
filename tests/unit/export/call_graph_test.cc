// Tests calls and jumps with a library whose addresses are known: caller calls callee through a
// stub of the linker, callee calls itself, and main, which no burst has seen, calls caller.
#include "export/call_graph.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "image/elf_image.h"
#include "support/analyze_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

constexpr char kSource[] = R"(
  .text
  .globl caller, callee
  .type caller, @function
caller:
  call callee@PLT
  ret
  .size caller, . - caller
  .type callee, @function
callee:
.Lcallee:
  decl %edi
  jz 1f
  call .Lcallee
1:
  ret
  .size callee, . - callee
)";
constexpr char kMain[] = R"(
  .type main, @function
main:
  call caller@PLT
  ret
  .size main, . - main
)";
constexpr char kOther[] = R"(
  .type other, @function
other:
  call caller@PLT
  ret
  .size other, . - other
)";
constexpr char kThird[] = R"(
  .type third, @function
third:
  jmp caller@PLT
  .size third, . - third
)";
constexpr uint64_t kAfterCall = 5;  // of caller
// Offsets in callee.
constexpr uint64_t kBranch = 2;
constexpr uint64_t kRecursion = 4;
constexpr uint64_t kReturn = 9;

constexpr double kWeight = 3000;

class CallLibrary {
 public:
  // Leaves addresses empty where there is no compiler.
  explicit CallLibrary(const TemporaryFolder& directory, const std::string& more = "")
      : path_(directory.File("lib.so")) {
    const std::string source = directory.File("lib.s");
    std::ofstream(source) << kSource << more << ".section .note.GNU-stack, \"\", @progbits\n";
    if (!RunCommand("cc -shared -nostdlib -Wl,--build-id -o " + path_ + " " + source)) return;
    StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path_);
    REQUIRE(image.ok());
    image_ = *std::move(image);
    caller = *image_->AddressOfSymbol("caller");
    callee = *image_->AddressOfSymbol("callee");
    int32_t distance;
    std::memcpy(&distance, BytesOfFile(path_).data() + OffsetOf(caller) + 1, sizeof(distance));
    stub = caller + kAfterCall + static_cast<uint64_t>(int64_t{distance});
  }

  bool is_built() const { return image_ != nullptr; }
  uint64_t OffsetOf(ModuleAddress address) const { return image_->OffsetOfAddress(address)->value; }
  ModuleAddress AddressOf(const char* symbol) const { return *image_->AddressOfSymbol(symbol); }

  BranchCount MakeTaken(ModuleAddress from, ModuleAddress to, ModuleAddress stream_end,
                        double weight = kWeight) const {
    BranchCount branch;
    branch.from = OffsetOf(from);
    branch.to = OffsetOf(to);
    branch.stream_end = OffsetOf(stream_end);
    branch.number = 3;
    branch.weights = weight;
    branch.replicates.sums.fill(static_cast<float>(weight / kReplicates));
    return branch;
  }

  // Callee is entered twice as often as its stub is: once from there and once by itself.
  ProfileData MakeProfile() const {
    ProfileData data = TinyProfile(path_);
    data.counts.clear();
    data.sources.resize(1);
    data.sources[0].kind = SourceKind::kSwbt;
    data.branches = {
        MakeTaken(callee + kReturn, caller, caller),
        MakeTaken(caller, stub, stub),
        MakeTaken(stub, callee, callee + kRecursion),
        MakeTaken(callee + kRecursion, callee, callee + kBranch),
        MakeTaken(callee + kBranch, callee + kReturn, callee + kReturn),
        MakeTaken(callee + kReturn, callee + kReturn, callee + kReturn),
        MakeTaken(callee + kReturn, caller + kAfterCall, caller + kAfterCall),
    };
    Normalize(&data.branches);
    return data;
  }

  ModuleAddress caller, callee, stub;

 private:
  const std::string path_;
  std::unique_ptr<ElfImage> image_;
};

CallGraph MakeGraph(const Analysis& analysis, uint32_t module = kNoIndex) {
  const LineTableCache lines(analysis.shared_modules());
  return MakeCallGraph({analysis, lines, module});
}

const ControlTransfer& OnlyFrom(const CallGraph& graph, ModuleAddress address) {
  const auto from = graph.From(0, address);
  REQUIRE(from.size() == 1);
  return from[0];
}

std::vector<std::string> NamesOf(const CallGraph& graph) {
  std::vector<std::string> names;
  for (const FunctionRecord& function : graph.functions) names.push_back(function.name);
  return names;
}

TEST_CASE("calls are divided from jumps, and cost what is called with what that calls") {
  const TemporaryFolder directory;
  const CallLibrary library(directory);
  if (!library.is_built()) HBBP_SKIP("there is no compiler");
  const CallGraph graph = MakeGraph(AnalyzeOrFail(library.MakeProfile()));

  // Callee executes 7 instructions and the stub 1, kWeight times each.
  const ControlTransfer& from_caller = OnlyFrom(graph, library.caller);
  CHECK(from_caller.kind == TransferKind::kCall);
  CHECK(from_caller.to == library.stub);
  CHECK(from_caller.count == Approx(kWeight));
  CHECK(from_caller.instructions == Approx((1 + 7) * kWeight));

  const ControlTransfer& from_stub = OnlyFrom(graph, library.stub);
  CHECK(from_stub.kind == TransferKind::kCall);
  CHECK(from_stub.to == library.callee);
  CHECK(from_stub.instructions == Approx(7 * kWeight));

  const ControlTransfer& recursion = OnlyFrom(graph, library.callee + kRecursion);
  CHECK(recursion.kind == TransferKind::kCall);
  CHECK(recursion.caller == recursion.callee);
  CHECK(recursion.count == Approx(kWeight));
  CHECK(recursion.instructions == 0);

  const ControlTransfer& branch = OnlyFrom(graph, library.callee + kBranch);
  CHECK(branch.kind == TransferKind::kConditionalJump);
  CHECK(branch.to == library.callee + kReturn);
  CHECK(branch.count == Approx(kWeight));

  CHECK(graph.From(0, library.callee + kReturn).empty());
  CHECK(graph.From(0, library.callee).empty());
  CHECK(graph.functions.size() == 3);
}

TEST_CASE("the only caller in the code is that of a function without callers") {
  const TemporaryFolder directory;
  const CallLibrary library(directory, kMain);
  if (!library.is_built()) HBBP_SKIP("there is no compiler");
  const CallGraph graph = MakeGraph(AnalyzeOrFail(library.MakeProfile()));
  const ControlTransfer& from_main = OnlyFrom(graph, library.AddressOf("main"));
  CHECK(from_main.kind == TransferKind::kCall);
  CHECK(graph.functions[from_main.caller].name == "main");
  CHECK(from_main.to == library.caller);
  CHECK(from_main.count == Approx(kWeight));
  CHECK(from_main.instructions == Approx((2 + 1 + 7) * kWeight));
  CHECK(graph.functions.size() == 4);
}

TEST_CASE("of several callers in the code none is taken") {
  const TemporaryFolder directory;
  const CallLibrary library(directory, std::string(kOther) + kThird);
  if (!library.is_built()) HBBP_SKIP("there is no compiler");
  CHECK(MakeGraph(AnalyzeOrFail(library.MakeProfile())).functions.size() == 3);
}

TEST_CASE("main calls what has unknown callers") {
  const TemporaryFolder directory;
  const CallLibrary library(directory, std::string(kOther) + kMain);
  if (!library.is_built()) HBBP_SKIP("there is no compiler");
  ProfileData data = library.MakeProfile();
  // Either main or the other function may have called caller.
  const ModuleAddress other = library.AddressOf("other") + kAfterCall;
  data.branches.push_back(library.MakeTaken(library.caller + kAfterCall, other, other, 1));
  Normalize(&data.branches);
  const CallGraph graph = MakeGraph(AnalyzeOrFail(std::move(data)));
  const std::vector<std::string> names = NamesOf(graph);
  REQUIRE(std::count(names.begin(), names.end(), kSpontaneous) == 1);
  const ControlTransfer& from_main = OnlyFrom(graph, library.AddressOf("main"));
  CHECK(graph.functions[from_main.callee].name == kSpontaneous);
  CHECK(from_main.instructions == Approx((2 + 1 + 7) * kWeight + 1));
  const auto from_spontaneous = graph.From(0, {0});
  REQUIRE(from_spontaneous.size() == 2);
  CHECK(from_spontaneous[0].to == library.caller);
  CHECK(from_spontaneous[0].instructions == Approx((2 + 1 + 7) * kWeight));
  CHECK(graph.functions[from_spontaneous[1].callee].name == "other");
}

TEST_CASE("what is entered more often than it is called has unknown callers") {
  const TemporaryFolder directory;
  const CallLibrary library(directory);
  if (!library.is_built()) HBBP_SKIP("there is no compiler");
  ProfileData data = library.MakeProfile();
  BranchCount unknown = library.MakeTaken(library.callee, library.callee, library.callee + kBranch);
  unknown.from_module = kNoModule;
  unknown.from = 0x1234;
  data.branches.push_back(unknown);
  Normalize(&data.branches);
  const CallGraph graph = MakeGraph(AnalyzeOrFail(std::move(data)));
  CHECK(OnlyFrom(graph, library.stub).instructions == Approx((7 + 2) * kWeight / 2));
}

TEST_CASE("samples alone have direct calls, and those of stubs") {
  const TemporaryFolder directory;
  const CallLibrary library(directory);
  if (!library.is_built()) HBBP_SKIP("there is no compiler");
  ProfileData data = library.MakeProfile();
  data.branches.clear();
  data.sources[0].kind = SourceKind::kEbs;
  data.counts = {MakeCount(0, 0, 0, library.OffsetOf(library.caller), 4, kTinyPeriod),
                 MakeCount(0, 0, 0, library.OffsetOf(library.stub), 4, kTinyPeriod),
                 MakeCount(0, 0, 0, library.OffsetOf(library.callee), 8, kTinyPeriod)};
  Normalize(&data.counts, nullptr);
  const CallGraph graph = MakeGraph(AnalyzeOrFail(std::move(data)));
  CHECK(OnlyFrom(graph, library.caller).to == library.stub);
  CHECK(OnlyFrom(graph, library.caller).instructions == Approx(4000 + 8000));
  CHECK(OnlyFrom(graph, library.stub).to == library.callee);
}

}  // namespace
}  // namespace hbbp
