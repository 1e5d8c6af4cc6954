// user_faults ROUNDS: reads pages that a thread of the program fills in on demand (userfaultfd),
// which takes a lock that the other thread holds until shortly before it reads them. Reading a page
// early is a deadlock. Prints the sum of what was read; 77 where userfaultfd is not permitted.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

enum { kPage = 4096, kPages = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int faults;
static char filler[kPage] __attribute__((aligned(kPage)));

static void* Serve(void* unused) {
  struct uffd_msg message;
  while (read(faults, &message, sizeof(message)) == (ssize_t)sizeof(message)) {
    if (message.event != UFFD_EVENT_PAGEFAULT) continue;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    struct uffdio_copy copy = {.dst = message.arg.pagefault.address & ~(uint64_t)(kPage - 1),
                               .src = (uintptr_t)filler,
                               .len = kPage};
    ioctl(faults, UFFDIO_COPY, &copy);
  }
  return unused;
}

int main(int argc, char** argv) {
  const long rounds = Argument(argc, argv, 1, 100);
  memset(filler, 7, sizeof(filler));
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
  struct uffdio_api api = {.api = UFFD_API};
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0) return kSkipped;
  char* pages =
      mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_register range = {.range = {(uintptr_t)pages, kPages * kPage},
                                  .mode = UFFDIO_REGISTER_MODE_MISSING};
  if (ioctl(faults, UFFDIO_REGISTER, &range) != 0) return kSkipped;
  pthread_t server;
  pthread_create(&server, NULL, Serve, NULL);
  uint64_t sum = 0;
  for (long round = 0; round < rounds; ++round) {
    madvise(pages, kPages * kPage, MADV_DONTNEED);
    for (int page = 0; page < kPages; ++page) {
      pthread_mutex_lock(&lock);
      sum += Spin((uint64_t)page, 3000);
      pthread_mutex_unlock(&lock);
      sum += (uint64_t)pages[page * kPage];
    }
  }
  Print("sum", sum);
  return 0;
}
