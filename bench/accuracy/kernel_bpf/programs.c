// The bytecode of the programs. They are of type XDP, which the kernel executes again and again by
// itself (BPF_PROG_TEST_RUN), and call no functions of the kernel, so that their machine code runs
// anywhere. Seeds come from the packet: of a constant the verifier would know which way each branch
// goes, and remove the other. Begin loads the addresses of the packet and a seed; End adds what
// remains of it to the result. The verifier follows every path of a loop to its end, which limits
// iterations to some thousand.
#include "programs.h"

enum { kR0, kR1, kR2, kR3, kR4, kR5, kR6, kR7, kR8, kR9, kFrame };
enum { kLoop, kNext, kEnd, kFirstOwn };
enum { kSeedBytes = 8 };
static const unsigned long long kFactor = 6364136223846793005u;
static const int kIncrement = 1442695041;

// Sets R6 to the seed, R7 to 0, the counter, and R0 to 0, the result.
static void Begin(struct Code* code) {
  Load(code, BPF_W, kR2, kR1, 0);
  Load(code, BPF_W, kR3, kR1, 4);
  AluImmediate(code, BPF_MOV, kR0, 0);
  Alu(code, BPF_MOV, kR4, kR2);
  AluImmediate(code, BPF_ADD, kR4, kSeedBytes);
  JumpIf(code, BPF_JGT, kR4, kR3, kEnd);
  Load(code, BPF_DW, kR6, kR2, 0);
  AluImmediate(code, BPF_MOV, kR7, 0);
}

static void End(struct Code* code) {
  Alu(code, BPF_XOR, kR0, kR6);
  Label(code, kEnd);
  Exit(code);
}

static void CountTo(struct Code* code, int iterations) {
  AluImmediate(code, BPF_ADD, kR7, 1);
  JumpIfImmediate(code, BPF_JLT, kR7, iterations, kLoop);
}

// Advances the generator in `state`, whose factor is in `factor`.
static void Advance(struct Code* code, int state, int factor) {
  Alu(code, BPF_MUL, state, factor);
  AluImmediate(code, BPF_ADD, state, kIncrement);
}

// 3 n + 1: odd and even numbers come without an order, in blocks of a few instructions.
static void ShortBlocks(struct Code* code) {
  enum { kEven = kFirstOwn };
  Begin(code);
  Alu(code, BPF_MOV, kR8, kR6);
  Label(code, kLoop);
  Alu(code, BPF_MOV, kR1, kR8);
  AluImmediate(code, BPF_AND, kR1, 1);
  JumpIfImmediate(code, BPF_JEQ, kR1, 0, kEven);
  AluImmediate(code, BPF_MUL, kR8, 3);
  AluImmediate(code, BPF_ADD, kR8, 1);
  AluImmediate(code, BPF_ADD, kR0, 1);
  Label(code, kEven);
  AluImmediate(code, BPF_RSH, kR8, 1);
  JumpIfImmediate(code, BPF_JGT, kR8, 1, kNext);
  Alu(code, BPF_ADD, kR6, kR7);
  Alu(code, BPF_MOV, kR8, kR6);
  Label(code, kNext);
  CountTo(code, 2000);
  End(code);
}

// Six branches by random bits, each around another kind of work.
static void Branches(struct Code* code) {
  enum { kOwn = kFirstOwn, kTests = 6 };
  Begin(code);
  LoadConstant(code, kR8, kFactor);
  Label(code, kLoop);
  Advance(code, kR6, kR8);
  for (int test = 0; test < kTests; ++test) {
    Alu(code, BPF_MOV, kR1, kR6);
    AluImmediate(code, BPF_RSH, kR1, 32 + 4 * test);
    AluImmediate(code, BPF_AND, kR1, 15);
    JumpIfImmediate(code, BPF_JGT, kR1, 4 + test, kOwn + test);
    for (int i = 0; i <= test; ++i) {
      if (i % 3 == 0) AluImmediate(code, BPF_ADD, kR0, 13 + test);
      if (i % 3 == 1) AluImmediate(code, BPF_LSH, kR0, 1);
      if (i % 3 == 2) AluImmediate(code, BPF_XOR, kR0, 7);
    }
    Label(code, kOwn + test);
  }
  CountTo(code, 800);
  End(code);
}

