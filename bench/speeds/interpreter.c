// interpreter ROUNDS: runs programs of a small virtual machine with registers, which jumps from
// handler to handler by a table of labels: sums (a few handlers by turns), the lengths of Collatz
// sequences (a test that is hard to foresee), and a sieve (loads and stores). Prints their results.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum Operation {
  kSet,       // a = immediate
  kMove,      // a = b
  kAdd,       // a = b + c
  kAddTo,     // a = b + immediate
  kMultiply,  // a = b * immediate
  kShift,     // a = b >> immediate
  kAnd,       // a = b & immediate
  kLoad,      // a = memory[b]
  kStore,     // memory[b] = a
  kJump,      // to immediate
  kIfZero,    // a == 0: to immediate
  kIfLess,    // a < b: to immediate
  kHalt,      // returns a
};

typedef struct Code {
  uint8_t operation, a, b, c;
  int32_t immediate;
} Code;

enum { kRegisters = 8, kMemory = 1 << 16 };

static int64_t memory[kMemory];

__attribute__((noipa)) static int64_t Run(const Code* program) {
  static const void* const kHandlers[] = {&&set,     &&move,     &&add,  &&add_to, &&multiply,
                                          &&shift,   &&and_bits, &&load, &&store,  &&jump,
                                          &&if_zero, &&if_less,  &&halt};
  int64_t r[kRegisters] = {0};
  const Code* code = program;
#define NEXT() goto* kHandlers[(++code)->operation]
#define GO_TO(INDEX) goto* kHandlers[(code = program + (INDEX))->operation]
  GO_TO(0);
set:
  r[code->a] = code->immediate;
  NEXT();
move:
  r[code->a] = r[code->b];
  NEXT();
add:
  r[code->a] = r[code->b] + r[code->c];
  NEXT();
add_to:
  r[code->a] = r[code->b] + code->immediate;
  NEXT();
multiply:
  r[code->a] = r[code->b] * code->immediate;
  NEXT();
shift:
  r[code->a] = r[code->b] >> code->immediate;
  NEXT();
and_bits:
  r[code->a] = r[code->b] & code->immediate;
  NEXT();
load:
  r[code->a] = memory[r[code->b] % kMemory];
  NEXT();
store:
  memory[r[code->b] % kMemory] = r[code->a];
  NEXT();
jump:
  GO_TO(code->immediate);
if_zero:
  if (r[code->a] == 0) GO_TO(code->immediate);
  NEXT();
if_less:
  if (r[code->a] < r[code->b]) GO_TO(code->immediate);
  NEXT();
halt:
  return r[code->a];
}

// Sums i * 3 + (sum & 255) over i < 400000.
static const Code kSums[] = {{kSet, 1, 0, 0, 400000}, {kMultiply, 3, 2, 0, 3}, {kAnd, 4, 0, 0, 255},
                             {kAdd, 0, 0, 3, 0},      {kAdd, 0, 0, 4, 0},      {kAddTo, 2, 2, 0, 1},
                             {kIfLess, 2, 1, 0, 1},   {kHalt, 0, 0, 0, 0}};

// Adds up the lengths of the Collatz sequences of 1 to 20000, 3 n + 1 and its half being one step.
static const Code kCollatz[] = {{kSet, 1, 0, 0, 20000},   // the last number
                                {kAddTo, 2, 2, 0, 1},     // 1: the next number
                                {kMove, 3, 2, 0, 0},      //
                                {kAddTo, 4, 3, 0, -1},    // 3: ends at 1
                                {kIfZero, 4, 0, 0, 12},   //
                                {kAddTo, 0, 0, 0, 1},     //
                                {kAnd, 5, 3, 0, 1},       //
                                {kIfZero, 5, 0, 0, 10},   //
                                {kMultiply, 3, 3, 0, 3},  //
                                {kAddTo, 3, 3, 0, 1},     // goes on to halve: 3 n + 1 is even
                                {kShift, 3, 3, 0, 1},     // 10: halves
                                {kJump, 0, 0, 0, 3},      //
                                {kIfLess, 2, 1, 0, 1},    // 12: another number
                                {kHalt, 0, 0, 0, 0}};

// Counts the primes below 65000.
static const Code kSieve[] = {{kSet, 1, 0, 0, 65000},  //
                              {kSet, 6, 0, 0, 1},      //
                              {kSet, 2, 0, 0, 2},      //
                              {kStore, 7, 2, 0, 0},    // 3: clears
                              {kAddTo, 2, 2, 0, 1},    //
                              {kIfLess, 2, 1, 0, 3},   //
                              {kSet, 2, 0, 0, 2},      //
                              {kLoad, 3, 2, 0, 0},     // 7: the next number
                              {kIfZero, 3, 0, 0, 10},  //
                              {kJump, 0, 0, 0, 15},    //
                              {kAddTo, 0, 0, 0, 1},    // 10: a prime
                              {kAdd, 4, 2, 2, 0},      //
                              {kStore, 6, 4, 0, 0},    // 12: strikes out its multiples
                              {kAdd, 4, 4, 2, 0},      //
                              {kIfLess, 4, 1, 0, 12},  //
                              {kAddTo, 2, 2, 0, 1},    // 15
                              {kIfLess, 2, 1, 0, 7},   //
                              {kHalt, 0, 0, 0, 0}};

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  int64_t sums = 0, lengths = 0, primes = 0;
  for (int round = 0; round < atoi(argv[1]); ++round) {
    sums += Run(kSums);
    lengths += Run(kCollatz);
    primes += Run(kSieve);
  }
  printf("%lld %lld %lld\n", (long long)sums, (long long)lengths, (long long)primes);
  return 0;
}
