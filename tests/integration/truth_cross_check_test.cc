// Checks that three exact counts are equal, block by block: our single-stepping, callgrind and
// exp-bbv. docs/guide/truth.md lists the permitted differences, which are asserted here.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "blocks/block_map.h"
#include "compare.h"
#include "image/elf_image.h"
#include "isa/decoder.h"
#include "support/catch.h"
#include "support/temporary_folder.h"
#include "truth/truth_file.h"

namespace hbbp::tools {
namespace {

// The C library of the counted program must not use what valgrind lacks, either.
constexpr char kEnvironment[] =
    "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-RTM,"
    "-Prefer_No_VZEROUPPER ";

class FileCode : public Code {
 public:
  explicit FileCode(const std::string& path) : image_(*ElfImage::Open(path)), map_(image_.get()) {}

  std::optional<Block> FindBlock(uint64_t address) const override {
    const auto block = map_.Find({address});
    if (!block) return std::nullopt;
    return Block{block->start.value, block->end.value};
  }

  std::optional<Instruction> Decode(uint64_t address) const override {
    hbbp::Instruction instruction;
    if (!DecodeInstruction(image_->CodeAt({address}, kMaxInstructionLength), address,
                           &instruction)) {
      return std::nullopt;
    }
    return Instruction{instruction.length, std::string(MnemonicName(instruction.mnemonic))};
  }

  std::optional<Function> FindFunction(uint64_t) const override { return std::nullopt; }

 private:
  std::unique_ptr<ElfImage> image_;
  mutable BlockMap map_;
};

using Modules = std::map<std::string, ReferenceModule>;

// Counts one program in three ways.
class Counted {
 public:
  explicit Counted(const std::string& command) : command_(command) {}

  Modules BySteps() const {
    Run(std::string(HBBP_TOOL) + " count -o " + directory_.File("steps") + " -- ");
    return Read({directory_.File("steps")}, {});
  }

  Modules ByCallgrind() const {
    Run("valgrind --tool=callgrind --dump-instr=yes --skip-plt=no --callgrind-out-file=" +
        directory_.File("callgrind") + " ");
    return Read({directory_.File("callgrind")}, {});
  }

  // `modules` are those that the blocks may be in.
  Modules ByExpBbv(const std::vector<ProfiledModule>& modules,
                   const std::vector<std::string>& load_addresses) const {
    Run("valgrind --tool=exp-bbv --interval-size=100 --bb-out-file=" + directory_.File("bb.out") +
        " --pc-out-file=" + directory_.File("pc.out") + " ");
    return Read({directory_.File("bb.out")}, modules, load_addresses);
  }

 private:
  void Run(const std::string& counter) const {
    INFO(counter << command_);
    REQUIRE(RunCommand(kEnvironment + counter + command_));
  }

  Modules Read(const std::vector<std::string>& files, const std::vector<ProfiledModule>& modules,
               const std::vector<std::string>& load_addresses = {}) const {
    std::vector<std::string> notes;
    const auto references = ReadTruth({files, "", load_addresses}, modules, &notes);
    INFO(references.status().message());
    REQUIRE(references.ok());
    Modules result;
    for (const ReferenceModule& module : *references) result[module.path] = module;
    return result;
  }

