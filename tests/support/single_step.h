// Runs a function one instruction at a time, by the trap flag, with a callback at every step.
//
// Only one may run at a time in a process. SIGTRAP is handled on a stack of its own, so that
// nothing below the function's stack pointer changes.
#ifndef HBBP_TESTS_SUPPORT_SINGLE_STEP_H_
#define HBBP_TESTS_SUPPORT_SINGLE_STEP_H_

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hbbp {

class SingleStep {
 public:
  // Is called in the signal handler, before each instruction of the function; it must be
  // async-signal-safe.
  using OnStep = void (*)(const ucontext_t& context, void* user);

  // Calls function(argument). Returns the number of steps, in which a repetition of a string
  // instruction is one.
  static size_t Run(void (*function)(void*), void* argument, OnStep on_step, void* user) {
    SingleStep& self = Self();
    self.on_step_ = on_step;
    self.user_ = user;
    self.steps_ = 0;
    std::vector<char> memory(1 << 20);
    stack_t stack = {};
    stack_t old_stack;
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    sigaltstack(&stack, &old_stack);
    struct sigaction action = {};
    struct sigaction old_action;
    action.sa_sigaction = HandleTrap;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGTRAP, &action, &old_action);
    Call(function, argument);
    sigaction(SIGTRAP, &old_action, nullptr);
    sigaltstack(&old_stack, nullptr);
    return self.steps_;
  }

 private:
  static SingleStep& Self() {
    static SingleStep self;
    return self;
  }

  // The first trap is after the call, the last before the instruction that follows it.
  [[gnu::noinline]] static void Call(void (*function)(void*), void* argument) {
    uint64_t* end = &Self().end_;
    asm volatile(
        "mov %%rsp, %%rbx\n\t"
        "sub $256, %%rsp\n\t"
        "and $-16, %%rsp\n\t"
        "lea 1f(%%rip), %%rax\n\t"
        "mov %%rax, (%[end])\n\t"
        "pushfq\n\t"
        "orq $0x100, (%%rsp)\n\t"
        "popfq\n\t"
        "call *%[function]\n\t"
        "1: pushfq\n\t"
        "andq $~0x100, (%%rsp)\n\t"
        "popfq\n\t"
        "mov %%rbx, %%rsp"
        : "+D"(argument), [function] "+S"(function), [end] "+d"(end)
        :
        : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
          "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
          "xmm15", "memory", "cc");
  }

  static void HandleTrap(int, siginfo_t*, void* context_argument) {
    auto* context = static_cast<ucontext_t*>(context_argument);
    SingleStep& self = Self();
    auto& registers = context->uc_mcontext.gregs;
    constexpr greg_t kTrapFlag = 0x100;
    if (static_cast<uint64_t>(registers[REG_RIP]) == self.end_) {
      registers[REG_EFL] &= ~kTrapFlag;
      return;
    }
    ++self.steps_;
    self.on_step_(*context, self.user_);
  }

  OnStep on_step_ = nullptr;
  void* user_ = nullptr;
  size_t steps_ = 0;
  uint64_t end_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_SINGLE_STEP_H_
