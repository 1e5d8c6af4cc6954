// loops trips ROUNDS: each function below, called so often, has loops whose trip counts are known.
// loops turns TRIPS: multiplies and divides for about so many trips in turns, and a nest of both
// loops. loops phases MS: multiplies for so many milliseconds of CPU time, then divides for as
// many.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// All take the trips of their outer loop.
void Nested(uint32_t trips);       // inner: 7 trips each
void Varying(uint32_t trips);      // inner: 2 and 5 trips in turns
void Irreducible(uint32_t trips);  // entered in its middle if the number is odd
void Multiply(uint32_t trips);
void Divide(uint32_t trips);
void Nest(uint32_t rounds, uint32_t trips);  // each round: loops that multiply and divide

#define FUNCTION(name) ".globl " name "\n.type " name ", @function\n" name ":\n"
#define END(name) ".size " name ", .-" name "\n"

__asm__(".text\n"  //
        FUNCTION("Nested")
        "  xor %eax, %eax\n"
        "NestedOuter:\n"
        "  mov $7, %ecx\n"
        "NestedInner:\n"
        "  add $1, %rax\n"
        "  imul $3, %rax, %rdx\n"
        "  dec %ecx\n"
        "  jnz NestedInner\n"
        "  dec %edi\n"
        "  jnz NestedOuter\n"
        "  ret\n" END("Nested")

        FUNCTION("Varying")
        "  xor %eax, %eax\n"
        "VaryingOuter:\n"
        "  mov %edi, %ecx\n"
        "  and $1, %ecx\n"
        "  lea 2(%rcx, %rcx, 2), %ecx\n"
        "VaryingInner:\n"
        "  add $1, %rax\n"
        "  dec %ecx\n"
        "  jnz VaryingInner\n"
        "  dec %edi\n"
        "  jnz VaryingOuter\n"
        "  ret\n" END("Varying")

        FUNCTION("Irreducible")
        "  xor %eax, %eax\n"
        "  test $1, %edi\n"
        "  jz IrreducibleMiddle\n"
        "IrreducibleStart:\n"
        "  add $1, %rax\n"
        "IrreducibleMiddle:\n"
        "  add $3, %rax\n"
        "  dec %edi\n"
        "  jnz IrreducibleStart\n"
        "  ret\n" END("Irreducible")

        FUNCTION("Multiply")
        "  mov $3, %eax\n"
        "MultiplyLoop:\n"
        "  imul %rax, %rax\n"
        "  dec %edi\n"
        "  jnz MultiplyLoop\n"
        "  ret\n" END("Multiply")

        FUNCTION("Divide")
        "  mov $7, %ecx\n"
        "DivideLoop:\n"
        "  mov $1000, %eax\n"
        "  xor %edx, %edx\n"
        "  div %ecx\n"
        "  dec %edi\n"
        "  jnz DivideLoop\n"
        "  ret\n" END("Divide")

        FUNCTION("Nest")
        "  mov $7, %r8d\n"
        "NestOuter:\n"
        "  mov %esi, %ecx\n"
        "NestMultiply:\n"
        "  imul %r8, %r8\n"
        "  dec %ecx\n"
        "  jnz NestMultiply\n"
        "  mov %esi, %ecx\n"
        "  mov $7, %r8d\n"
        "NestDivide:\n"
        "  mov $1000, %eax\n"
        "  xor %edx, %edx\n"
        "  div %r8d\n"
        "  dec %ecx\n"
        "  jnz NestDivide\n"
        "  dec %edi\n"
        "  jnz NestOuter\n"
        "  ret\n" END("Nest"));

static const uint32_t kTurnTrips = 200000000;
static const uint32_t kNestRounds = 2;

// Returns half to three halves of `trips`, so that no sampling period resonates with the turns.
static uint32_t About(uint32_t trips) {
  static uint32_t state = 1;
  state = state * 1664525 + 1013904223;
  return trips / 2 + (state >> 8) % (trips + 1);
}

static void RunFor(void (*function)(uint32_t), int milliseconds) {
  const clock_t end = clock() + (clock_t)milliseconds * (CLOCKS_PER_SEC / 1000);
  while (clock() < end) function(100000);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: loops trips ROUNDS | turns TRIPS | phases MS\n");
    return 2;
  }
  const int number = atoi(argv[2]);
  if (strcmp(argv[1], "phases") == 0) {
    RunFor(Multiply, number);
    RunFor(Divide, number);
    return 0;
  }
  if (strcmp(argv[1], "turns") == 0) {
    const uint32_t trips = (uint32_t)number;
    for (uint32_t i = 0; i < kTurnTrips / trips; ++i) {
      Multiply(About(trips));
      Divide(About(trips));
    }
    for (uint32_t i = 0; i < kTurnTrips / trips / kNestRounds; ++i) Nest(kNestRounds, About(trips));
    return 0;
  }
  for (int i = 0; i < number; ++i) {
    Nested(20);
    Varying(50);
    Irreducible(40 + (uint32_t)i % 2);
  }
  return 0;
}