  TemporaryFolder directory_;
  std::string command_;
};

std::vector<ProfiledModule> FilesOf(const Modules& modules) {
  std::vector<ProfiledModule> files;
  for (const auto& [path, module] : modules) {
    if (path.starts_with('/') && path.find("vgpreload") == std::string::npos) {
      files.push_back({path, ""});
    }
  }
  return files;
}

double Total(const ReferenceModule& module) {
  double total = 0;
  for (const ReferenceCount& count : module.counts) total += count.count;
  return total;
}

// Compares like hbbp compare, with `estimate` instead of a profile.
ModuleComparison Compare(const ReferenceModule& reference, const ReferenceModule& estimate) {
  const FileCode code(reference.path);
  EstimatedModule blocks;
  blocks.path = reference.path;
  for (const auto& [start, block] : CountModule(estimate, {}, code).blocks) {
    const auto bounds = code.FindBlock(start);
    blocks.blocks.push_back({start, bounds ? bounds->end : start + 1,
                             static_cast<uint32_t>(block.instruction_count), block.reference});
  }
  const ModuleComparison result =
      Summarize({CountModule(reference, blocks, code)}, {}, {}, false).total;
  std::printf("%s: %.0f and %.0f instructions, block error %.6f, mnemonic error %.6f\n",
              reference.path.c_str(), result.instructions_reference, result.instructions_estimate,
              result.block_accuracy_error, result.avg_weighted_error);
  return result;
}

bool Has(const Modules& modules, const std::string& part, std::string* path) {
  for (const auto& [name, module] : modules) {
    if (name.find(part) == std::string::npos) continue;
    *path = name;
    return true;
  }
  return false;
}

TEST_CASE("single-stepping, callgrind and exp-bbv agree on a program of known counts") {
  if (!HasProgram("valgrind")) HBBP_SKIP("no valgrind");
  const std::string program = std::string(HBBP_PROGRAMS) + "/exact";
  const Counted counted(program);
  const Modules steps = counted.BySteps();
  REQUIRE(steps.size() == 1);
  const ReferenceModule& stepped = steps.begin()->second;
  CHECK(Total(stepped) == 4110);

  // Each address has the same count, except for the interval that exp-bbv does not write: the block
  // of the program's end.
  const Modules bbv = counted.ByExpBbv(FilesOf(steps), {});
  REQUIRE(bbv.count(stepped.path) == 1);
  std::map<uint64_t, double> by_bbv;
  for (const ReferenceCount& count : bbv.at(stepped.path).counts) {
    by_bbv[count.address] = count.count;
  }
  double missing = 0;
  for (const ReferenceCount& count : stepped.counts) {
    CHECK(by_bbv[count.address] <= count.count);
    missing += count.count - by_bbv[count.address];
  }
  CHECK(missing <= 100);
  CHECK(Compare(stepped, bbv.at(stepped.path)).block_accuracy_error <= 100 / 4110.0);

  // Iterations of rep movsb are not executions, and the block of the exit is missing.
  const Modules callgrind = counted.ByCallgrind();
  REQUIRE(callgrind.count(stepped.path) == 1);
  const ModuleComparison comparison = Compare(stepped, callgrind.at(stepped.path));
  CHECK(comparison.block_accuracy_error == Approx(3 / 4110.0));
}

TEST_CASE("single-stepping, callgrind and exp-bbv agree on gzip") {
  if (!HasProgram("valgrind") || !HasProgram("gzip")) HBBP_SKIP("no valgrind or no gzip");
  const TemporaryFolder directory;
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i * i % 997) + (i % 7 ? " " : "\n");
  const Counted counted("gzip -nkc " + directory.Write("in", text));
  const Modules steps = counted.BySteps();
  const Modules callgrind = counted.ByCallgrind();
  std::string gzip, libc;
  REQUIRE(Has(callgrind, "/gzip", &gzip));
  REQUIRE(Has(callgrind, "/libc.so", &libc));
  REQUIRE(steps.count(gzip) == 1);
  REQUIRE(steps.count(libc) == 1);
  // gzip has no symbols; this is valgrind's load address of a PIE.
  const Modules bbv = counted.ByExpBbv(FilesOf(callgrind), {gzip + "=0x108000"});

  // Callgrind has no file name for the PLT, and does not count the block of the exit.
  CHECK(Compare(steps.at(gzip), callgrind.at(gzip)).block_accuracy_error < 0.002);
  CHECK(Compare(callgrind.at(gzip), bbv.at(gzip)).block_accuracy_error < 0.002);
  CHECK(Compare(steps.at(gzip), bbv.at(gzip)).block_accuracy_error < 0.001);
  // The C library's code depends on the environment and the address of the stack, too.
  CHECK(Compare(steps.at(libc), callgrind.at(libc)).block_accuracy_error < 0.05);
  CHECK(Compare(callgrind.at(libc), bbv.at(libc)).block_accuracy_error < 0.05);
}

}  // namespace
}  // namespace hbbp::tools
