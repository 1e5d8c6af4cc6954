// threads HOW MILLISECONDS [WAIT]: runs threads that start and end, and prints how much each of
// them worked. With "late" the thread starts after so many milliseconds.
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#include "work.h"

struct Task {
  const char* name;
  long milliseconds;
};

static void* RunTask(void* argument) {
  const struct Task* task = argument;
  if (task->name != NULL) prctl(PR_SET_NAME, task->name);
  Work(task->milliseconds);
  printf("%ld %ld\n", (long)gettid(), ThreadMs());
  return NULL;
}

static void* RenameMidway(void* argument) {
  const struct Task* task = argument;
  prctl(PR_SET_NAME, "before");
  Work(task->milliseconds);
  prctl(PR_SET_NAME, "after");
  Work(task->milliseconds);
  return NULL;
}

static pthread_t Start(void* (*run)(void*), struct Task* task, size_t stack_bytes) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, run, task) != 0) exit(90);
  return thread;
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const char* how = argv[1];
  const long milliseconds = atol(argv[2]);
  enum { kThreads = 64 };
  pthread_t threads[kThreads];
  struct Task task = {NULL, milliseconds};
  if (strcmp(how, "many") == 0 || strcmp(how, "small_stacks") == 0) {
    const size_t stack_bytes = strcmp(how, "many") == 0 ? 0 : 16384;
    for (int i = 0; i < kThreads; ++i) {
      if (i >= 8) pthread_join(threads[i - 8], NULL);
      threads[i] = Start(&RunTask, &task, stack_bytes);
    }
    for (int i = kThreads - 8; i < kThreads; ++i) pthread_join(threads[i], NULL);
  }
  if (strcmp(how, "late") == 0) {
    usleep(argc > 3 ? 1000 * (useconds_t)atol(argv[3]) : 500000);
    pthread_join(Start(&RunTask, &task, 0), NULL);
  }
  if (strcmp(how, "shares") == 0) {
    struct Task tasks[] = {
        {"six", 6 * milliseconds}, {"three", 3 * milliseconds}, {"one", milliseconds}};
    for (int i = 0; i < 3; ++i) threads[i] = Start(&RunTask, &tasks[i], 0);
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  }
  if (strcmp(how, "rename") == 0) pthread_join(Start(&RenameMidway, &task, 0), NULL);
  Report();
  return 0;
}
