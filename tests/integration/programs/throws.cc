// throws COUNT: throws exceptions out of handlers of SIGSEGV that run on an alternate stack.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

void Throw(int, siginfo_t*, void*) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGSEGV);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  throw 5;
}

__attribute__((noinline)) int Load(const volatile int* address) { return *address; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 99;
  constexpr size_t kStackBytes = 1 << 20;
  stack_t stack = {};
  stack.ss_sp = std::malloc(kStackBytes);
  stack.ss_size = kStackBytes;
  struct sigaction action = {};
  action.sa_sigaction = &Throw;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  if (sigaltstack(&stack, nullptr) != 0 || sigaction(SIGSEGV, &action, nullptr) != 0) return 90;
  const int count = std::atoi(argv[1]);
  long sum = 0;
  uint64_t x = 1;
  for (int i = 0; i < count; ++i) {
    try {
      for (int j = 0; j < 500; ++j) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
      }
      static volatile uintptr_t nowhere = 16;
      Load(reinterpret_cast<const int*>(nowhere));
    } catch (int caught) {
      sum += caught;
    }
  }
  std::printf("%ld %lx\n", sum, static_cast<unsigned long>(x));
}
