/* Tests sessions in restricted hosts: without /proc, without /sys, without permission for a thread,
 * or with a process that is gone. Error and log say what is missing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checks.h"

enum { NOBODY = 65534 };

typedef struct messages {
  int errors;
  char last[1024];
} messages;

static void keep_message(hbbp_log_level level, const char *message, void *user_data) {
  messages *const kept = user_data;
  if (level == HBBP_LOG_ERROR) ++kept->errors;
  snprintf(kept->last, sizeof(kept->last), "%s", message);
}

/* Checks a session of that process; 0: this one. */
static void check_refused(uint64_t pid, hbbp_status status, const char *word) {
  messages kept = {0};
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EBS;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.pid = pid;
  options.log = keep_message;
  options.log_user_data = &kept;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_FAILS(status, word, hbbp_session_start(session, &error));
  CHECK(kept.errors == 1 && strstr(kept.last, word) != NULL);
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "not running", hbbp_session_stop(session, &error));
  hbbp_session_destroy(session);
}

/* Returns NULL, or why it failed. */
static const char *hide(const char *directory) {
  if (unshare(CLONE_NEWNS) != 0) return "no mount namespace of one's own";
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("none", directory, "tmpfs", MS_RDONLY, NULL) != 0)
    return "no mounts";
  return NULL;
}

static const char *without_proc(void) {
  const char *const obstacle = hide("/proc");
  if (obstacle == NULL) check_refused(0, HBBP_ERROR_UNSUPPORTED, "/proc is not mounted");
  return obstacle;
}

static const char *without_sys(void) {
  const char *const obstacle = hide("/sys");
  if (obstacle == NULL) check_refused(0, HBBP_ERROR_UNSUPPORTED, "/sys is not mounted");
  return obstacle;
}

static const char *without_threads(void) {
  const struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) return "no limit of threads";
  /* The limit does not apply to root. */
  if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0) return "no other user";
  check_refused(0, HBBP_ERROR_BUSY, "no thread can be started");
  return NULL;
}

static const char *without_process(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  if (child < 0) return "no fork";
  waitpid(child, NULL, 0);
  check_refused((uint64_t)child, HBBP_ERROR_NOT_FOUND, "there is no process");
  return NULL;
}

/* Runs the test in a process of its own. */
static void run(const char *name, const char *(*test)(void)) {
  fflush(NULL);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    const char *const obstacle = test();
    if (obstacle != NULL) printf("%s: skipped: %s\n", name, obstacle);
    fflush(NULL);
    _exit(end_of_checks()); /* a sanitizer would look for leaks in /proc */
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  run("without /proc", without_proc);
  run("without /sys", without_sys);
  run("without threads", without_threads);
  run("without the process", without_process);
  return end_of_checks();
}
