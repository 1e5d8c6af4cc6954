// Compares LookAhead with the processor, one instruction at a time, from random states: encodings
// from the assembler, the same with unusual prefixes, and those of the system's libraries.
// InterpreterComparison runs each natively (NativeRunner), then in the Interpreter, compares all
// known registers and flags, and lets the interpreter load the memory that the instruction may have
// written.
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>

#include "support/catch.h"
#include "support/sanitizer.h"
#include "trace/interpreter/code_cache.h"
#include "trace/interpreter/look_ahead.h"
#include "trace/native/native_stub.h"
#include "unit/trace/harvested_code.h"
#include "unit/trace/instruction_counts.h"
#include "unit/trace/instruction_forms.h"
#include "unit/trace/native_run.h"
#include "unit/trace/state_difference.h"

namespace hbbp::testing {
namespace {

using trace::CodeCache;
using trace::LookAhead;
using trace::MachineState;
using trace::NativeInstruction;
using trace::NativeRegion;
using trace::StopReason;

constexpr size_t kCacheBytes = size_t{16} << 20;
constexpr size_t kRegionBytes = size_t{64} << 20;

// Has a LookAhead and what it needs.
class Interpreter {
 public:
  explicit Interpreter(bool has_stubs)
      : region_(has_stubs ? NativeRegion::Create(kRegionBytes) : nullptr),
        cache_(CodeCache::Create(kCacheBytes, region_)),
        memory_(ZeroedMemory()),
        look_ahead_(LookAhead::Create(memory_, cache_)) {}
  ~Interpreter() {
    std::free(memory_);
    CodeCache::Destroy(cache_);
    NativeRegion::Destroy(region_);
  }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  void Begin(const MachineState& state) {
    cache_->FlushIfFull();
    look_ahead_->Begin(state, false);
  }
  trace::RunResult Run(uint64_t instructions) {
    std::array<TakenBranch, 4> branches;
    return look_ahead_->Run(branches.data(), branches.size(), instructions);
  }
  const MachineState& state() const { return look_ahead_->state(); }

 private:
  static void* ZeroedMemory() {
    const size_t alignment = LookAhead::Alignment();
    const size_t bytes = (LookAhead::Size() + alignment - 1) / alignment * alignment;
    return std::memset(std::aligned_alloc(alignment, bytes), 0, bytes);
  }

  NativeRegion* region_;
  CodeCache* cache_;
  void* memory_;
  LookAhead* look_ahead_;
};

// Memory that instructions access without an operand for it.
void PrepareImplicitMemory(const std::string& mnemonic, uint64_t middle, Random* random,
                           MachineState* state) {
  static const std::set<std::string> kStackUsers = {"push", "pop", "pushfq", "popfq", "enter"};
  static const std::set<std::string> kStringUsers = {
      "movsb", "movsw", "movsd", "movsq", "stosb", "stosw", "stosd", "stosq", "lodsb", "lodsw",
      "lodsd", "lodsq", "cmpsb", "cmpsw", "cmpsd", "cmpsq", "scasb", "scasw", "scasd", "scasq"};
  if (kStackUsers.count(mnemonic) != 0) state->gpr[trace::kRsp] = middle + (*random)() % 8;
  if (mnemonic == "leave" || mnemonic == "enter") state->gpr[trace::kRbp] = middle;
  if (kStringUsers.count(mnemonic) != 0) {
    state->gpr[trace::kRsi] = middle + (*random)() % 16;
    state->gpr[trace::kRdi] = middle + (*random)() % 64;
    state->gpr[trace::kRcx] = (*random)() % 24;
  }
  if (mnemonic == "xlat") state->gpr[trace::kRbx] = middle;
  if (mnemonic == "div" || mnemonic == "idiv") {
    state->gpr[trace::kRdx] = 0;
    state->gpr[trace::kRax] &= 0x7fff;
  }
}

class InterpreterComparison {
 public:
  explicit InterpreterComparison(bool has_stubs) : interpreter_(has_stubs) {}

  bool is_usable() const { return runner_.is_usable(); }

  void Compare(const InstructionBytes& code, int trials) {
    const std::string mnemonic = MnemonicOf(code);
    // Addresses of 32 bits may lead to memory of the sanitizer.
    const bool is_of_sanitizer = kHasSanitizer && code[0] == 0x67;
    if (kNotForTests.count(mnemonic) != 0 || LoadsSegment(code) || is_of_sanitizer) {
      skipped_.Add(code);
      return;
    }
    NativeInstruction native;
    trace::DescribeNative(code.data(), code.size(), runner_.code_address(), nullptr, &native);
    if (mnemonic == "push" || mnemonic == "pop") {
      native = {};
      if (PointsAtMemory(code)) native.has_memory = true, native.memory_bytes = 8;
    }
    ++encodings_;
    for (int trial = 0; trial < trials; ++trial) {
      CompareOnce(*runner_.random(), mnemonic, code, native, trial);
    }
  }

