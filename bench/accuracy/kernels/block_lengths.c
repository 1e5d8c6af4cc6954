// Executes blocks of every length from 1 to 64, each in seven of eight cases, with the test before
// it in a block of two.
//
// It is not a kernel of the papers: it shows which lengths a sampling method counts well, where
// other programs have only some lengths. Of each length there is a block of additions, one that
// loads, and one with a division in the middle.
#include "rounds.h"

enum { kSteps = 92 };

#define REPEATED(COUNT, INSTRUCTION) ".rept " #COUNT "\n\t" INSTRUCTION "\n\t.endr\n\t"

// Executes CODE in seven of eight cases, by three bits of `bits`, which differ from block to block.
#define MOSTLY(SHIFT, CODE)              \
  do {                                   \
    if ((bits & (7U << (SHIFT))) != 0) { \
      CODE;                              \
    }                                    \
  } while (0)

#define ADDITIONS(SHIFT, COUNT) \
  MOSTLY(SHIFT, __asm__ volatile(REPEATED(COUNT, "add $1, %0") : "+r"(sum)::"cc"))
#define LOADS(SHIFT, COUNT) \
  MOSTLY(SHIFT, __asm__ volatile(REPEATED(COUNT, "add %1, %0") : "+r"(sum) : "m"(one) : "cc"))
// The block has COUNT + 1 + COUNT instructions.
#define DIVISION(SHIFT, COUNT)                                                                     \
  MOSTLY(SHIFT, __asm__ volatile(                                                                  \
                    REPEATED(COUNT, "add $1, %0") "divsd %1, %1\n\t" REPEATED(COUNT, "add $1, %0") \
                    : "+r"(sum), "+x"(ratio)::"cc"))

__attribute__((noinline)) static unsigned long Run(unsigned long sum, unsigned* state) {
  unsigned long one = 1;
  double ratio = 1;
  for (int step = 0; step < kSteps; ++step) {
    const unsigned bits = NextNumber(state);
    ADDITIONS(0, 1);
    LOADS(1, 1);
    DIVISION(2, 0);
    ADDITIONS(3, 2);
    LOADS(4, 2);
    DIVISION(5, 1);
    ADDITIONS(6, 3);
    LOADS(7, 3);
    ADDITIONS(8, 4);
    LOADS(9, 4);
    DIVISION(10, 2);
    ADDITIONS(11, 5);
    LOADS(12, 5);
    ADDITIONS(13, 6);
    LOADS(14, 6);
    DIVISION(15, 3);
    ADDITIONS(16, 8);
    LOADS(17, 8);
    DIVISION(18, 4);
    ADDITIONS(19, 10);
    LOADS(20, 10);
    DIVISION(0, 5);
    ADDITIONS(2, 12);
    LOADS(4, 12);
    DIVISION(6, 6);
    ADDITIONS(8, 14);
    LOADS(10, 14);
    DIVISION(12, 7);
    ADDITIONS(14, 16);
    LOADS(16, 16);
    DIVISION(18, 8);
    ADDITIONS(1, 18);
    LOADS(3, 18);
    DIVISION(5, 9);
    ADDITIONS(7, 20);
    LOADS(9, 20);
    DIVISION(11, 10);
    ADDITIONS(13, 24);
    LOADS(15, 24);
    DIVISION(17, 12);
    ADDITIONS(19, 28);
    LOADS(20, 28);
    DIVISION(0, 14);
    ADDITIONS(3, 32);
    LOADS(6, 32);
    DIVISION(9, 16);
    ADDITIONS(12, 40);
    LOADS(15, 40);
    DIVISION(18, 20);
    ADDITIONS(1, 48);
    LOADS(4, 48);
    DIVISION(7, 24);
    ADDITIONS(10, 64);
    LOADS(13, 64);
    DIVISION(16, 32);
  }
  return sum + (unsigned long)ratio;
}

int main(int argc, char** argv) {
  const long rounds = RoundsFrom(argc, argv);
  unsigned state = 1;
  unsigned long sum = 0;
  for (long round = 0; round < rounds; ++round) sum = Run(sum, &state);
  printf("%lu\n", sum);
  return 0;
}
