#include <immintrin.h>

#include <cstring>
#include <memory>
#include <sstream>

#include "support/catch.h"
#include "trace/native/native_stub.h"
#include "unit/trace/harvested_code.h"
#include "unit/trace/instruction_counts.h"
#include "unit/trace/instruction_forms.h"
#include "unit/trace/native_run.h"
#include "unit/trace/state_difference.h"

namespace hbbp::testing {
namespace {

using trace::DescribeNative;
using trace::MachineState;
using trace::NativeInstruction;
using trace::NativeRegion;

constexpr size_t kRegionBytes = size_t{64} << 20;

struct RegionDeleter {
  void operator()(NativeRegion* region) const { NativeRegion::Destroy(region); }
};
using RegionPointer = std::unique_ptr<NativeRegion, RegionDeleter>;

// Runs instructions natively and as stubs, and counts the results.
class StubComparison {
 public:
  explicit StubComparison(NativeRegion* region) : region_(region) {}

  bool is_usable() const { return runner_.is_usable(); }

  void Compare(const InstructionBytes& code, int trials) {
    NativeInstruction native;
    if (!DescribeNative(code.data(), code.size(), runner_.code_address(), region_, &native)) {
      refused_.Add(code);
      return;
    }
    if (native.length != code.size()) disagreements_.Add(code, "  wrong length\n");
    if (native.execute == nullptr) {
      without_results_.Add(code);
      return;
    }
    ++compared_;
    for (int i = 0; i < trials; ++i) CompareOnce(code, native, i);
    const std::string extent = runner_.CheckExtent(code, native);
    if (!extent.empty() && !MayDemandLess(MnemonicOf(code))) disagreements_.Add(code, extent);
  }

  int compared() const { return compared_; }
  const Disagreements& disagreements() const { return disagreements_; }

  std::string Summary() const {
    std::ostringstream text;
    text << compared_ << " encodings, " << runs_ << " runs, " << faults_ << " of them faults, "
         << misplaced_ << " operands out of reach, " << region_->used_bytes() << " bytes of stubs\n"
         << refused_.TextFor("refused") << without_results_.TextFor("without results");
    return text.str();
  }

 private:
  // The instruction refuses the values, or uses addresses that the description does not have.
  static bool MayFault(const std::string& mnemonic) {
    return mnemonic == "ldmxcsr" || mnemonic == "vldmxcsr" || mnemonic == "clflush" ||
           mnemonic == "clflushopt" || mnemonic == "clwb";
  }

  // This is about its address: AMD's family 1Ah reads any address, others as the manuals say.
  static bool MayDemandLess(const std::string& mnemonic) { return mnemonic == "sha256msg1"; }

  static uint64_t FlagsOf(trace::RegisterSet set) {
    uint64_t flags = trace::kFlagDf;  // in no set
    if ((set & trace::kCfBit) != 0) flags |= trace::kFlagCf;
    if ((set & trace::kPfBit) != 0) flags |= trace::kFlagPf;
    if ((set & trace::kAfBit) != 0) flags |= trace::kFlagAf;
    if ((set & trace::kZfBit) != 0) flags |= trace::kFlagZf;
    if ((set & trace::kSfBit) != 0) flags |= trace::kFlagSf;
    if ((set & trace::kOfBit) != 0) flags |= trace::kFlagOf;
    return flags;
  }

  void CompareOnce(const InstructionBytes& code, const NativeInstruction& native, int trial) {
    const std::unique_ptr<NativeRun> run = runner_.Run(code, native, trial);
    if (run == nullptr) {
      ++misplaced_;
      return;
    }
    ++runs_;
    if (run->signal != 0) {
      ++faults_;
      if (!MayFault(MnemonicOf(code))) disagreements_.Add(run->code, "  a fault\n");
      return;
    }
    // Displacements may have changed.
    NativeInstruction placed;
    DescribeNative(run->code.data(), run->code.size(), runner_.code_address(), region_, &placed);
    std::string difference;
    if (((run->before.flags ^ run->after.flags) & ~FlagsOf(placed.writes)) != 0) {
      difference += "  flags that are not described as written change\n";
    }
    difference += RunStub(placed, run.get());
    difference += FindDifference(run->after, run->before, trace::kArithmeticFlags | trace::kFlagDf);
    if (run->memory_before != run->memory_after) difference += "  memory differs\n";
    if (!difference.empty()) disagreements_.Add(run->code, difference);
  }

  // Runs the stub on the state before. Returns what is wrong with it.
  std::string RunStub(const NativeInstruction& native, NativeRun* run) {
    std::string problems;
    MachineState* const state = &run->before;
    FillInteresting(runner_.random(), state->operand, sizeof(state->operand));
    uint8_t* operand = nullptr;
    if (native.has_memory) {
      uint64_t address = state->gpr[native.base] + (state->gpr[native.index] << native.scale) +
                         static_cast<uint64_t>(native.displacement);
      if (native.segment == 1) address += state->fs_base;
      if (native.segment == 2) address += state->gs_base;
      if (address != run->target) problems += "  wrong address\n";
      operand = run->memory_before.data() + kWindowBytes - (runner_.end_of_data() - run->target);
      if (native.reads_memory) std::memcpy(state->operand, operand, native.memory_bytes);
    }
    constexpr unsigned kUnusualMxcsr = 0x7f80;
    const unsigned mxcsr = _mm_getcsr();
    _mm_setcsr(kUnusualMxcsr);
    native.execute(state);
    if (_mm_getcsr() != kUnusualMxcsr) problems += "  the caller's MXCSR was changed\n";
    _mm_setcsr(mxcsr);
    if (native.writes_memory) std::memcpy(operand, state->operand, native.memory_bytes);
    return problems;
  }

  NativeRegion* region_;
  NativeRunner runner_;
  int compared_ = 0;
  int runs_ = 0;
  int faults_ = 0;
  int misplaced_ = 0;
  Disagreements disagreements_;
  InstructionCounts refused_;
  InstructionCounts without_results_;
};

void CompareAll(const std::vector<InstructionBytes>& instructions, int trials) {
  const RegionPointer region(NativeRegion::Create(kRegionBytes));
  if (region == nullptr) HBBP_SKIP("the host forbids executable memory");
  StubComparison comparison(region.get());
  if (!comparison.is_usable()) HBBP_SKIP("the host forbids writable and executable memory");
  for (const InstructionBytes& code : instructions) comparison.Compare(code, trials);
  WARN(comparison.Summary());
  INFO(comparison.disagreements().text());
  CHECK(comparison.disagreements().count() == 0);
  CHECK(comparison.compared() > 1000);
}

}  // namespace

TEST_CASE("stubs do what assembled instructions do") { CompareAll(AssembledInstructions(), 40); }

TEST_CASE("stubs do what instructions with unusual prefixes do") {
  CompareAll(PrefixedInstructions(), 10);
}

TEST_CASE("stubs do what the instructions of libraries do") {
  CompareAll(HarvestInstructions(), 3);
}

}  // namespace hbbp::testing
