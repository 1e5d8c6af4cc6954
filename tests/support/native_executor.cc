// Implements NativeExecutor. Run() copies the instruction into its page and appends a jump to
// hbbp_native_done; hbbp_native_run, in assembly, saves the caller's registers, loads the given
// state and jumps to the instruction; hbbp_native_done stores the new state and returns to Run().
// If the instruction raises a signal, the handler StopAtSignal notes which, and continues at
// hbbp_native_stopped.
//
// Some hypervisors cannot return to a program whose stack pointer is not canonical: after an
// interrupt or a signal it gets SIGSEGV instead. MakePossible keeps such values out of states;
// where an instruction loads one, StopAtSignal carries on if the return fails before it is stored.
//
// signal_context_test.cc and NativeRunner, which compares stubs and the interpreter with the
// processor, call it.
#include "support/native_executor.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <iterator>

namespace hbbp::testing {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kStackBytes = 16 * kPage;  // of the signal handler
constexpr size_t kMemoryBytes = kPage + NativeExecutor::kDataBytes + kPage + kStackBytes;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

}  // namespace
}  // namespace hbbp::testing

// The assembly code below uses these variables.
extern "C" {
__attribute__((visibility("hidden"))) hbbp::trace::MachineState hbbp_native_state;
__attribute__((visibility("hidden"))) uint64_t hbbp_native_rflags;
__attribute__((visibility("hidden"))) uint64_t hbbp_native_caller_rsp;
__attribute__((visibility("hidden"))) uint64_t hbbp_native_slot;
__attribute__((visibility("hidden"))) uint32_t hbbp_native_caller_mxcsr;
__attribute__((visibility("hidden"))) uint32_t hbbp_native_caller_x87_control;
__attribute__((visibility("hidden"))) uint32_t hbbp_native_vector_level;  // 0 SSE, 1 AVX, 2 AVX-512
__attribute__((visibility("hidden"))) void hbbp_native_run();
__attribute__((visibility("hidden"))) void hbbp_native_done();
__attribute__((visibility("hidden"))) void hbbp_native_stopped();
}

static_assert(offsetof(hbbp::trace::MachineState, gpr) == 0);
#define HBBP_OFFSET(name, member) \
  asm(".set " name ", %c0" ::"i"(offsetof(hbbp::trace::MachineState, member)))

// NOLINTNEXTLINE(clang-diagnostic-unused-function): emits the offsets for the code below
__attribute__((used)) static void DefineOffsets() {
  HBBP_OFFSET("hbbp_offset_mxcsr", mxcsr);
  HBBP_OFFSET("hbbp_offset_k", k);
  HBBP_OFFSET("hbbp_offset_zmm", zmm);
  HBBP_OFFSET("hbbp_offset_fxsave", fxsave);
}