  int encodings() const { return encodings_; }
  int known() const { return known_; }
  const Disagreements& disagreements() const { return disagreements_; }

  std::string Summary() const {
    std::ostringstream text;
    text << encodings_ << " encodings, " << runs_ << " runs, " << known_
         << " with all results known\n"
         << skipped_.TextFor("not run (branches, privileged)")
         << faulted_.TextFor("runs that fault natively")
         << stopped_.TextFor("runs before which the interpreter stops")
         << unknown_.TextFor("runs with unknown results");
    return text.str();
  }

 private:
  static bool PointsAtMemory(const InstructionBytes& code) {
    return TextOf(code).find('[') != std::string::npos;
  }

  void CompareOnce(Random& random, const std::string& mnemonic, const InstructionBytes& code,
                   const NativeInstruction& native, int trial) {
    const uint64_t middle = runner_.end_of_data() - kWindowBytes / 2;
    const std::unique_ptr<NativeRun> run = runner_.Run(
        code, native, trial,
        [&](MachineState* state) { PrepareImplicitMemory(mnemonic, middle, &random, state); });
    if (run == nullptr) return;
    if (run->signal != 0) {
      faulted_.Add(code);
      return;
    }
    ++runs_;
    // This is the memory before the instruction, with loads of what it may have stored.
    std::memcpy(runner_.window(), run->memory_before.data(), kWindowBytes);
    const uint64_t focus = FindFocus(*run, native);
    InstructionBytes program = run->code;
    for (unsigned i = 0; i < kLoads; ++i) AddLoad(kLoadTargets[i], focus + 8 * i, &program);
    program.push_back(0xf4);  // hlt
    std::memcpy(reinterpret_cast<void*>(runner_.code_address()), program.data(), program.size());

    interpreter_.Begin(run->before);
    const trace::RunResult result = interpreter_.Run(1);
    if (result.instructions != 1) {
      stopped_.Add(code, trace::NameOf(result.reason));
      return;
    }
    std::string difference = Difference(*run, interpreter_.state());
    if (result.ip != run->after.rip) difference += "  wrong next instruction\n";
    if (difference.empty()) difference = MemoryDifference(*run, focus);
    if (interpreter_.state().poison != 0) {
      unknown_.Add(code);
    } else {
      ++known_;
    }
    if (!difference.empty()) disagreements_.Add(run->code, difference);
  }

  static constexpr unsigned kLoads = 14;
  static constexpr uint8_t kLoadTargets[kLoads] = {0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};

  // mov reg, [address]
  static void AddLoad(unsigned reg, uint64_t address, InstructionBytes* program) {
    const auto low = static_cast<uint32_t>(address);
    program->insert(program->end(), {static_cast<uint8_t>(0x48 | reg >> 3 << 2), 0x8b,
                                     static_cast<uint8_t>(0x04 | (reg & 7) << 3), 0x25});
    for (int shift = 0; shift < 32; shift += 8) {
      program->push_back(static_cast<uint8_t>(low >> shift));
    }
  }

  uint64_t FindFocus(const NativeRun& run, const NativeInstruction& native) const {
    uint64_t focus = run.after.gpr[trace::kRsp];
    if (native.has_memory) {
      focus = run.target;
    } else if (IsInWindow(run.before.gpr[trace::kRdi])) {
      focus = run.before.gpr[trace::kRdi];
    }
    focus -= 24;
    const uint64_t start = runner_.end_of_data() - kWindowBytes;
    if (focus < start || focus > runner_.end_of_data() - 8 * kLoads) {
      focus = runner_.end_of_data() - 8 * kLoads;
    }
    return focus;
  }

  bool IsInWindow(uint64_t address) const { return runner_.end_of_data() - address < kWindowBytes; }

