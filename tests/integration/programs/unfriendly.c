// unfriendly HOW MILLISECONDS [ARGUMENT]: programs that remove what a profiler depends on, or that
// would notice it.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "work.h"

static volatile sig_atomic_t signals_seen;

static void CountSignal(int signal_number) {
  (void)signal_number;
  ++signals_seen;
}

static void ListDescriptors(void) {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == NULL) exit(90);
  for (const struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory)) {
      printf("descriptor %s\n", entry->d_name);
    }
  }
  closedir(directory);
}

// A shell does this for `exec 3>a 4>b ...` with subshells that write there.
static void OverwriteDescriptors(void) {
  const int zero = open("/dev/zero", O_RDWR);
  struct stat own, found;
  if (fstat(zero, &own) != 0) exit(90);
  for (int fd = 3; fd < 64; ++fd) {
    if (fd != zero && dup2(zero, fd) != fd) exit(90);
  }
  const pid_t child = fork();
  int bad = 0;
  for (int fd = 3; fd < 64; ++fd) {
    if (fstat(fd, &found) != 0 || found.st_rdev != own.st_rdev) ++bad;
  }
  if (child == 0) exit(bad);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0 || bad != 0) exit(91);
}

static void HandleProfilerSignals(long milliseconds) {
  const int signals[] = {SIGPROF, SIGTRAP, SIGUSR1, SIGUSR2, SIGIO, SIGVTALRM};
  for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); ++i) {
    signal(signals[i], &CountSignal);
    raise(signals[i]);
  }
  const struct itimerval timer = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &timer, NULL);
  Work(milliseconds);
  if (signals_seen < 6 + milliseconds / 20) exit(90);
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const char* how = argv[1];
  const long milliseconds = atol(argv[2]);
  if (strcmp(how, "closefrom") == 0) {
    Work(milliseconds);
    closefrom(3);
    OverwriteDescriptors();
  }
  if (strcmp(how, "overwrite") == 0) {
    Work(milliseconds);
    OverwriteDescriptors();
  }
  if (strcmp(how, "list") == 0) {
    Work(milliseconds);
    ListDescriptors();
  }
  if (strcmp(how, "numbers") == 0) {
    usleep(100000);
    close(0);
    printf("opened %d\n", open("/dev/null", O_RDONLY));
    printf("opened %d\n", open("/dev/null", O_RDONLY));
  }
  if (strcmp(how, "pipe") == 0) {
    // End of file must come although other threads may still have the writing end.
    int ends[2];
    if (pipe(ends) != 0) return 90;
    usleep(100000);
    close(ends[1]);
    char byte;
    if (read(ends[0], &byte, 1) != 0) return 90;
  }
  if (strcmp(how, "nofile") == 0) {
    const struct rlimit limit = {3, 3};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 90;
  }
  if (strcmp(how, "setuid") == 0) {
    if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) return 90;
  }
  if (strcmp(how, "chroot") == 0) {
    Work(milliseconds);
    if (chroot(argv[3]) != 0 || chdir("/") != 0) return 90;
  }
  if (strcmp(how, "chdir") == 0 && (chdir("/") != 0 || umask(0777) == 0777)) return 90;
  if (strcmp(how, "clearenv") == 0) clearenv();
  if (strcmp(how, "signals") == 0) HandleProfilerSignals(milliseconds);
  if (strcmp(how, "errno") == 0) {
    errno = EXDEV;
    Work(milliseconds);
    if (errno != EXDEV) return 90;
  }
  Work(milliseconds);
  Report();
  return 0;
}
