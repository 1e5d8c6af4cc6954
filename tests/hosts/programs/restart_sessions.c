// A library for LD_PRELOAD: profiles the process that it is loaded into by sessions of libhbbp,
// each started, stopped and destroyed again.
//
//   HBBP_RESTART        ebs, lookahead, breakpoint or verify
//   HBBP_RESTART_MS     how long a session runs
//   HBBP_RESTART_LOG    a file to which each session adds a line: process, samples, and how many
//                       descriptors, threads and mappings the process had before it and has now
//   HBBP_RESTART_FORKS  set: children of fork do the same
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <hbbp/hbbp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct Usage {
  int descriptors, threads, mappings;
} Usage;

typedef struct Report {
  Usage* usage;      // to be measured, or
  const char* line;  // to be written
} Report;

// As the environment had them at the start: servers clear and overwrite it.
static char* mode;
static char* log_name;
static long session_ms = 1000;

static int CountEntries(const char* directory_name) {
  int count = 0;
  DIR* directory = opendir(directory_name);
  while (directory != NULL && readdir(directory) != NULL) ++count;
  if (directory != NULL) closedir(directory);
  return count - 2;  // "." and ".."
}

static int CountMappings(void) {
  int count = 0;
  FILE* file = fopen("/proc/self/maps", "r");
  for (int character = 0; file != NULL && (character = fgetc(file)) != EOF;) {
    count += character == '\n';
  }
  if (file != NULL) fclose(file);
  return count;
}

static void WriteLine(const char* line) {
  const int file =
      log_name == NULL ? -1 : open(log_name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return;
  fchmod(file, 0666);
  if (write(file, line, strlen(line)) < 0) perror("HBBP_RESTART_LOG");
  close(file);
}

// Runs in a thread with its own table of descriptors: the program must not find any of ours.
static void* DoReport(void* argument) {
  const Report* report = argument;
  if (unshare(CLONE_FILES) != 0) return NULL;
  if (report->line != NULL) {
    WriteLine(report->line);
    return NULL;
  }
  report->usage->descriptors = CountEntries("/proc/self/fd");
  report->usage->threads = CountEntries("/proc/self/task") - 1;
  report->usage->mappings = CountMappings();
  return NULL;
}

static void RunReport(Report report) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, DoReport, &report) == 0) pthread_join(thread, NULL);
}

static void Sleep(long milliseconds) {
  struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
}

static void SetMode(hbbp_session_options* options) {
  options->event = HBBP_EVENT_TASK_CLOCK;
  options->period = 1000000;
  options->source = HBBP_SOURCE_SWBT;
  if (strcmp(mode, "ebs") == 0) options->source = HBBP_SOURCE_EBS;
  if (strcmp(mode, "breakpoint") == 0) options->trace_mode = HBBP_TRACE_BREAKPOINT;
  if (strcmp(mode, "verify") == 0) options->trace_mode = HBBP_TRACE_VERIFY;
}

static void RunSession(const hbbp_session_options* options, long milliseconds) {
  Usage before = {0, 0, 0}, after = {0, 0, 0};
  RunReport((Report){&before, NULL});
  HBBP_INIT(hbbp_error, error);
  HBBP_INIT(hbbp_session_info, info);
  hbbp_session* session = NULL;
  hbbp_status status = hbbp_session_create(options, &session, &error);
  if (status == HBBP_OK) status = hbbp_session_start(session, &error);
  Sleep(milliseconds);
  if (status == HBBP_OK) status = hbbp_session_stop(session, &error);
  if (status == HBBP_OK) status = hbbp_session_get_info(session, &info, &error);
  if (session != NULL) hbbp_session_destroy(session);
  RunReport((Report){&after, NULL});
  char line[1200];
  snprintf(line, sizeof(line), "%d %llu %d %d %d %d %d %d %s\n", getpid(),
           (unsigned long long)info.samples, before.descriptors, before.threads, before.mappings,
           after.descriptors, after.threads, after.mappings,
           status == HBBP_OK ? "ok" : error.message);
  RunReport((Report){NULL, line});
}

static void* Control(void* unused) {
  HBBP_INIT(hbbp_session_options, options);
  SetMode(&options);
  // A program that installs its handlers first.
  Sleep(session_ms / 10);
  for (;;) {
    RunSession(&options, session_ms);
    Sleep(session_ms / 10);
  }
  return unused;
}

static void StartControl(void) {
  if (mode == NULL) return;
  sigset_t all, previous;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  if (pthread_create(&thread, NULL, Control, NULL) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &previous, NULL);
}

static char* CopyVariable(const char* name) {
  const char* value = getenv(name);
  return value == NULL ? NULL : strdup(value);
}

__attribute__((constructor)) static void OnLoad(void) {
  const char* duration = getenv("HBBP_RESTART_MS");
  if (duration != NULL) session_ms = atol(duration);
  mode = CopyVariable("HBBP_RESTART");
  log_name = CopyVariable("HBBP_RESTART_LOG");
  if (getenv("HBBP_RESTART_FORKS") != NULL) pthread_atfork(NULL, NULL, StartControl);
  StartControl();
}
