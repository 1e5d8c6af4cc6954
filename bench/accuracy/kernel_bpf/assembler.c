#include "assembler.h"

#include <stdio.h>
#include <stdlib.h>

static void Append(struct Code* code, int opcode, int target, int source, int offset, int value,
                   int label) {
  if (code->count == kMaxInstructions) {
    fputs("a program has too many instructions\n", stderr);
    exit(2);
  }
  struct bpf_insn* const instruction = &code->instructions[code->count];
  instruction->code = (__u8)opcode;
  instruction->dst_reg = (__u8)target & 15;
  instruction->src_reg = (__u8)source & 15;
  instruction->off = (__s16)offset;
  instruction->imm = value;
  code->labels_used[code->count++] = label;
}

void CodeStart(struct Code* code) {
  code->count = 0;
  for (int i = 0; i < kMaxLabels; ++i) code->labels[i] = -1;
}

void CodeFinish(struct Code* code) {
  for (int i = 0; i < code->count; ++i) {
    if (code->labels_used[i] < 0) continue;
    const int target = code->labels[code->labels_used[i]];
    if (target < 0) {
      fprintf(stderr, "label %d is not defined\n", code->labels_used[i]);
      exit(2);
    }
    struct bpf_insn* const instruction = &code->instructions[i];
    if (instruction->code == (BPF_JMP | BPF_CALL)) {
      instruction->imm = target - i - 1;
    } else {
      instruction->off = (__s16)(target - i - 1);
    }
  }
}

void Label(struct Code* code, int label) { code->labels[label] = code->count; }

void Alu(struct Code* code, int operation, int target, int source) {
  Append(code, BPF_ALU64 | BPF_X | operation, target, source, 0, 0, -1);
}

void AluImmediate(struct Code* code, int operation, int target, int value) {
  Append(code, BPF_ALU64 | BPF_K | operation, target, 0, 0, value, -1);
}

void Alu32(struct Code* code, int operation, int target, int source) {
  Append(code, BPF_ALU | BPF_X | operation, target, source, 0, 0, -1);
}

void LoadConstant(struct Code* code, int target, unsigned long long value) {
  Append(code, BPF_LD | BPF_IMM | BPF_DW, target, 0, 0, (int)(unsigned)value, -1);
  Append(code, 0, 0, 0, 0, (int)(unsigned)(value >> 32), -1);
}

void Load(struct Code* code, int size, int target, int base, int offset) {
  Append(code, BPF_LDX | BPF_MEM | size, target, base, offset, 0, -1);
}

void Store(struct Code* code, int size, int base, int offset, int source) {
  Append(code, BPF_STX | BPF_MEM | size, base, source, offset, 0, -1);
}

void StoreImmediate(struct Code* code, int size, int base, int offset, int value) {
  Append(code, BPF_ST | BPF_MEM | size, base, 0, offset, value, -1);
}

void Jump(struct Code* code, int label) { Append(code, BPF_JMP | BPF_JA, 0, 0, 0, 0, label); }

void JumpIf(struct Code* code, int operation, int left, int right, int label) {
  Append(code, BPF_JMP | BPF_X | operation, left, right, 0, 0, label);
}

void JumpIfImmediate(struct Code* code, int operation, int left, int value, int label) {
  Append(code, BPF_JMP | BPF_K | operation, left, 0, 0, value, label);
}

void Call(struct Code* code, int label) {
  Append(code, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0, label);
}

void Exit(struct Code* code) { Append(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0, -1); }
