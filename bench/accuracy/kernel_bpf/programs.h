// Programs for the kernel, each of some ten thousand instructions an execution. Every execution
// does the same.
#ifndef HBBP_BENCH_ACCURACY_KERNEL_BPF_PROGRAMS_H_
#define HBBP_BENCH_ACCURACY_KERNEL_BPF_PROGRAMS_H_

#include "assembler.h"

struct Program {
  const char* name;  // at most 15 characters, which the kernel keeps
  void (*write)(struct Code* code);
};

extern const struct Program kPrograms[];
extern const int kProgramCount;

#endif  // HBBP_BENCH_ACCURACY_KERNEL_BPF_PROGRAMS_H_
