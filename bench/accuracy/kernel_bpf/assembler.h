// An assembler of BPF: each function appends an instruction, and jumps name labels, which may be
// defined later.
#ifndef HBBP_BENCH_ACCURACY_KERNEL_BPF_ASSEMBLER_H_
#define HBBP_BENCH_ACCURACY_KERNEL_BPF_ASSEMBLER_H_

#include <linux/bpf.h>

enum { kMaxInstructions = 1024, kMaxLabels = 64 };

struct Code {
  struct bpf_insn instructions[kMaxInstructions];
  int labels_used[kMaxInstructions];  // the label that an instruction goes to, or -1
  int count;
  int labels[kMaxLabels];
};

void CodeStart(struct Code* code);
// Sets the distances of jumps and calls.
void CodeFinish(struct Code* code);

void Label(struct Code* code, int label);
// `operation` is BPF_ADD, BPF_MOV, ...
void Alu(struct Code* code, int operation, int target, int source);
void AluImmediate(struct Code* code, int operation, int target, int value);
void Alu32(struct Code* code, int operation, int target, int source);
void LoadConstant(struct Code* code, int target, unsigned long long value);
// `size` is BPF_B, BPF_H, BPF_W or BPF_DW.
void Load(struct Code* code, int size, int target, int base, int offset);
void Store(struct Code* code, int size, int base, int offset, int source);
void StoreImmediate(struct Code* code, int size, int base, int offset, int value);
// `operation` is BPF_JEQ, BPF_JGT, ...
void Jump(struct Code* code, int label);
void JumpIf(struct Code* code, int operation, int left, int right, int label);
void JumpIfImmediate(struct Code* code, int operation, int left, int value, int label);
// Calls the subprogram at a label.
void Call(struct Code* code, int label);
void Exit(struct Code* code);

#endif  // HBBP_BENCH_ACCURACY_KERNEL_BPF_ASSEMBLER_H_
