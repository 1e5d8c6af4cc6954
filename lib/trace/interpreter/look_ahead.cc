// Begin loads registers and resets the overlay memory; Run switches to the object's own stack
// (RunHere), where EnterFirst (dispatch.cc) executes blocks until the run stops. RecoverFromFault,
// which the tracer calls for a fault, makes the interrupted handler return with an error.
// FindDivergence serves mode verify.
//
// Contract: see the header. The object begins with a magic number and with the stack, so that
// RecoverFromFault finds it from a stack pointer. The lowest bytes of the stack are a canary: an
// overflow changes them before anything else of the object.
#include "trace/interpreter/look_ahead.h"

#include <sys/syscall.h>

#include "base/raw_syscall.h"
#include "trace/interpreter/execution_width.h"
#include "trace/interpreter/guarded_memory.h"
#include "trace/interpreter/interpreter.h"
#include "trace/interpreter/packed_flags.h"
#include "trace/native/signal_context.h"

namespace hbbp::trace {
namespace {

constexpr uint64_t kMagic = 0x8d3f1c6a75e2b049;
constexpr size_t kWindow = 65536;  // the alignment, which the stack does not cross
constexpr size_t kStackBytes = 40960;
constexpr size_t kCanaryWords = 64;
constexpr uint64_t kCanary = 0x5ca1'ab1e'0ddb'a115;
constexpr uint32_t kRepBudget = 1u << 18;

struct Machine {
  uint64_t magic;  // kMagic ^ its address
  uint64_t run_ip;
  LookAheadStats stats;
  // The handler that runs this look-ahead is on the alternate stack of its thread.
  bool leaves_alternate_stack;
  bool has_overflowed;
  RecordedAccess* access_log;
  uint32_t access_capacity;
  alignas(64) uint64_t canary[kCanaryWords];
  uint8_t stack[kStackBytes];
  Interpreter interpreter;
};
static_assert(offsetof(Machine, stack) + kStackBytes <= kWindow);
static_assert(offsetof(Machine, stack) + kStackBytes >= kUpperStack + 4096);
static_assert(kUpperStack >= offsetof(Machine, stack) + size_t{kMaxBlockInstructions} * 1000);
static_assert(offsetof(Machine, interpreter) % 64 == 0);

Machine* Of(LookAhead* look_ahead) { return reinterpret_cast<Machine*>(look_ahead); }
const Machine* Of(const LookAhead* look_ahead) {
  return reinterpret_cast<const Machine*>(look_ahead);
}

// The kernel decides by the stack pointer whether the alternate stack is in use. The handler of a
// fault here would begin at the top of the alternate stack, where the frame lies to which the
// tracer's handler must return. The return from the handler enables the stack again. A seccomp
// filter can refuse the call.
bool DisableAlternateStack() {
  const stack_t none = {nullptr, SS_DISABLE, 0};
  return RawSyscall(SYS_sigaltstack, &none, nullptr) == 0;
}

void RunHere(Interpreter* m) {
  const uint64_t ip = m->state.rip;
  const uint64_t flags = PackFlags(m->state.flags);
  m->state.flags &= kFlagDf;
  EnterFirst(m, ip, flags);
  if (m->memory.first_operand != 0) {
    m->begins_in_new_page = m->memory.BeginsInNewPage();
    m->memory.first_operand = 0;
  }
}

void RunHereOffAlternateStack(Interpreter* m) {
  if (DisableAlternateStack()) return RunHere(m);
  m->stop_reason = StopReason::kSystemCallRefused;
  m->stop_ip = m->state.rip;
  m->stop_flags = PackFlags(m->state.flags);
}

// While the interpreter runs, the top of its stack holds the stack pointer to return to, rbp, and
// the return address of RunHere, to which OnStubFault may return instead.
constexpr size_t kStackHead = 16;

void RunOnStack(Machine* machine) {
  uint8_t* top = machine->stack + kStackBytes - kStackHead;
  Interpreter* argument = &machine->interpreter;
  const auto run = machine->leaves_alternate_stack ? &RunHereOffAlternateStack : &RunHere;
  asm volatile(
      "mov %%rsp, (%[top])\n\t"
      "mov %%rbp, 8(%[top])\n\t"
      "mov %[top], %%rsp\n\t"
      "call *%[run]\n\t"
      "mov 8(%%rsp), %%rbp\n\t"
      "mov (%%rsp), %%rsp"
      : "+D"(argument), [top] "+S"(top)
      : [run] "a"(run)
      : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15", "memory", "cc");
}

bool IsIntact(const uint64_t (&canary)[kCanaryWords]) {
  uint64_t changed = 0;
  for (const uint64_t word : canary) changed |= word ^ kCanary;
  return changed == 0;
}

RegisterReader SignalFrame(const ucontext_t& context) {
  return {&context,
          [](const void* frame, MachineState* state) {
            LoadGeneralRegisters(*static_cast<const ucontext_t*>(frame), state);
          },
          [](const void* frame, MachineState* state) {
            LoadVectorState(*static_cast<const ucontext_t*>(frame), state);
          }};
}

void BeginBurst(Machine* machine, const MemoryReader& memory, bool faults_are_caught) {
  machine->stats = LookAheadStats();
  Interpreter& m = machine->interpreter;
  m.burst = m.code_cache->NewBurst();
  m.begins_in_new_page = false;
  m.memory.Reset(memory, faults_are_caught);
  m.saved.is_valid = false;
}

// The next run starts where this one stopped.
void KeepState(Interpreter* m) {
  m->state.rip = m->stop_ip;
  m->state.flags = (m->state.flags & kFlagDf) | UnpackFlags(m->stop_flags);
}

RunResult RunMachine(Machine* machine, TakenBranch* branches, uint32_t capacity,
                     uint64_t instruction_limit, bool stops_before_dynamic) {
  Interpreter& m = machine->interpreter;
  RunResult result;
  result.ip = m.state.rip;
  if (capacity == 0) return result;
  if (machine->has_overflowed) {
    result.reason = StopReason::kStackOverflow;
    return result;
  }
  if (!m.code_cache->StartRun()) {
    result.reason = StopReason::kCodeCacheFull;
    return result;
  }
  constexpr uint64_t kMaxInstructions = uint64_t{1} << 62;
  if (instruction_limit > kMaxInstructions) instruction_limit = kMaxInstructions;
  m.blocks = m.code_cache->blocks();
  m.enter_burst = kNoBurst;
  m.instructions_left = static_cast<int64_t>(instruction_limit);
  m.out = branches;
  m.out_end = branches + 1;
  m.is_at_start = true;
  m.stops_before_dynamic = stops_before_dynamic;
  m.may_pass_dynamic = true;
  m.is_stepping = false;
  m.memory.stops_at_code = true;
  m.rep_budget = kRepBudget;
  m.access_out = machine->access_log;
  m.access_end = machine->access_log + machine->access_capacity;
  m.missed_accesses = 0;
  RunOnStack(machine);
  ExitFloat(&m);
  const auto executed = [&](int64_t left) {
    return instruction_limit - static_cast<uint64_t>(left);
  };
  if (m.out != branches) result.first_branch = executed(m.instructions_left_at_branch[true]);
  if (m.stop_reason == StopReason::kFull && capacity > 1) {
    KeepState(&m);
    m.out_end = branches + capacity;
    RunOnStack(machine);
    ExitFloat(&m);
  }
  m.code_cache->EndRun();
  if (m.stop_reason == StopReason::kStackOverflow || !IsIntact(machine->canary)) [[unlikely]] {
    machine->has_overflowed = true;
    result = RunResult();
    result.ip = m.state.rip;
    result.reason = StopReason::kStackOverflow;
    return result;
  }
  KeepState(&m);
  result.reason = m.stop_reason;
  result.ip = m.stop_ip;
  result.branches = static_cast<uint32_t>(m.out - branches);
  result.instructions = executed(m.instructions_left);
  if (result.branches != 0) result.last_branch = executed(m.instructions_left_at_branch[true]);
  const auto first = static_cast<uint32_t>(reinterpret_cast<uint64_t>(branches));
  for (RecordedAccess* access = machine->access_log; access != m.access_out; ++access) {
    access->branch = (access->branch - first) / uint32_t{sizeof(TakenBranch)};
  }
  result.accesses = static_cast<uint32_t>(m.access_out - machine->access_log);
  result.missed_accesses = m.missed_accesses;
  machine->stats.instructions += result.instructions;
  machine->stats.decoded_instructions += m.decoded_instructions;
  machine->stats.probed_pages += m.memory.probed_pages;
  m.decoded_instructions = 0;
  machine->stats.missing_pages += m.memory.missing_pages;
  machine->stats.memory_use = m.memory.use;
  machine->stats.begins_in_new_page = m.begins_in_new_page;
  m.memory.probed_pages = 0;
  m.memory.missing_pages = 0;
  return result;
}

}  // namespace

size_t LookAhead::Size() { return sizeof(Machine); }
size_t LookAhead::Alignment() { return kWindow; }

LookAhead* LookAhead::Create(void* memory, CodeCache* code_cache) {
  auto* machine = static_cast<Machine*>(memory);
  Interpreter& m = machine->interpreter;
  m.code_cache = code_cache;
  m.memory.code_cache = code_cache;
  for (uint64_t& word : machine->canary) word = kCanary;
  machine->magic = kMagic ^ reinterpret_cast<uint64_t>(machine);
  return reinterpret_cast<LookAhead*>(machine);
}

void LookAhead::Begin(const ucontext_t& context, bool faults_are_caught) {
  Machine* machine = Of(this);
  LoadGeneralRegisters(context, &machine->interpreter.state);
  Continue(context);
  BeginBurst(machine, {}, faults_are_caught);
}

void LookAhead::BeginVerified(const ucontext_t& context, bool faults_are_caught, bool keeps_reads) {
  Begin(context, faults_are_caught);
  if (keeps_reads) Of(this)->interpreter.memory.LogReads();
}

// Vector registers that are not loaded yet have not been used since Begin either.
void LookAhead::Continue(const ucontext_t& context) {
  Machine* machine = Of(this);
  machine->interpreter.registers = SignalFrame(context);
  machine->interpreter.written = 0;
  machine->leaves_alternate_stack = (context.uc_stack.ss_flags & SS_DISABLE) == 0;
}

Divergence LookAhead::FindDivergence(const MachineState& found) {
  Machine* machine = Of(this);
  const ReadChange change = machine->interpreter.memory.FindChange();
  if (change == ReadChange::kCode) return Divergence::kCodeChanged;
  if (change == ReadChange::kMemory) return Divergence::kMemoryChanged;
  const MachineState& predicted = state();
  for (unsigned i = 0; i < 16; ++i) {
    const bool is_written = (machine->interpreter.written & GprBit(i)) != 0;
    if (!is_written && found.gpr[i] != predicted.gpr[i]) return Divergence::kOtherPath;
  }
  if (change == ReadChange::kStored) return Divergence::kStoreChanged;
  return machine->interpreter.memory.KeptAllReads() ? Divergence::kUnexplained
                                                    : Divergence::kReadsNotKept;
}

void LookAhead::Begin(const MachineState& state, bool faults_are_caught) {
  Machine* machine = Of(this);
  __builtin_memcpy(&machine->interpreter.state, &state, sizeof(state));
  machine->interpreter.registers = {};
  machine->leaves_alternate_stack = false;
  BeginBurst(machine, {}, faults_are_caught);
}

void LookAhead::Begin(const RegisterReader& registers, const MemoryReader& memory) {
  Machine* machine = Of(this);
  registers.load_general(registers.thread, &machine->interpreter.state);
  machine->interpreter.registers = registers;
  machine->interpreter.written = 0;
  machine->leaves_alternate_stack = false;
  BeginBurst(machine, memory, false);
}

void LookAhead::SetAccessLog(RecordedAccess* log, uint32_t capacity) {
  Of(this)->access_log = log;
  Of(this)->access_capacity = log == nullptr ? 0 : capacity;
}

RecordedAccess* LookAhead::access_log() const { return Of(this)->access_log; }

RunResult LookAhead::Run(TakenBranch* branches, uint32_t capacity, uint64_t instruction_limit) {
  return RunMachine(Of(this), branches, capacity, instruction_limit, false);
}

RunResult LookAhead::RunToDynamicBranch(TakenBranch* branches, uint32_t capacity,
                                        uint64_t instruction_limit) {
  return RunMachine(Of(this), branches, capacity, instruction_limit, true);
}

const MachineState& LookAhead::state() const { return Of(this)->interpreter.state; }
bool LookAhead::ReadQword(uint64_t address, uint64_t* value) {
  uint64_t unknown_bytes = 0;
  OverlayMemory& memory = Of(this)->interpreter.memory;
  return memory.Read(address, sizeof(*value), value, &unknown_bytes) == Access::kOk &&
         unknown_bytes == 0;
}

const LookAheadStats& LookAhead::stats() const { return Of(this)->stats; }

uint16_t LookAhead::MeasureWidth() const {
  return Of(this)->interpreter.memory.times_accesses ? TicksOfWidth() : 0;
}

size_t LookAhead::StackBytes() { return kStackBytes; }

size_t LookAhead::MaxStackBytesUsed() const {
  const uint8_t* stack = Of(this)->stack;
  size_t unused = 0;
  while (unused < kStackBytes && stack[unused] == 0) ++unused;
  return kStackBytes - unused;
}

bool LookAhead::RecoverFromFault(ucontext_t* context) {
  auto& rip = context->uc_mcontext.gregs[REG_RIP];
  auto& rsp = context->uc_mcontext.gregs[REG_RSP];
  const uint64_t go_on = FixUp(static_cast<uint64_t>(rip));
  if (go_on != 0) {
    rip = static_cast<greg_t>(go_on);
    return true;
  }
  // The fault may be in a native stub that runs on the stack of a LookAhead.
  const uint64_t base = static_cast<uint64_t>(rsp) & ~uint64_t{kWindow - 1};
  if (base == 0 || !IsReadable(base)) return false;
  auto* machine = reinterpret_cast<Machine*>(base);
  if (machine->magic != (kMagic ^ base)) return false;
  if (machine->interpreter.stub_op == nullptr) return false;
  rip = static_cast<greg_t>(reinterpret_cast<uint64_t>(&OnStubFault));
  rsp = static_cast<greg_t>(
      reinterpret_cast<uint64_t>(machine->stack + kStackBytes - kStackHead - 8));
  context->uc_mcontext.gregs[REG_RDI] =
      static_cast<greg_t>(reinterpret_cast<uint64_t>(&machine->interpreter));
  constexpr greg_t kDirectionFlag = 0x400;
  context->uc_mcontext.gregs[REG_EFL] &= ~kDirectionFlag;
  return true;
}

}  // namespace hbbp::trace