asm(R"(
  .text
  .macro hbbp_each_vector_sse what
  .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    \what \i
  .endr
  .endm
  .macro hbbp_load_xmm i
    movaps hbbp_native_state+hbbp_offset_zmm+64*\i(%rip), %xmm\i
  .endm
  .macro hbbp_store_xmm i
    movaps %xmm\i, hbbp_native_state+hbbp_offset_zmm+64*\i(%rip)
  .endm
  .macro hbbp_load_ymm i
    vmovaps hbbp_native_state+hbbp_offset_zmm+64*\i(%rip), %ymm\i
  .endm
  .macro hbbp_store_ymm i
    vmovaps %ymm\i, hbbp_native_state+hbbp_offset_zmm+64*\i(%rip)
  .endm
  .macro hbbp_load_zmm i
    vmovaps hbbp_native_state+hbbp_offset_zmm+64*\i(%rip), %zmm\i
  .endm
  .macro hbbp_store_zmm i
    vmovaps %zmm\i, hbbp_native_state+hbbp_offset_zmm+64*\i(%rip)
  .endm
  .macro hbbp_each_vector_high what
  .irp i, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    \what \i
  .endr
  .endm

  .type hbbp_native_run, @function
  .globl hbbp_native_run
hbbp_native_run:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  stmxcsr hbbp_native_caller_mxcsr(%rip)
  fnstcw hbbp_native_caller_x87_control(%rip)
  fxrstor64 hbbp_native_state+hbbp_offset_fxsave(%rip)
  cmpl $1, hbbp_native_vector_level(%rip)
  je 1f
  ja 2f
  hbbp_each_vector_sse hbbp_load_xmm
  jmp 3f
1:
  hbbp_each_vector_sse hbbp_load_ymm
  jmp 3f
2:
  hbbp_each_vector_sse hbbp_load_zmm
  hbbp_each_vector_high hbbp_load_zmm
  .irp i, 0,1,2,3,4,5,6,7
    kmovq hbbp_native_state+hbbp_offset_k+8*\i(%rip), %k\i
  .endr
3:
  ldmxcsr hbbp_native_state+hbbp_offset_mxcsr(%rip)
  pushq hbbp_native_rflags(%rip)
  mov %rsp, hbbp_native_caller_rsp(%rip)
  popfq
  mov hbbp_native_state+8*0(%rip), %rax
  mov hbbp_native_state+8*1(%rip), %rcx
  mov hbbp_native_state+8*2(%rip), %rdx
  mov hbbp_native_state+8*3(%rip), %rbx
  mov hbbp_native_state+8*4(%rip), %rsp
  mov hbbp_native_state+8*5(%rip), %rbp
  mov hbbp_native_state+8*6(%rip), %rsi
  mov hbbp_native_state+8*7(%rip), %rdi
  mov hbbp_native_state+8*8(%rip), %r8
  mov hbbp_native_state+8*9(%rip), %r9
  mov hbbp_native_state+8*10(%rip), %r10
  mov hbbp_native_state+8*11(%rip), %r11
  mov hbbp_native_state+8*12(%rip), %r12
  mov hbbp_native_state+8*13(%rip), %r13
  mov hbbp_native_state+8*14(%rip), %r14
  mov hbbp_native_state+8*15(%rip), %r15
  jmp *hbbp_native_slot(%rip)

  .type hbbp_native_done, @function
  .globl hbbp_native_done
hbbp_native_done:
  mov %rsp, hbbp_native_state+8*4(%rip)
  mov hbbp_native_caller_rsp(%rip), %rsp
  .globl hbbp_native_stopped
hbbp_native_stopped:
  mov %rax, hbbp_native_state+8*0(%rip)
  mov %rcx, hbbp_native_state+8*1(%rip)
  mov %rdx, hbbp_native_state+8*2(%rip)
  mov %rbx, hbbp_native_state+8*3(%rip)
  mov %rbp, hbbp_native_state+8*5(%rip)
  mov %rsi, hbbp_native_state+8*6(%rip)
  mov %rdi, hbbp_native_state+8*7(%rip)
  mov %r8, hbbp_native_state+8*8(%rip)
  mov %r9, hbbp_native_state+8*9(%rip)
  mov %r10, hbbp_native_state+8*10(%rip)
  mov %r11, hbbp_native_state+8*11(%rip)
  mov %r12, hbbp_native_state+8*12(%rip)
  mov %r13, hbbp_native_state+8*13(%rip)
  mov %r14, hbbp_native_state+8*14(%rip)
  mov %r15, hbbp_native_state+8*15(%rip)
  pushfq
  popq hbbp_native_rflags(%rip)
  cld
  stmxcsr hbbp_native_state+hbbp_offset_mxcsr(%rip)
  cmpl $1, hbbp_native_vector_level(%rip)
  je 1f
  ja 2f
  hbbp_each_vector_sse hbbp_store_xmm
  jmp 3f
1:
  hbbp_each_vector_sse hbbp_store_ymm
  vzeroupper
  jmp 3f
2:
  hbbp_each_vector_sse hbbp_store_zmm
  hbbp_each_vector_high hbbp_store_zmm
  .irp i, 0,1,2,3,4,5,6,7
    kmovq %k\i, hbbp_native_state+hbbp_offset_k+8*\i(%rip)
  .endr
  vzeroupper
3:
  fxsave64 hbbp_native_state+hbbp_offset_fxsave(%rip)
  fninit
  fldcw hbbp_native_caller_x87_control(%rip)
  ldmxcsr hbbp_native_caller_mxcsr(%rip)
  add $8, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
)");

