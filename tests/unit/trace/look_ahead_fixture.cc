// Implements LookAheadFixture and its comparisons. CompareSteps() and CompareBursts() single-step a
// function; after each instruction, OnStep() compares a taken branch with the predicted one, and at
// the end of a prediction the registers, and then calls Predict() for the next prediction. The
// tests of LookAhead call them.
#include "unit/trace/look_ahead_fixture.h"

#include <signal.h>
#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "isa/control_flow.h"
#include "probes/memory_operand.h"
#include "support/single_step.h"
#include "trace/native/signal_context.h"

namespace hbbp::trace {
namespace {

struct CompareState {
  LookAhead* look_ahead = nullptr;
  bool faults_are_caught = false;
  bool is_ahead = false;  // what comes was predicted
  bool compares_steps = false;
  uint32_t burst = 0;
  uint64_t last_ip = 0;
  std::vector<TakenBranch> predicted;
  uint32_t predicted_count = 0;
  uint32_t next_predicted = 0;
  uint64_t end_ip = 0;
  uint64_t left = 0;  // instructions until the end of the prediction
  MachineState native;
  std::vector<RecordedAccess> accesses;  // empty: they are not compared
  size_t next_access = 0;
  size_t access_count = 0;
  AddressRegisters registers;  // before the instruction at last_ip
  Comparison result;
  char difference[256] = {};
};

void Difference(CompareState* state, const char* what, uint64_t predicted, uint64_t native) {
  if (state->difference[0] != '\0') return;
  std::snprintf(
      state->difference, sizeof(state->difference),
      "%s: predicted %" PRIx64 ", was %" PRIx64 ", after the instruction at %" PRIx64
      " (%02x %02x %02x %02x %02x %02x %02x %02x)",
      what, predicted, native, state->last_ip, reinterpret_cast<uint8_t*>(state->last_ip)[0],
      reinterpret_cast<uint8_t*>(state->last_ip)[1], reinterpret_cast<uint8_t*>(state->last_ip)[2],
      reinterpret_cast<uint8_t*>(state->last_ip)[3], reinterpret_cast<uint8_t*>(state->last_ip)[4],
      reinterpret_cast<uint8_t*>(state->last_ip)[5], reinterpret_cast<uint8_t*>(state->last_ip)[6],
      reinterpret_cast<uint8_t*>(state->last_ip)[7]);
}

void CompareRegisters(CompareState* state, const ucontext_t& context) {
  const MachineState& predicted = state->look_ahead->state();
  MachineState& native = state->native;
  LoadGeneralRegisters(context, &native);
  constexpr const char* kNames[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  if (predicted.rip != native.rip) Difference(state, "rip", predicted.rip, native.rip);
  for (unsigned i = 0; i < 16; ++i) {
    if ((predicted.poison & GprBit(i)) == 0 && predicted.gpr[i] != native.gpr[i]) {
      Difference(state, kNames[i], predicted.gpr[i], native.gpr[i]);
    }
  }
  const std::pair<RegisterSet, uint64_t> flags[] = {{kCfBit, kFlagCf}, {kPfBit, kFlagPf},
                                                    {kAfBit, kFlagAf}, {kZfBit, kFlagZf},
                                                    {kSfBit, kFlagSf}, {kOfBit, kFlagOf}};
  uint64_t known = kFlagDf;
  for (const auto& [bit, flag] : flags) {
    if ((predicted.poison & bit) == 0) known |= flag;
  }
  if ((predicted.flags ^ native.flags) & known) {
    Difference(state, "flags", predicted.flags, native.flags);
  }
  if (predicted.has_vector_state) {
    LoadVectorState(context, &native);
    for (unsigned i = 0; i < 32; ++i) {
      if (predicted.poison & VectorBit(i)) continue;
      for (unsigned word = 0; word < 8; ++word) {
        uint64_t a, b;
        std::memcpy(&a, predicted.zmm[i] + 8 * word, 8);
        std::memcpy(&b, native.zmm[i] + 8 * word, 8);
        if (a == b) continue;
        char name[32];
        std::snprintf(name, sizeof(name), "zmm%u[%u]", i, word);
        Difference(state, name, a, b);
      }
    }
    for (unsigned i = 0; i < 8; ++i) {
      if ((predicted.poison & MaskBit(i)) == 0 && predicted.k[i] != native.k[i]) {
        Difference(state, "k", predicted.k[i], native.k[i]);
      }
    }
    if ((predicted.poison & kMxcsrBit) == 0 && predicted.mxcsr != native.mxcsr) {
      Difference(state, "mxcsr", predicted.mxcsr, native.mxcsr);
    }
  }
  ++state->result.compared;
}

// Compares the access of the instruction at last_ip.
void CompareAccess(CompareState* state) {
  const auto code = std::span(reinterpret_cast<const uint8_t*>(state->last_ip), 15);
  const MemoryOperand operand = FindMemoryOperand(code, state->last_ip);
  const RecordedAccess* recorded = nullptr;
  // An instruction that is executed again may be recorded again.
  while (state->next_access < state->access_count) {
    const RecordedAccess& next = state->accesses[state->next_access];
    if (next.branch != state->next_predicted ||
        next.offset != (static_cast<uint32_t>(state->last_ip) & 0xffffff)) {
      break;
    }
    if (recorded == nullptr) recorded = &next;
    ++state->next_access;
  }
  if (operand.size == 0) return;
  if (recorded == nullptr) {
    ++state->result.unrecorded_accesses;
    return;
  }
  ++state->result.recorded_accesses;
  const uint64_t address = operand.Address(state->registers);
  if (address != recorded->number) Difference(state, "access", recorded->number, address);
}

void KeepRegisters(CompareState* state, const ucontext_t& context) {
  LoadGeneralRegisters(context, &state->native);
  std::copy(state->native.gpr, state->native.gpr + 16, state->registers.general.begin());
  state->registers.fs_base = state->native.fs_base;
  state->registers.gs_base = state->native.gs_base;
}

bool IsTaken(uint64_t from, uint64_t to) {
  ControlFlow flow;
  if (!DecodeControlFlow({reinterpret_cast<const uint8_t*>(from), 15}, from, &flow)) return false;
  switch (flow.kind) {
    case BranchKind::kNone:
    case BranchKind::kSystem:
    case BranchKind::kTrap:
      return false;
    case BranchKind::kConditional:
      return to != from + flow.length || flow.target == to;
    default:
      return true;
  }
}

void Predict(CompareState* state, const ucontext_t& context, bool is_new) {
  if (is_new) state->look_ahead->Begin(context, state->faults_are_caught);
  const uint64_t limit = state->compares_steps ? 1 : 100000;
  const RunResult run = state->look_ahead->Run(state->predicted.data(), state->burst, limit);
  state->predicted_count = run.branches;
  state->next_predicted = 0;
  state->next_access = 0;
  state->access_count = run.accesses;
  state->left = run.instructions;
  state->end_ip = run.ip;
  state->is_ahead = run.instructions > 0;
  ++state->result.stops[static_cast<size_t>(run.reason)];
}

void OnStep(const ucontext_t& context, void* user) {
  auto* state = static_cast<CompareState*>(user);
  const auto ip = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  const bool repeats = ip == state->last_ip && !IsTaken(state->last_ip, ip);
  bool is_new = !state->is_ahead;
  if (state->last_ip != 0 && state->is_ahead && !repeats) {
    if (!state->accesses.empty()) CompareAccess(state);
    if (IsTaken(state->last_ip, ip)) {
      if (state->next_predicted == state->predicted_count) {
        Difference(state, "branch not predicted", 0, ip);
      } else {
        const TakenBranch& branch = state->predicted[state->next_predicted++];
        if (branch.from != state->last_ip) {
          Difference(state, "branch from", branch.from, state->last_ip);
        }
        if (branch.to != ip) Difference(state, "branch to", branch.to, ip);
        ++state->result.taken_branches;
      }
    }
    if (--state->left == 0) {
      CompareRegisters(state, context);
      is_new = !state->compares_steps;
      state->is_ahead = false;
    }
  }
  if (!state->is_ahead && state->difference[0] == '\0') {
    Predict(state, context, is_new);
    if (!state->is_ahead && !is_new) {
      // After a stop, it starts from the real state after this instruction.
      state->is_ahead = false;
    }
  }
  if (!state->accesses.empty() && !repeats) KeepRegisters(state, context);
  state->last_ip = ip;
}

Comparison Compare(LookAheadFixture* fixture, const std::function<void()>& function,
                   CompareState* state) {
  PrepareSignalContext();
  state->look_ahead = fixture->look_ahead();
  state->predicted.resize(state->burst);
  auto* argument = const_cast<std::function<void()>*>(&function);
  const auto call = [](void* pointer) { (*static_cast<std::function<void()>*>(pointer))(); };
  state->result.steps = SingleStep::Run(call, argument, OnStep, state);
  state->result.difference = state->difference;
  return state->result;
}

struct sigaction g_old_actions[3];
constexpr int kFaults[3] = {SIGSEGV, SIGBUS, SIGFPE};

void HandleFault(int number, siginfo_t*, void* context) {
  if (LookAhead::RecoverFromFault(static_cast<ucontext_t*>(context))) return;
  signal(number, SIG_DFL);
}

}  // namespace

LookAheadFixture::LookAheadFixture(size_t cache_bytes, bool with_native_code) {
  PrepareSignalContext();
  if (with_native_code) region_ = NativeRegion::Create(1 << 20);
  code_cache_ = CodeCache::Create(cache_bytes, region_);
  look_ahead_ = MakeLookAhead();
}

LookAheadFixture::~LookAheadFixture() {
  for (void* memory : mappings_) std::free(memory);
  CodeCache::Destroy(code_cache_);
  if (region_ != nullptr) NativeRegion::Destroy(region_);
}

LookAhead* LookAheadFixture::MakeLookAhead() {
  const size_t alignment = LookAhead::Alignment();
  const size_t bytes = (LookAhead::Size() + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, bytes);
  std::memset(memory, 0, bytes);
  mappings_.push_back(memory);
  return LookAhead::Create(memory, code_cache_);
}

Comparison CompareSteps(LookAheadFixture* fixture, const std::function<void()>& function,
                        bool faults_are_caught) {
  CompareState state;
  state.compares_steps = true;
  state.burst = 16;
  state.faults_are_caught = faults_are_caught;
  return Compare(fixture, function, &state);
}

Comparison CompareBursts(LookAheadFixture* fixture, const std::function<void()>& function,
                         uint32_t burst, bool faults_are_caught) {
  CompareState state;
  state.burst = burst;
  state.faults_are_caught = faults_are_caught;
  return Compare(fixture, function, &state);
}

Comparison CompareAccesses(LookAheadFixture* fixture, const std::function<void()>& function,
                           uint32_t burst) {
  constexpr uint32_t kCapacity = 65536;
  CompareState state;
  state.burst = burst;
  state.accesses.resize(kCapacity);
  fixture->code_cache()->SetRecordedKinds(SetOf(RecordedKind::kAddress));
  fixture->look_ahead()->SetAccessLog(state.accesses.data(), kCapacity);
  Comparison comparison = Compare(fixture, function, &state);
  fixture->look_ahead()->SetAccessLog(nullptr, 0);
  return comparison;
}

FaultCatcher::FaultCatcher() {
  struct sigaction action = {};
  action.sa_sigaction = HandleFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int i = 0; i < 3; ++i) sigaction(kFaults[i], &action, &g_old_actions[i]);
}

FaultCatcher::~FaultCatcher() {
  for (int i = 0; i < 3; ++i) sigaction(kFaults[i], &g_old_actions[i], nullptr);
}

}  // namespace hbbp::trace
