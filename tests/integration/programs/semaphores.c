// semaphores MILLISECONDS: executes itself while another thread is in a function of this program
// that holds a semaphore of System V, as functions of libfakeroot do. Prints `alone` if no other
// thread came there, and then whether the semaphore is free.
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>

#include "work.h"

static int semaphore = -1;
static atomic_bool may_be_held, is_held;

static int Take(const struct timespec* timeout) {
  struct sembuf take = {.sem_num = 0, .sem_op = -1, .sem_flg = SEM_UNDO};
  return semtimedop(semaphore, &take, 1, timeout);
}

// Other libraries call it instead of the function of the C library.
__attribute__((visibility("default"))) int unlink(const char* path) {
  if (atomic_load(&may_be_held) && syscall(SYS_gettid) != getpid() && Take(NULL) == 0) {
    atomic_store(&is_held, true);
    for (;;) pause();
  }
  return (int)syscall(SYS_unlink, path);
}

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  if (argc == 3) {
    semaphore = atoi(argv[2]);
    const struct timespec timeout = {.tv_sec = 5};
    printf("%s\n", Take(&timeout) == 0 ? "free" : strerror(errno));
    return semctl(semaphore, 0, IPC_RMID) == 0 ? 0 : 1;
  }
  semaphore = semget(IPC_PRIVATE, 1, 0600);
  if (semaphore < 0 || semctl(semaphore, 0, SETVAL, 1) != 0) return 1;
  atomic_store(&may_be_held, true);
  for (int i = 0; i < atoi(argv[1]) && !atomic_load(&is_held); ++i) Work(1);
  if (!atomic_load(&is_held)) puts("alone");
  fflush(stdout);
  char id[16];
  snprintf(id, sizeof(id), "%d", semaphore);
  execl("/proc/self/exe", argv[0], argv[1], id, NULL);
  return 1;
}
