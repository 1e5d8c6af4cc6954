// thread_life: starts threads that end in every way, and have alternate stacks of their own or
// none, and work with alignment checks and without a thread pointer. Prints what happened, which is
// the same however the program is run.
#include <asm/prctl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

std::atomic<int> destroyed{0};
std::atomic<int> destroyed_of_thread{0};
std::atomic<bool> has_begun{false};

struct Counted {
  explicit Counted(std::atomic<int>* count) : count_(count) {}
  ~Counted() { ++*count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  std::atomic<int>* count_;
};

thread_local Counted of_thread(&destroyed_of_thread);

// Works long enough for some samples.
void Work() {
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < 4'000'000; ++i) sum = sum + i;
}

void Print(const char* what, const stack_t& stack) {
  const bool is_none = (stack.ss_flags & SS_DISABLE) != 0;
  if (is_none) {
    std::printf("%s: none\n", what);
  } else {
    std::printf("%s: %zu bytes\n", what, stack.ss_size);
  }
}

void* UseStacks(void*) {
  Work();
  stack_t stack, previous;
  sigaltstack(nullptr, &stack);
  Print("at the start", stack);
  const size_t sizes[] = {4096, 256 * 1024};
  for (const size_t size : sizes) {
    void* const memory = std::malloc(size);
    stack_t wanted = {};
    wanted.ss_sp = memory;
    wanted.ss_size = size;
    if (sigaltstack(&wanted, &previous) != 0) return nullptr;
    Print("before", previous);
    Work();
    const stack_t none = {nullptr, SS_DISABLE, 0};
    if (sigaltstack(&none, &previous) != 0) return nullptr;
    Print("set", previous);
    std::free(memory);
    Work();
  }
  sigaltstack(nullptr, &stack);
  Print("at the end", stack);
  return &has_begun;
}

void* ExitEarly(void* result) {
  of_thread.count_ = &destroyed_of_thread;
  const Counted counted(&destroyed);
  Work();
  pthread_exit(result);
}

void* WaitForEver(void*) {
  const Counted counted(&destroyed);
  has_begun = true;
  for (;;) ::usleep(1000);
}

int Throw(void* number) {
  Work();
  try {
    throw std::runtime_error("thrown");
  } catch (const std::exception& error) {
    return std::strcmp(error.what(), "thrown") == 0 ? *static_cast<int*>(number) : -1;
  }
}

int CountMappings() {
  std::ifstream maps("/proc/self/maps");
  int lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

void* WorkUntilCancelled(void*) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  for (;;) Work();
}

// Returns how many threads were cancelled, each at any moment.
int CancelAtOnce() {
  int cancelled = 0;
  for (unsigned i = 0; i < 60; ++i) {
    pthread_t thread;
    void* result = nullptr;
    if (pthread_create(&thread, nullptr, &WorkUntilCancelled, nullptr) != 0) return -1;
    ::usleep(i * 137 % 5000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  return cancelled;
}

// Works with the processor's alignment checks on, in registers alone.
void WorkAligned() {
  long rounds = 20'000'000;
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\t"
      "pushfq\n\t"
      "orl $0x40000, (%%rsp)\n\t"
      "popfq\n\t"
      "1: dec %0\n\t"
      "jne 1b\n\t"
      "pushfq\n\t"
      "andl $~0x40000, (%%rsp)\n\t"
      "popfq\n\t"
      "lea 128(%%rsp), %%rsp"
      : "+r"(rounds)
      :
      : "cc", "memory");
}

// Works in registers alone, as code does that has a use of its own for the segment FS.
void WorkWithoutThreadPointer() {
  long rounds = 20'000'000;
  const auto pointer = reinterpret_cast<long>(__builtin_thread_pointer());
  asm volatile(
      "mov %[call], %%eax\n\t"
      "mov %[set_fs], %%edi\n\t"
      "xor %%esi, %%esi\n\t"
      "syscall\n\t"
      "1: dec %[rounds]\n\t"
      "jne 1b\n\t"
      "mov %[call], %%eax\n\t"
      "mov %[set_fs], %%edi\n\t"
      "mov %[pointer], %%rsi\n\t"
      "syscall"
      : [rounds] "+r"(rounds)
      : [call] "i"(SYS_arch_prctl), [set_fs] "i"(ARCH_SET_FS), [pointer] "r"(pointer)
      : "rax", "rdi", "rsi", "rcx", "r11", "cc", "memory");
}

}  // namespace

int main() {
  stack_t stack;
  sigaltstack(nullptr, &stack);
  Print("main thread", stack);
  WorkAligned();
  WorkWithoutThreadPointer();
  pthread_t thread;
  void* result = nullptr;
  if (pthread_create(&thread, nullptr, &UseStacks, nullptr) != 0) return 90;
  pthread_join(thread, &result);
  std::printf("stacks: %s\n", result == &has_begun ? "set" : "refused");

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, static_cast<size_t>(sysconf(_SC_THREAD_STACK_MIN)));
  if (pthread_create(&thread, &attributes, &ExitEarly, &thread) != 0) return 91;
  pthread_join(thread, &result);
  std::printf("exit: %d, destroyed %d\n", result == &thread, destroyed.load());

  if (pthread_create(&thread, nullptr, &WaitForEver, nullptr) != 0) return 92;
  while (!has_begun) ::usleep(100);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  std::printf("cancelled: %d, destroyed %d\n", result == PTHREAD_CANCELED, destroyed.load());

  std::printf("cancelled at once: %d\n", CancelAtOnce());

  thrd_t standard;
  int number = -7;
  if (thrd_create(&standard, &Throw, &number) != thrd_success) return 93;
  int status = 0;
  thrd_join(standard, &status);
  std::printf("standard: %d\n", status);

  const auto start_and_end = [] { std::thread([] { destroyed_of_thread += 0; }).join(); };
  start_and_end();
  const int before = CountMappings();
  constexpr int kThreads = 500, kMaxKept = 50;
  for (int i = 0; i < kThreads; ++i) start_and_end();
  std::printf("mappings are kept: %d\n", CountMappings() - before > kMaxKept);

  cpu_set_t nowhere;
  CPU_ZERO(&nowhere);
  pthread_attr_setaffinity_np(&attributes, sizeof(nowhere), &nowhere);
  const int refused = pthread_create(&thread, &attributes, &WaitForEver, nullptr);
  std::printf("refused: %s\n", std::strerror(refused));
  std::printf("destroyed of threads: %d\n", destroyed_of_thread.load());
  return 0;
}