namespace hbbp::testing {
namespace {

int raised_signal;
stack_t old_stack;
struct sigaction old_actions[std::size(kSignals)];

void StopAtSignal(int number, siginfo_t*, void* context) {
  auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto rip = static_cast<uint64_t>(registers[REG_RIP]);
  const auto done = reinterpret_cast<uint64_t>(&hbbp_native_done);
  if (rip - hbbp_native_slot >= kPage && rip != done) {  // not ours: it happens again, and ends us
    signal(number, SIG_DFL);
    return;
  }
  const bool is_behind = number == SIGSEGV && rip != hbbp_native_slot;
  if (!is_behind) raised_signal = number;
  hbbp_native_state.gpr[trace::kRsp] = static_cast<uint64_t>(registers[REG_RSP]);
  registers[REG_RSP] = static_cast<greg_t>(hbbp_native_caller_rsp);
  registers[REG_RIP] = reinterpret_cast<greg_t>(&hbbp_native_stopped);
}

constexpr uint64_t kNotCanonical = 0x7ff0000000000001;

void GoBehindInstruction(int, siginfo_t*, void* context) {
  constexpr greg_t kUndefinedBytes = 2;
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += kUndefinedBytes;
}

// Returns whether a signal's handler can return to code whose stack pointer is not canonical.
bool CanReturnToAnyStack() {
  static const bool can_return = [] {
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      static char stack_bytes[kStackBytes];
      stack_t stack = {};
      stack.ss_sp = stack_bytes;
      stack.ss_size = sizeof(stack_bytes);
      sigaltstack(&stack, nullptr);
      struct sigaction action = {};
      action.sa_sigaction = GoBehindInstruction;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigaction(SIGILL, &action, nullptr);
      asm volatile(
          "mov %%rsp, %%rbx\n\t"
          "mov %0, %%rsp\n\t"
          "ud2\n\t"
          "mov %%rbx, %%rsp" ::"r"(kNotCanonical)
          : "rbx", "memory");
      _exit(0);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
  }();
  return can_return;
}

uint32_t VectorLevel() {
  if (__builtin_cpu_supports("avx512bw")) return 2;
  return __builtin_cpu_supports("avx") ? 1 : 0;
}

}  // namespace

NativeExecutor::NativeExecutor() {
  void* memory = mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<uint8_t*>(memory);
  mprotect(data() + kDataBytes, kPage, PROT_NONE);
  hbbp_native_slot = code_address();
  hbbp_native_vector_level = VectorLevel();

  stack_t stack = {};
  stack.ss_sp = memory_ + kMemoryBytes - kStackBytes;
  stack.ss_size = kStackBytes;
  sigaltstack(&stack, &old_stack);
  struct sigaction action = {};
  action.sa_sigaction = StopAtSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &action, &old_actions[i]);
  }
}

NativeExecutor::~NativeExecutor() {
  if (memory_ == nullptr) return;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &old_actions[i], nullptr);
  }
  sigaltstack(&old_stack, nullptr);
  munmap(memory_, kMemoryBytes);
}

uint64_t NativeExecutor::code_address() const { return reinterpret_cast<uint64_t>(memory_); }

uint8_t* NativeExecutor::data() const { return memory_ + kPage; }

void NativeExecutor::MakePossible(trace::MachineState* state) {
  if (!CanReturnToAnyStack()) {
    constexpr int kUnusedBits = 16;
    uint64_t& rsp = state->gpr[trace::kRsp];
    rsp = static_cast<uint64_t>(static_cast<int64_t>(rsp << kUnusedBits) >> kUnusedBits);
  }
  constexpr size_t kXmmBytes = 16, kYmmBytes = 32, kLowRegisters = 16;
  const uint32_t level = VectorLevel();
  if (level == 2) return;
  const size_t present = level == 1 ? kYmmBytes : kXmmBytes;
  for (size_t i = 0; i < std::size(state->zmm); ++i) {
    const size_t kept = i < kLowRegisters ? present : 0;
    std::memset(state->zmm[i] + kept, 0, sizeof(state->zmm[i]) - kept);
  }
  std::memset(state->k, 0, sizeof(state->k));
}

int NativeExecutor::Run(std::span<const uint8_t> code, trace::MachineState* state) {
  std::memcpy(memory_, code.data(), code.size());
  // The code is jmp *[rip + 0].
  constexpr uint8_t kJump[] = {0xff, 0x25, 0, 0, 0, 0};
  std::memcpy(memory_ + code.size(), kJump, sizeof(kJump));
  const auto done = reinterpret_cast<uint64_t>(&hbbp_native_done);
  std::memcpy(memory_ + code.size() + sizeof(kJump), &done, sizeof(done));

  constexpr uint64_t kAlwaysSet = 0x202;
  raised_signal = 0;
  hbbp_native_state = *state;
  hbbp_native_rflags = state->flags | kAlwaysSet;
  hbbp_native_run();
  std::memcpy(state->gpr, hbbp_native_state.gpr, sizeof(state->gpr));
  state->flags = hbbp_native_rflags & (trace::kArithmeticFlags | trace::kFlagDf);
  state->mxcsr = hbbp_native_state.mxcsr;
  std::memcpy(state->k, hbbp_native_state.k, sizeof(state->k));
  std::memcpy(state->zmm, hbbp_native_state.zmm, sizeof(state->zmm));
  std::memcpy(state->fxsave, hbbp_native_state.fxsave, sizeof(state->fxsave));
  return raised_signal;
}

}  // namespace hbbp::testing