// Four small functions, of which two call another one; a late sample is in another function.
static void Calls(struct Code* code) {
  enum { kMix = kFirstOwn, kRotate, kFold, kPick, kSmall };
  Begin(code);
  LoadConstant(code, kR8, kFactor);
  AluImmediate(code, BPF_MOV, kR9, 0);
  Label(code, kLoop);
  Advance(code, kR6, kR8);
  Alu(code, BPF_MOV, kR1, kR6);
  Call(code, kMix);
  Alu(code, BPF_ADD, kR9, kR0);
  Alu(code, BPF_MOV, kR1, kR9);
  Alu(code, BPF_MOV, kR2, kR6);
  Call(code, kPick);
  Alu(code, BPF_XOR, kR9, kR0);
  CountTo(code, 500);
  Alu(code, BPF_MOV, kR0, kR9);
  End(code);

  Label(code, kMix);
  Alu(code, BPF_MOV, kR6, kR1);
  AluImmediate(code, BPF_RSH, kR1, 31);
  Call(code, kRotate);
  Alu(code, BPF_XOR, kR0, kR6);
  Exit(code);

  Label(code, kRotate);
  Alu(code, BPF_MOV, kR0, kR1);
  AluImmediate(code, BPF_LSH, kR0, 7);
  AluImmediate(code, BPF_RSH, kR1, 25);
  Alu(code, BPF_OR, kR0, kR1);
  Exit(code);

  Label(code, kPick);
  Alu(code, BPF_MOV, kR3, kR2);
  AluImmediate(code, BPF_RSH, kR3, 60);
  JumpIfImmediate(code, BPF_JLT, kR3, 8, kSmall);
  Call(code, kFold);
  Exit(code);
  Label(code, kSmall);
  Alu(code, BPF_MOV, kR0, kR1);
  Alu(code, BPF_SUB, kR0, kR2);
  Exit(code);

  Label(code, kFold);
  Alu(code, BPF_MOV, kR0, kR1);
  for (int i = 0; i < 3; ++i) {
    Alu(code, BPF_ADD, kR0, kR2);
    AluImmediate(code, BPF_ARSH, kR0, 3);
    Alu(code, BPF_XOR, kR0, kR1);
  }
  Exit(code);
}

// A loop of one block of some hundred instructions, and one of twenty.
static void LongBlocks(struct Code* code) {
  enum { kShorter = kFirstOwn };
  Begin(code);
  LoadConstant(code, kR8, kFactor);
  Alu(code, BPF_MOV, kR9, kR6);
  Label(code, kLoop);
  for (int i = 0; i < 12; ++i) {
    Alu(code, BPF_MOV, kR1, kR9);
    AluImmediate(code, BPF_LSH, kR1, 13);
    Alu(code, BPF_XOR, kR9, kR1);
    Alu(code, BPF_MOV, kR2, kR9);
    AluImmediate(code, BPF_RSH, kR2, 7);
    Alu(code, BPF_XOR, kR9, kR2);
    Alu32(code, BPF_ADD, kR0, kR9);
    if (i % 4 == 3) Advance(code, kR6, kR8);
  }
  Alu(code, BPF_MOV, kR3, kR9);
  AluImmediate(code, BPF_AND, kR3, 3);
  JumpIfImmediate(code, BPF_JEQ, kR3, 0, kShorter);
  for (int i = 0; i < 6; ++i) {
    Alu(code, BPF_MOV, kR1, kR0);
    AluImmediate(code, BPF_ARSH, kR1, 5 + i);
    Alu(code, BPF_SUB, kR0, kR1);
  }
  Label(code, kShorter);
  CountTo(code, 150);
  End(code);
}

