/* Loads a plugin that uses libhbbp, runs it and unloads it, a hundred times; nothing may grow from
 * round to round. usage: plugin_host PLUGIN SOURCE unloads|stays SOURCE is a HBBP_SOURCE_ value.
 * `stays`: the plugin has libhbbp inside and handlers of signals, so that its code has to stay.
 * Exit status 77: there are no perf events here. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 400, WARM_UP = 200, SIGNALS = 65 };

struct left {
  long threads;
  long descriptors;
  long mappings;
  uintptr_t handlers[SIGNALS];
};

static long entries(const char *path) {
  DIR *directory = opendir(path);
  long count = 0;
  if (directory == NULL) return -1;
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

static long lines(const char *path) {
  FILE *file = fopen(path, "r");
  long count = 0;
  int letter;
  if (file == NULL) return -1;
  while ((letter = fgetc(file)) != EOF) count += letter == '\n';
  fclose(file);
  return count;
}

static struct left measure(void) {
  struct left left;
  memset(&left, 0, sizeof(left));
  left.threads = entries("/proc/self/task");
  left.descriptors = entries("/proc/self/fd");
  left.mappings = lines("/proc/self/maps");
  for (int signal = 1; signal < SIGNALS; ++signal) {
    struct sigaction action;
    if (sigaction(signal, NULL, &action) == 0)
      left.handlers[signal] = (uintptr_t)action.sa_sigaction;
  }
  return left;
}

static int failures = 0;

static void expect(const char *what, long now, long limit) {
  printf("%s: %ld, at most %ld\n", what, now, limit);
  if (now > limit) {
    fprintf(stderr, "%s: %ld, at most %ld\n", what, now, limit);
    ++failures;
  }
}

static long run_once(const char *path, int source) {
  void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  long (*run)(int) = NULL;
  *(void **)&run = dlsym(plugin, "plugin_run");
  const long samples = run(source);
  dlclose(plugin);
  if (samples == -2) {
    printf("SKIPPED: no perf events here\n");
    exit(77);
  }
  if (samples < 0) exit(1);
  return samples;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: plugin_host PLUGIN SOURCE unloads|stays\n");
    return 2;
  }
  const char *path = argv[1];
  const int source = atoi(argv[2]);
  const int stays = strcmp(argv[3], "stays") == 0;
  struct left untouched = measure();
  struct left warm = untouched;
  long samples = 0;
  /* Minimum of each quarter of the rounds, since the bytes after a round vary. */
  long min_bytes[4] = {LONG_MAX, LONG_MAX, LONG_MAX, LONG_MAX};
  for (int round = 0; round < ROUNDS; ++round) {
    if (round == WARM_UP) warm = measure();
    samples += run_once(path, source);
    const long bytes = (long)mallinfo2().uordblks;
    long *const minimum = &min_bytes[round / (ROUNDS / 4)];
    if (bytes < *minimum) *minimum = bytes;
  }
  const struct left end = measure();
  expect("threads", end.threads, untouched.threads);
  expect("descriptors", end.descriptors, untouched.descriptors);
  expect("mappings", end.mappings, warm.mappings + 2); /* the heap may be in several pieces */
  /* Memory that is kept for ever may be allocated late, once; a leak grows in every quarter. */
  const long growth[] = {min_bytes[2] - min_bytes[1], min_bytes[3] - min_bytes[2]};
  expect("bytes that the heap grew by", growth[0] < growth[1] ? growth[0] : growth[1],
         100 * (ROUNDS / 4));
  void *still_there = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  expect("plugins left", still_there != NULL, stays);
  expect("plugins gone", still_there == NULL, !stays);
  for (int signal = 1; signal < SIGNALS; ++signal) {
    if (end.handlers[signal] == untouched.handlers[signal]) continue;
    Dl_info info;
    const int is_mapped = dladdr((void *)end.handlers[signal], &info) != 0;
    printf("signal %d is handled in %s\n", signal, is_mapped ? info.dli_fname : "no mapped code");
    if (!is_mapped) ++failures;
  }
  if (samples == 0) {
    fprintf(stderr, "no samples in %d rounds\n", ROUNDS);
    ++failures;
  }
  printf("%ld samples; %d failures\n", samples, failures);
  return failures != 0;
}
