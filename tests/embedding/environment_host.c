/* A program that links libhbbp, for HBBP_OUTPUT (environment_test.py).
 *
 * usage: environment_host work|fork|exec|chdir|session|killed
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <hbbp/hbbp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double sum;

static void work(void *unused) {
  (void)unused;
  struct timespec now;
  do {
    for (int i = 1; i < 1000000; ++i) sum = sum + 1.0 / i;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  } while (now.tv_sec == 0 && now.tv_nsec < 200000000);
}

static int wait_for(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static int trace_branches(void) {
  HBBP_INIT(hbbp_error, error);
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_SWBT;
  hbbp_profile *profile = NULL;
  if (hbbp_profile_call(work, NULL, &options, &profile, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  hbbp_profile_destroy(profile);
  return 0;
}

int main(int argc, char **argv) {
  const char *const what = argc == 2 ? argv[1] : "";
  work(NULL);
  if (strcmp(what, "fork") == 0) {
    const pid_t child = fork();
    if (child != 0) return wait_for(child);
    work(NULL);
    return 0; /* as the parent does: handlers of exit run */
  }
  if (strcmp(what, "exec") == 0) {
    const pid_t child = fork();
    if (child != 0) return wait_for(child);
    execl("/proc/self/exe", argv[0], "work", (char *)NULL);
    _exit(127);
  }
  if (strcmp(what, "chdir") == 0) return chdir("/") != 0;
  if (strcmp(what, "session") == 0) return trace_branches();
  if (strcmp(what, "killed") == 0) raise(SIGKILL);
  return strcmp(hbbp_version_string(), HBBP_VERSION_STRING) != 0;
}
