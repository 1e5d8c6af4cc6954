// restartable SECTION|ANYWHERE COMMITS: runs a restartable sequence, long enough to be interrupted
// often. Its descriptor lies in the section __rseq_cs, or in memory that no one else can find.
// Prints how often it committed; 90 if it was restarted so often that it hardly progresses, 77 if
// there are no restartable sequences here.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/rseq.h>

#include "work.h"

static uint64_t restarts;

// The function adds one to `counter`, at its end, in a sequence with `descriptor`.
#define SEQUENCE(NAME)                                                                            \
  extern const char NAME##Start[], NAME##Committed[], NAME##Aborted[];                            \
  __attribute__((noinline)) static void NAME(struct rseq* area, const struct rseq_cs* descriptor, \
                                             uint64_t* counter) {                                 \
    __asm__ volatile(                                                                             \
        "1:\n\t"                                                                                  \
        "mov %[descriptor], %[slot]\n" #NAME                                                      \
        "Start:\n\t"                                                                              \
        "mov $300, %%ecx\n"                                                                       \
        "2:\n\t"                                                                                  \
        "test $1, %%cl\n\t"                                                                       \
        "jz 3f\n\t"                                                                               \
        "nop\n"                                                                                   \
        "3:\n\t"                                                                                  \
        "dec %%ecx\n\t"                                                                           \
        "jnz 2b\n\t"                                                                              \
        "incq %[counter]\n" #NAME                                                                 \
        "Committed:\n\t"                                                                          \
        "jmp 4f\n\t" /* The signature that glibc registers, as an instruction that traps. */      \
        ".byte 0x0f, 0xb9, 0x3d\n\t"                                                              \
        ".long 0x53053053\n" #NAME                                                                \
        "Aborted:\n\t"                                                                            \
        "incq %[restarts]\n\t"                                                                    \
        "jmp 1b\n"                                                                                \
        "4:\n\t"                                                                                  \
        "movq $0, %[slot]\n\t"                                                                    \
        : [counter] "+m"(*counter), [restarts] "+m"(restarts), [slot] "=m"(area->rseq_cs)         \
        : [descriptor] "r"(descriptor)                                                            \
        : "rcx", "cc", "memory");                                                                 \
  }

SEQUENCE(Listed)
SEQUENCE(Unlisted)

extern const struct rseq_cs descriptor_of_listed;
__asm__(
    ".pushsection __rseq_cs, \"aw\"\n"
    ".balign 32\n"
    "descriptor_of_listed:\n"
    ".long 0, 0\n"
    ".quad ListedStart, ListedCommitted - ListedStart, ListedAborted\n"
    ".popsection\n");
static struct rseq_cs descriptor_of_unlisted __attribute__((aligned(32)));

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const uint64_t wanted = strtoull(argv[2], NULL, 10);
  if (__rseq_size == 0) return 77;
  struct rseq* area =
      (struct rseq*)((uintptr_t)__builtin_thread_pointer() + (uintptr_t)__rseq_offset);
  descriptor_of_unlisted.start_ip = (uintptr_t)UnlistedStart;
  descriptor_of_unlisted.post_commit_offset = (uint64_t)(UnlistedCommitted - UnlistedStart);
  descriptor_of_unlisted.abort_ip = (uintptr_t)UnlistedAborted;
  const int is_listed = strcmp(argv[1], "SECTION") == 0;
  uint64_t counter = 0;
  for (uint64_t i = 0; i < wanted; ++i) {
    if (is_listed) {
      Listed(area, &descriptor_of_listed, &counter);
    } else {
      Unlisted(area, &descriptor_of_unlisted, &counter);
    }
  }
  printf("%llu commits\n", (unsigned long long)counter);
  return counter == wanted && restarts <= wanted / 2 ? 0 : 90;
}