// Counts bytes of the packet in counters that follow them, and adds these up. The verifier wants a
// test of each address that depends on data.
static void Memory(struct Code* code) {
  enum { kClear = kFirstOwn, kSum, kBytes = 512, kCounters = 64 };
  Begin(code);
  Alu(code, BPF_MOV, kR4, kR2);
  AluImmediate(code, BPF_ADD, kR4, kBytes + 8 * kCounters);
  JumpIf(code, BPF_JGT, kR4, kR3, kEnd);
  Label(code, kClear);
  Alu(code, BPF_MOV, kR1, kR7);
  AluImmediate(code, BPF_LSH, kR1, 3);
  Alu(code, BPF_ADD, kR1, kR2);
  StoreImmediate(code, BPF_DW, kR1, kBytes, 0);
  AluImmediate(code, BPF_ADD, kR7, 1);
  JumpIfImmediate(code, BPF_JLT, kR7, kCounters, kClear);
  AluImmediate(code, BPF_MOV, kR7, 0);
  Label(code, kLoop);
  Alu(code, BPF_MOV, kR1, kR2);
  Alu(code, BPF_ADD, kR1, kR7);
  Load(code, BPF_B, kR5, kR1, 0);
  AluImmediate(code, BPF_AND, kR5, kCounters - 1);
  AluImmediate(code, BPF_LSH, kR5, 3);
  Alu(code, BPF_ADD, kR5, kR2);
  Alu(code, BPF_MOV, kR4, kR5);
  AluImmediate(code, BPF_ADD, kR4, kBytes + 8);
  JumpIf(code, BPF_JGT, kR4, kR3, kEnd);
  Load(code, BPF_DW, kR1, kR5, kBytes);
  AluImmediate(code, BPF_ADD, kR1, 1);
  Store(code, BPF_DW, kR5, kBytes, kR1);
  CountTo(code, kBytes);
  AluImmediate(code, BPF_MOV, kR7, 0);
  Label(code, kSum);
  Alu(code, BPF_MOV, kR1, kR7);
  AluImmediate(code, BPF_LSH, kR1, 3);
  Alu(code, BPF_ADD, kR1, kR2);
  Load(code, BPF_DW, kR5, kR1, kBytes);
  AluImmediate(code, BPF_MUL, kR0, 31);
  Alu(code, BPF_ADD, kR0, kR5);
  AluImmediate(code, BPF_ADD, kR7, 1);
  JumpIfImmediate(code, BPF_JLT, kR7, kCounters, kSum);
  End(code);
}

// A short block with a division and one with an addition, in turns.
static void Divisions(struct Code* code) {
  enum { kAdd = kFirstOwn };
  Begin(code);
  Alu(code, BPF_MOV, kR8, kR6);
  AluImmediate(code, BPF_OR, kR8, 1);
  Label(code, kLoop);
  Alu(code, BPF_MOV, kR1, kR7);
  AluImmediate(code, BPF_AND, kR1, 1);
  JumpIfImmediate(code, BPF_JEQ, kR1, 0, kAdd);
  Alu(code, BPF_MOV, kR2, kR6);
  AluImmediate(code, BPF_DIV, kR2, 1000003);
  Alu(code, BPF_ADD, kR0, kR2);
  Jump(code, kNext);
  Label(code, kAdd);
  Alu(code, BPF_ADD, kR6, kR8);
  AluImmediate(code, BPF_XOR, kR0, 5);
  AluImmediate(code, BPF_ADD, kR0, 3);
  Label(code, kNext);
  CountTo(code, 1000);
  End(code);
}

const struct Program kPrograms[] = {
    {"short_blocks", ShortBlocks}, {"branches", Branches}, {"calls", Calls},
    {"long_blocks", LongBlocks},   {"memory", Memory},     {"divisions", Divisions},
};
const int kProgramCount = sizeof(kPrograms) / sizeof(kPrograms[0]);