  static std::string Difference(const NativeRun& run, const MachineState& state) {
    auto actual = std::make_unique<MachineState>(state);
    uint64_t flags = (trace::kArithmeticFlags | trace::kFlagDf) & ~UndefinedFlags(run.code);
    const auto is_unknown = [&](trace::RegisterSet bit) { return (state.poison & bit) != 0; };
    for (unsigned i = 0; i < 16; ++i) {
      if (is_unknown(trace::GprBit(i))) actual->gpr[i] = run.after.gpr[i];
    }
    for (unsigned i = 0; i < 8; ++i) {
      if (is_unknown(trace::MaskBit(i))) actual->k[i] = run.after.k[i];
    }
    for (unsigned i = 0; i < 32; ++i) {
      if (is_unknown(trace::VectorBit(i))) std::memcpy(actual->zmm[i], run.after.zmm[i], 64);
    }
    if (is_unknown(trace::kMxcsrBit)) actual->mxcsr = run.after.mxcsr;
    if (is_unknown(trace::kX87Bit)) std::memcpy(actual->fxsave, run.after.fxsave, 512);
    constexpr std::pair<trace::RegisterSet, uint64_t> kFlags[] = {
        {trace::kCfBit, trace::kFlagCf}, {trace::kPfBit, trace::kFlagPf},
        {trace::kAfBit, trace::kFlagAf}, {trace::kZfBit, trace::kFlagZf},
        {trace::kSfBit, trace::kFlagSf}, {trace::kOfBit, trace::kFlagOf}};
    for (const auto& [bit, flag] : kFlags) {
      if (is_unknown(bit)) flags &= ~flag;
    }
    return FindDifference(run.after, *actual, flags);
  }

  std::string MemoryDifference(const NativeRun& run, uint64_t focus) {
    const trace::RunResult result = interpreter_.Run(kLoads);
    if (result.instructions != kLoads) return "  the loads after it were not run\n";
    const MachineState& state = interpreter_.state();
    std::string text;
    for (unsigned i = 0; i < kLoads; ++i) {
      const unsigned reg = kLoadTargets[i];
      uint64_t expected = 0;
      const uint64_t offset = focus + 8 * i - (runner_.end_of_data() - kWindowBytes);
      std::memcpy(&expected, run.memory_after.data() + offset, sizeof(expected));
      if ((state.poison & trace::GprBit(reg)) != 0 || state.gpr[reg] == expected) continue;
      std::ostringstream line;
      line << "  memory at focus + " << std::dec << 8 * i << ": " << std::hex << expected
           << " != " << state.gpr[reg] << '\n';
      text += line.str();
    }
    return text;
  }

  // These transfer control, must not be run, or change what the test itself needs.
  inline static const std::set<std::string> kNotForTests = {
      "call",    "cli",     "clts",   "hlt",     "in",       "incsspq", "incsspd", "insb",
      "insd",    "insw",    "int",    "int1",    "int3",     "into",    "invd",    "iret",
      "iretd",   "iretq",   "jb",     "jbe",     "jcxz",     "jecxz",   "jknzd",   "jl",
      "jle",     "jmp",     "jnb",    "jnbe",    "jnl",      "jnle",    "jno",     "jnp",
      "jns",     "jnz",     "jo",     "jp",      "jrcxz",    "js",      "jz",      "jkzd",
      "lar",     "lfs",     "lgs",    "loop",    "loope",    "loopne",  "lsl",     "lss",
      "out",     "outsb",   "outsd",  "outsw",   "popf",     "popfq",   "pushf",   "pushfq",
      "rdmsr",   "rdpmc",   "ret",    "sgdt",    "sidt",     "sldt",    "smsw",    "sti",
      "str",     "syscall", "sysret", "sysexit", "sysenter", "ud0",     "ud1",     "ud2",
      "vmread",  "vmwrite", "vmcall", "wbinvd",  "wrmsr",    "wrpkru",  "xabort",  "xbegin",
      "xend",    "xrstor",  "xsave",  "xsavec",  "xsaveopt", "verr",    "verw",    "wrfsbase",
      "wrgsbase"};

  NativeRunner runner_;
  Interpreter interpreter_;
  int encodings_ = 0;
  int runs_ = 0;
  int known_ = 0;
  Disagreements disagreements_;
  InstructionCounts skipped_;
  InstructionCounts faulted_;
  InstructionCounts stopped_;
  InstructionCounts unknown_;
};

void CompareAll(const std::vector<InstructionBytes>& instructions, int trials, bool has_stubs) {
  InterpreterComparison comparison(has_stubs);
  if (!comparison.is_usable()) HBBP_SKIP("the host forbids writable and executable memory");
  for (const InstructionBytes& code : instructions) comparison.Compare(code, trials);
  WARN(comparison.Summary());
  INFO(comparison.disagreements().text());
  CHECK(comparison.disagreements().count() == 0);
  CHECK(comparison.known() > comparison.encodings() / 4);
}

}  // namespace

TEST_CASE("look-ahead does what assembled instructions do") {
  CompareAll(AssembledInstructions(), 20, true);
}

TEST_CASE("look-ahead does what assembled instructions do, without stubs") {
  CompareAll(AssembledInstructions(), 5, false);
}

TEST_CASE("look-ahead does what instructions with unusual prefixes do") {
  CompareAll(PrefixedInstructions(), 5, true);
}

TEST_CASE("look-ahead does what the instructions of libraries do") {
  CompareAll(HarvestInstructions(), 1, true);
}

}  // namespace hbbp::testing
