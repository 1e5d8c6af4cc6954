// resources HOW [NUMBER]: programs that need resources of the kernel, and print what they got. The
// output must be the same with the profiler.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "work.h"

enum { kPage = 4096, kSkipped = 77 };

static unsigned long Mix(unsigned long x, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

// The thread that provides the pages needs a lock that the main thread holds until shortly before
// it touches one.
// it touches one.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int faults = -1;

static void* ProvidePages(void* unused) {
  (void)unused;
  static char content[kPage];
  memset(content, 7, sizeof(content));
  for (;;) {
    struct uffd_msg message;
    if (read(faults, &message, sizeof(message)) != sizeof(message)) continue;
    if (message.event != UFFD_EVENT_PAGEFAULT) continue;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    const unsigned long page = message.arg.pagefault.address & ~(unsigned long)(kPage - 1);
    struct uffdio_copy copy = {page, (unsigned long)content, kPage, 0, 0};
    ioctl(faults, UFFDIO_COPY, &copy);
  }
  return NULL;
}

static void ProvideOwnPages(int rounds) {
  enum { kPages = 512 };
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
  struct uffdio_api api = {UFFD_API, 0, 0};
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0) exit(kSkipped);
  char* pages =
      mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_register all = {
      {(unsigned long)pages, kPages * kPage}, UFFDIO_REGISTER_MODE_MISSING, 0};
  if (pages == MAP_FAILED || ioctl(faults, UFFDIO_REGISTER, &all) != 0) exit(kSkipped);
  pthread_t provider;
  if (pthread_create(&provider, NULL, ProvidePages, NULL) != 0) exit(90);
  unsigned long sum = 0, x = 1;
  for (int round = 0; round < rounds; ++round) {
    madvise(pages, kPages * kPage, MADV_DONTNEED);
    for (int i = 0; i < kPages; ++i) {
      pthread_mutex_lock(&lock);
      x = Mix(x, 3000);
      pthread_mutex_unlock(&lock);
      sum += x + (unsigned long)pages[i * kPage];
    }
  }
  printf("sum %lx\n", sum);
  fflush(stdout);
  _exit(0);
}

// Each descriptor gets the lowest number that is free, down to the last one.
static void UseAllDescriptors(int rounds) {
  enum { kFirst = 3, kLimit = 8 };
  close_range(kFirst, ~0u, 0);
  const struct rlimit limit = {kLimit, kLimit};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) exit(90);
  unsigned long wrong = 0, failed = 0, x = 1;
  for (int round = 0; round < rounds; ++round) {
    int files[kLimit];
    for (int i = kFirst; i < kLimit; ++i) {
      files[i] = open("/dev/null", O_RDONLY);
      if (files[i] < 0) {
        ++failed;
      } else if (files[i] != i) {
        ++wrong;
      }
    }
    for (int i = kFirst; i < kLimit; ++i) {
      if (files[i] >= 0) close(files[i]);
    }
    x = Mix(x, 100);
    if (x % 3 == 0) x += (unsigned long)strtol("12", NULL, 0);
  }
  printf("wrong %lu failed %lu\n", wrong, failed);
}

static long StatusKb(const char* name) {
  char line[200];
  long value = -1;
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) value = atol(line + strlen(name));
  }
  if (file != NULL) fclose(file);
  return value;
}

// Daemons do this if they must not wait for their memory.
static void LockMemory(void) {
  enum { kLargeKb = 32 << 10 };
  volatile unsigned long x = 1;
  for (int i = 0; i < 10000000; ++i) x = x * 3 + 1;
  const int result = mlockall(MCL_CURRENT | MCL_FUTURE);
  printf("locked %s large %d\n", result == 0 ? "all" : strerror(errno),
         StatusKb("VmRSS:") > kLargeKb);
  for (int i = 0; i < 10000000; ++i) x = x * 3 + 1;
  void* memory = mmap(NULL, 16 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char resident = 0;
  const int is_locked = memory != MAP_FAILED && mincore(memory, kPage, &resident) == 0 && resident;
  printf("later %d\n", is_locked);
}

// A thread may end with an alternate stack of its own, which is then free again.
static char small_stack[8192];

static void* SetSmallStack(void* unused) {
  (void)unused;
  const stack_t stack = {.ss_sp = small_stack, .ss_size = sizeof(small_stack)};
  if (sigaltstack(&stack, NULL) != 0) exit(90);
  volatile unsigned long x = 1;
  for (int i = 0; i < 100000; ++i) x = x * 3 + 1;
  return NULL;
}

static void EndWithSmallStacks(int threads) {
  enum { kWarmUp = 50, kMaxGrowthKb = 2048 };
  long before = 0;
  for (int i = 0; i < kWarmUp + threads; ++i) {
    if (i == kWarmUp) before = StatusKb("VmSize:");
    pthread_t thread;
    if (pthread_create(&thread, NULL, SetSmallStack, NULL) != 0) exit(90);
    pthread_join(thread, NULL);
  }
  printf("grown %d\n", StatusKb("VmSize:") - before > kMaxGrowthKb);
}

static void ExitInHandler(int signal_number) {
  (void)signal_number;
  _exit(7);
}

static int __attribute__((noinline)) Recurse(int depth) {
  volatile char frame[200];
  frame[depth % 200] = (char)depth;
  return depth < 0 ? frame[3] : Recurse(depth + 1) + frame[depth % 100];
}

// The handler cannot run: it has no stack.
static int OverflowStack(int flags) {
  struct sigaction action = {.sa_flags = flags};
  action.sa_handler = &ExitInHandler;
  sigaction(SIGSEGV, &action, NULL);
  return Recurse(1);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  // This is long enough for samples, and for saving a part of the profile.
  Work(300);
  if (strcmp(how, "pages") == 0) {
    ProvideOwnPages(number);
  } else if (strcmp(how, "descriptors") == 0) {
    UseAllDescriptors(number);
  } else if (strcmp(how, "lock") == 0) {
    LockMemory();
  } else if (strcmp(how, "stacks") == 0) {
    EndWithSmallStacks(number);
  } else if (strcmp(how, "overflow") == 0) {
    return OverflowStack(0);
  } else if (strcmp(how, "overflow-nodefer") == 0) {
    return OverflowStack(SA_NODEFER);
  } else {
    return 64;
  }
  return 0;
}
