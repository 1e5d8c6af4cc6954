// Tests the chain of signal handlers, ours and the program's: foreign signals, faults, flags of the
// program's actions, siglongjmp, alternate stacks, and handlers that are installed later. InChild()
// runs each test in a child process and returns how it ended. Filter() stands for our handler,
// TheirHandler() for the program's.
#include "trace/signal_chain.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <cstring>
#include <functional>
#include <thread>

#include "support/catch.h"
#include "support/sanitizer.h"

// Every test runs in a child, because handlers stay installed for the rest of a process.
namespace hbbp::trace {
namespace {

// Returns the exit status, or 1000 + the signal that ended the child.
int InChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    // The test framework has handlers of its own.
    for (int signal : {SIGTRAP, SIGSEGV, SIGBUS}) ::signal(signal, SIG_DFL);
    ::_exit(body());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

std::atomic<int> ours, theirs;
std::atomic<int> seen_code;
std::atomic<uintptr_t> seen_address, seen_stack;
bool take_traps = false;

bool Filter(int signal, siginfo_t*, ucontext_t*) {
  ++ours;
  return take_traps && signal == SIGTRAP;
}

void TheirHandler(int, siginfo_t* info, void*) {
  ++theirs;
  seen_code = info->si_code;
  seen_address = reinterpret_cast<uintptr_t>(info->si_addr);
  seen_stack = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
}

void InstallTheirs(int signal, int flags = 0) {
  struct sigaction action = {};
  action.sa_sigaction = &TheirHandler;
  action.sa_flags = SA_SIGINFO | flags;
  ::sigaction(signal, &action, nullptr);
}

// The sanitizer would handle a null pointer.
volatile int* UnmappedWord() {
  static volatile uintptr_t address = 16;
  return reinterpret_cast<volatile int*>(address);
}

TEST_CASE("a handler of the program for a timer or a child is known, one that ends it is not") {
  struct sigaction previous, action = {};
  action.sa_handler = [](int) {};
  CHECK_FALSE(HasAsynchronousHandlers());
  REQUIRE(::sigaction(SIGINT, &action, &previous) == 0);
  CHECK_FALSE(HasAsynchronousHandlers());
  ::sigaction(SIGINT, &previous, nullptr);
  for (const int signal : {SIGALRM, SIGCHLD, SIGUSR2}) {
    CAPTURE(signal);
    REQUIRE(::sigaction(signal, &action, &previous) == 0);
    CHECK(HasAsynchronousHandlers());
    struct sigaction ignored = action;
    ignored.sa_handler = SIG_IGN;
    REQUIRE(::sigaction(signal, &ignored, nullptr) == 0);
    CHECK_FALSE(HasAsynchronousHandlers());
    ::sigaction(signal, &previous, nullptr);
  }
}

TEST_CASE("a signal that is ours does not reach the program") {
  CHECK(InChild([] {
          InstallTheirs(SIGTRAP);
          take_traps = true;
          if (InstallSignalChain(&Filter, false) != 0) return 1;
          asm volatile("int3");
          return ours == 1 && theirs == 0 ? 0 : 2;
        }) == 0);
}

TEST_CASE("a foreign SIGTRAP reaches the handler that was there before") {
  CHECK(InChild([] {
          InstallTheirs(SIGTRAP);
          if (InstallSignalChain(&Filter, false) != 0) return 1;
          asm volatile("int3");
          ::raise(SIGTRAP);
          return ours == 2 && theirs == 2 && seen_code == SI_TKILL ? 0 : 2;
        }) == 0);
}

TEST_CASE("without a handler of the program, signals do what they always do") {
  CHECK(InChild([] {
          InstallSignalChain(&Filter, false);
          asm volatile("int3");
          return 0;
        }) == 1000 + SIGTRAP);
  CHECK(InChild([] {
          InstallSignalChain(&Filter, false);
          ::raise(SIGTRAP);
          return 0;
        }) == 1000 + SIGTRAP);
  CHECK(InChild([] {
          InstallSignalChain(&Filter, false);
          *UnmappedWord() = 1;
          return 0;
        }) == 1000 + SIGSEGV);
  CHECK(InChild([] {
          InstallSignalChain(&Filter, false);
          ::kill(::getpid(), SIGSEGV);
          return 0;
        }) == 1000 + SIGSEGV);
}

TEST_CASE(
    "a signal that the program ignores stays ignored when it is sent, and ends it when forced") {
  CHECK(InChild([] {
          ::signal(SIGTRAP, SIG_IGN);
          InstallSignalChain(&Filter, false);
          ::raise(SIGTRAP);
          return ours == 1 ? 0 : 2;
        }) == 0);
  CHECK(InChild([] {
          ::signal(SIGTRAP, SIG_IGN);
          InstallSignalChain(&Filter, false);
          asm volatile("int3");
          return 0;
        }) == 1000 + SIGTRAP);
}

TEST_CASE("a fault of the program has its address in the program's handler, which may repair it") {
  CHECK(InChild([] {
          static void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          struct sigaction action = {};
          action.sa_sigaction = [](int, siginfo_t* info, void*) {
            ++theirs;
            if (info->si_addr == page) ::mprotect(page, 4096, PROT_READ | PROT_WRITE);
          };
          action.sa_flags = SA_SIGINFO;
          ::sigaction(SIGSEGV, &action, nullptr);
          InstallSignalChain(&Filter, false);
          *static_cast<volatile int*>(page) = 7;
          return theirs == 1 && *static_cast<volatile int*>(page) == 7 ? 0 : 2;
        }) == 0);
}

sigjmp_buf jump;

TEST_CASE("a handler of the program may leave by siglongjmp, again and again") {
  CHECK(InChild([] {
          ::signal(SIGSEGV, [](int) { siglongjmp(jump, 1); });
          InstallSignalChain(&Filter, false);
          static volatile int rounds = 0;
          sigsetjmp(jump, 1);
          if (rounds < 50) {
            rounds = rounds + 1;
            *UnmappedWord() = 1;
          }
          return ours == 50 ? 0 : 2;
        }) == 0);
}

TEST_CASE("SA_RESETHAND and SA_NODEFER of the program are kept") {
  CHECK(InChild([] {
          InstallTheirs(SIGTRAP, static_cast<int>(SA_RESETHAND));
          InstallSignalChain(&Filter, false);
          ::raise(SIGTRAP);
          if (theirs != 1) return 2;
          ::raise(SIGTRAP);
          return 3;
        }) == 1000 + SIGTRAP);
  CHECK(InChild([] {
          struct sigaction action = {};
          action.sa_sigaction = [](int signal, siginfo_t*, void*) {
            if (++theirs < 3) ::raise(signal);
          };
          action.sa_flags = SA_SIGINFO | SA_NODEFER;
          ::sigaction(SIGTRAP, &action, nullptr);
          InstallSignalChain(&Filter, false);
          ::raise(SIGTRAP);
          return theirs == 3 ? 0 : 2;
        }) == 0);
}

TEST_CASE("a handler without SA_ONSTACK runs on the program's stack, others on the alternate one") {
  static char stack[64 * 1024];
  const auto is_on_alternate_stack = [] {
    const auto begin = reinterpret_cast<uintptr_t>(stack);
    return seen_stack - begin < sizeof(stack);
  };
  for (const bool on_stack : {false, true}) {
    CHECK(InChild([&] {
            const stack_t alternate = {stack, 0, sizeof(stack)};
            ::sigaltstack(&alternate, nullptr);
            InstallTheirs(SIGTRAP, on_stack ? SA_ONSTACK : 0);
            InstallSignalChain(&Filter, false);
            ::raise(SIGTRAP);
            return theirs == 1 && is_on_alternate_stack() == on_stack ? 0 : 2;
          }) == 0);
  }
}

TEST_CASE("signals that nest on the program's stack leave each other's frames alone") {
  static char stack[64 * 1024];
  CHECK(InChild([] {
          const stack_t alternate = {stack, 0, sizeof(stack)};
          ::sigaltstack(&alternate, nullptr);
          struct sigaction action = {};
          action.sa_sigaction = [](int signal, siginfo_t*, void*) {
            if (++theirs < 5) ::raise(signal);
            double number = theirs;
            asm volatile("" : "+x"(number));
          };
          action.sa_flags = SA_SIGINFO | SA_NODEFER;
          ::sigaction(SIGTRAP, &action, nullptr);
          InstallSignalChain(&Filter, false);
          double kept = 1.5;
          asm volatile("int3" : "+x"(kept));
          return theirs == 5 && kept == 1.5 ? 0 : 2;
        }) == 0);
}

TEST_CASE("a handler that the program installs later is found and put behind ours") {
  CHECK(InChild([] {
          InstallSignalChain(&Filter, false);
          InstallTheirs(SIGTRAP);
          if (ReclaimSignals() != 1 || ReclaimSignals() != 0) return 1;
          ::raise(SIGTRAP);
          return ours == 1 && theirs == 1 ? 0 : 2;
        }) == 0);
}

TEST_CASE("what the program ignores is ignored for exec, however often ours is installed again") {
  if (kHasThreadSanitizer) HBBP_SKIP("the thread sanitizer has actions of its own in between");
  CHECK(InChild([] {
          ::signal(SIGBUS, SIG_IGN);
          InstallSignalChain(&Filter, false);
          const auto is_ignored = [] {
            struct sigaction found;
            ::sigaction(SIGBUS, nullptr, &found);
            return found.sa_handler == SIG_IGN;
          };
          std::atomic<bool> ends{false};
          std::thread worker([&ends] {
            while (!ends) ReclaimSignals();
          });
          bool was_ignored = true, was_taken_back = true;
          for (int i = 0; i < 1000; ++i) {
            IgnoreForExec(true);
            for (int j = 0; j < 20; ++j) was_ignored = was_ignored && is_ignored();
            TakeBackAfterExec(true);
            was_taken_back = was_taken_back && !is_ignored();
          }
          ends = true;
          worker.join();
          // A child of vfork must not stop its parent's worker.
          IgnoreForExec(false);
          return was_ignored && was_taken_back && ReclaimSignals() == 1 ? 0 : 1;
        }) == 0);
}

TEST_CASE("the program's actions can be asked for and changed through the chain") {
  if (kHasThreadSanitizer) HBBP_SKIP("the thread sanitizer has actions of its own in between");
  CHECK(InChild([] {
          InstallTheirs(SIGTRAP);
          if (IsChained(SIGTRAP)) return 1;
          InstallSignalChain(&Filter, false);
          if (!IsChained(SIGTRAP) || !IsChained(SIGBUS) || IsChained(SIGUSR1)) return 2;
          if (ProgramAction(SIGTRAP).sa_sigaction != &TheirHandler) return 3;
          struct sigaction ignore = {};
          ignore.sa_handler = SIG_IGN;
          SetProgramAction(SIGTRAP, ignore);
          ::raise(SIGTRAP);
          return ProgramAction(SIGTRAP).sa_handler == SIG_IGN && theirs == 0 ? 0 : 4;
        }) == 0);
}

TEST_CASE("faults are caught where they come to us, and not where they are blocked") {
  CHECK(InChild([] {
          sigset_t none, all;
          sigemptyset(&none);
          sigfillset(&all);
          if (FaultsAreCaught(none)) return 1;
          InstallSignalChain(&Filter, false);
          return FaultsAreCaught(none) && !FaultsAreCaught(all) ? 0 : 2;
        }) == 0);
  for (const int signal : {SIGSEGV, SIGBUS}) {
    CAPTURE(signal);
    CHECK(InChild([signal] {
            sigset_t none;
            sigemptyset(&none);
            InstallSignalChain(&Filter, false);
            InstallTheirs(signal);
            if (FaultsAreCaught(none)) return 1;
            ReclaimSignals();
            return FaultsAreCaught(none) ? 0 : 2;
          }) == 0);
  }
}

}  // namespace
}  // namespace hbbp::trace
