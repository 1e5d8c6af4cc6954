// one_thread HOW [PLUGIN...]: programs with one thread, and what the C library believes of that.
// Ends by SIGABRT if another thread allocates while the C library does not lock.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "work.h"

#define INTERPOSE __attribute__((visibility("default")))

enum { kNobody = 65534 };

static void CheckThread(const char* what) {
  if (!__libc_single_threaded || syscall(SYS_gettid) == getpid()) return;
  const char* const parts[] = {"another thread calls ", what, "\n"};
  for (int i = 0; i < 3; ++i) (void)!write(STDERR_FILENO, parts[i], strlen(parts[i]));
  syscall(SYS_kill, getpid(), SIGABRT);
}

// An allocator that only adds up, in place of that of the C library in the whole process.
static char memory[512 << 20] __attribute__((aligned(4096)));
static size_t used = 0;

static void* Allocate(size_t alignment, size_t size) {
  const size_t begin = (used + sizeof(size_t) + alignment - 1) / alignment * alignment;
  if (size > sizeof(memory) || begin + size > sizeof(memory)) return NULL;
  used = begin + size;
  memcpy(memory + begin - sizeof(size_t), &size, sizeof(size));
  return memory + begin;
}

INTERPOSE void* malloc(size_t size) {
  CheckThread("malloc");
  return Allocate(16, size);
}

INTERPOSE void free(void* block) {
  (void)block;
  CheckThread("free");
}

INTERPOSE void* calloc(size_t count, size_t size) {
  CheckThread("calloc");
  return Allocate(16, count * size);
}

INTERPOSE void* realloc(void* block, size_t size) {
  CheckThread("realloc");
  void* const moved = Allocate(16, size);
  if (block == NULL || moved == NULL) return moved;
  size_t before;
  memcpy(&before, (char*)block - sizeof(before), sizeof(before));
  return memcpy(moved, block, before < size ? before : size);
}

static void* AllocateAligned(size_t alignment, size_t size) {
  CheckThread("memalign");
  return Allocate(alignment < 16 ? 16 : alignment, size);
}

INTERPOSE void* memalign(size_t alignment, size_t size) { return AllocateAligned(alignment, size); }

INTERPOSE void* aligned_alloc(size_t alignment, size_t size) {
  return AllocateAligned(alignment, size);
}

INTERPOSE int posix_memalign(void** block, size_t alignment, size_t size) {
  *block = AllocateAligned(alignment, size);
  return *block == NULL ? ENOMEM : 0;
}

static void PrintBelief(const char* who) {
  void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  const char* const of_library = dlsym(library, "__libc_single_threaded");
  printf("%s: %d %d\n", who, __libc_single_threaded, *of_library);
  fflush(stdout);
}

// Loading a library with variables of threads makes each thread look up its own anew.
static void Load(const char* plugin) {
  void* const handle = dlopen(plugin, RTLD_NOW);
  if (handle == NULL) exit(90);
  void (*run)(void);
  *(void**)&run = dlsym(handle, "RunPlugin");
  if (run == NULL) exit(91);
  run();
  dlclose(handle);
}

static void BeAlone(char** plugins) {
  PrintBelief("at first");
  setlocale(LC_ALL, "");
  for (int i = 0; i < 12; ++i) {
    Work(100);
    free(malloc(100));
    if (*plugins != NULL) Load(*plugins++);
  }
  PrintBelief("at last");
}

static void Fork(void) {
  const pid_t child = fork();
  if (child == 0) {
    PrintBelief("child");
    Work(150);
    PrintBelief("child at last");
    exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  PrintBelief("parent");
  if (status != 0) exit(92);
}

static void* ReturnNull(void* unused) {
  (void)unused;
  return NULL;
}

static void StartThread(void) {
  PrintBelief("before");
  pthread_t thread;
  pthread_create(&thread, NULL, &ReturnNull, NULL);
  pthread_join(thread, NULL);
  PrintBelief("after");
  Work(1200);
  PrintBelief("at last");
}

static void* Sleep(void* unused) {
  for (;;) pause();
  return unused;
}

static void StartSleeper(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, &Sleep, NULL);
}

static void StartThreadsInFork(void) {
  pthread_atfork(NULL, &StartSleeper, &StartSleeper);
  Fork();
}

static void PrintUsers(void) {
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == NULL) return;
  for (const struct dirent* task; (task = readdir(tasks)) != NULL;) {
    if (task->d_name[0] == '.') continue;
    char path[300], line[256];
    snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
    FILE* const file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
      if (strncmp(line, "Uid:", 4) == 0 || strncmp(line, "Gid:", 4) == 0) fputs(line, stdout);
      if (strncmp(line, "Groups:", 7) == 0) fputs(line, stdout);
    }
    if (file != NULL) fclose(file);
  }
  closedir(tasks);
}

static void ChangeUser(void) {
  const gid_t groups[] = {kNobody};
  if (setgroups(1, groups) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
      setresuid(kNobody, kNobody, kNobody) != 0) {
    exit(93);
  }
  PrintUsers();
  PrintBelief("at last");
}

// The C library waits until each thread has changed it.
static void ChangeUserOfThreads(void) {
  StartSleeper();
  Work(300);
  ChangeUser();
  Work(100);
}

// Finds the function in the C library itself, past what is loaded in front of it.
static void ChangeUserOfMainThread(void) {
  void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  int (*change)(uid_t, uid_t, uid_t);
  *(void**)&change = dlsym(library, "setresuid");
  if (change(kNobody, kNobody, kNobody) != 0) exit(93);
  Work(2200);
  PrintUsers();
  printf("root again: %d\n", setuid(0));
  PrintBelief("at last");
}

static void ChangeUserInVfork(void) {
  if (vfork() == 0) _exit(setgid(getgid()));
  PrintBelief("after vfork");
}

// Fails behind a root directory without /proc.
static void FailInChroot(void) {
  static const gid_t groups[NGROUPS_MAX + 1] = {0};
  if (chroot("/tmp") != 0) exit(95);
  printf("setgroups: %d\n", setgroups(NGROUPS_MAX + 1, groups) == 0 ? 0 : errno);
}

static void BecomeDaemon(void) {
  if (daemon(1, 1) != 0) exit(94);
  PrintBelief("daemon");
  Work(150);
  PrintBelief("daemon at last");
}

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "alone") == 0) BeAlone(argv + 2);
  if (strcmp(how, "fork") == 0) Fork();
  if (strcmp(how, "thread") == 0) StartThread();
  if (strcmp(how, "threads_in_fork") == 0) StartThreadsInFork();
  if (strcmp(how, "user") == 0) ChangeUser();
  if (strcmp(how, "user_of_threads") == 0) ChangeUserOfThreads();
  if (strcmp(how, "user_directly") == 0) ChangeUserOfMainThread();
  if (strcmp(how, "user_in_vfork") == 0) ChangeUserInVfork();
  if (strcmp(how, "chroot") == 0) FailInChroot();
  if (strcmp(how, "daemon") == 0) BecomeDaemon();
  return 0;
}
