// system_calls MILLISECONDS: reads single bytes and works a little in between, for so much CPU
// time. Prints "PID USER_MS SYSTEM_MS", the CPU time in user code and in the kernel. It calls the
// kernel itself, because read() of glibc does more in a process with a second thread, which a
// recorded one has.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "work.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const long end = ThreadMs() + atol(argv[1]);
  const int zero = open("/dev/zero", O_RDONLY);
  if (zero < 0) return 1;
  volatile unsigned sum = 0;
  while (ThreadMs() < end) {
    for (int i = 0; i < 2000; ++i) {
      char bytes[512];
      if (syscall(SYS_read, zero, bytes, sizeof(bytes)) != (long)sizeof(bytes)) return 1;
      for (unsigned j = 0; j < 20; ++j) sum = sum + j;
    }
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%ld %ld %ld\n", (long)getpid(),
         usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000,
         usage.ru_stime.tv_sec * 1000 + usage.ru_stime.tv_usec / 1000);
  return 0;
}
