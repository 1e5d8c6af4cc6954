// pointer_chase TURNS: follows a random cycle through 128 MB and computes in registers, by turns of
// some 30 ms. A step of the cycle waits for memory; a step of the computation is several
// independent chains. Prints a sum of both.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kNodes = 2 << 20, kStepsPerTurn = 140000, kRoundsPerTurn = 16000000 };

typedef struct Node {
  struct Node* next;
  uint64_t value;
  uint64_t unused[6];
} Node;

static uint64_t Next(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// Links all nodes into one cycle, in an order that no prefetcher foresees.
static void Link(Node* nodes) {
  uint32_t* order = malloc(kNodes * sizeof(*order));
  uint64_t state = 88172645463325252;
  for (uint32_t i = 0; i < kNodes; ++i) order[i] = i;
  for (uint32_t i = kNodes - 1; i > 0; --i) {
    const uint32_t other = (uint32_t)(Next(&state) % (i + 1)), swapped = order[i];
    order[i] = order[other];
    order[other] = swapped;
  }
  for (uint32_t i = 0; i < kNodes; ++i) {
    nodes[order[i]].next = &nodes[order[(i + 1) % kNodes]];
    nodes[order[i]].value = i * UINT64_C(0x9e3779b97f4a7c15);
  }
  free(order);
}

__attribute__((noipa)) static Node* Chase(Node* node, uint64_t* sum) {
  uint64_t mixed = *sum;
  for (int i = 0; i < kStepsPerTurn; ++i) {
    mixed = (mixed << 5 | mixed >> 59) ^ node->value;
    if (node->value % 8 == 0) mixed += node->value >> 32;
    node = node->next;
  }
  *sum = mixed;
  return node;
}

__attribute__((noipa)) static uint64_t Compute(uint64_t seed) {
  uint64_t a = seed, b = seed + 1, c = seed + 2, d = seed + 3;
  for (int i = 0; i < kRoundsPerTurn; ++i) {
    a = (a ^ a >> 29) + 0x5851f42d4c957f2d;
    b = (b << 3 ^ b >> 5) + a;
    c = (c ^ c >> 31) + (c << 7);
    d = (d << 9 | d >> 55) ^ c;
  }
  return a ^ b ^ c ^ d;
}

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  Node* nodes = malloc(kNodes * sizeof(*nodes));
  Link(nodes);
  Node* node = nodes;
  uint64_t sum = 0;
  for (int turn = 0; turn < atoi(argv[1]); ++turn) {
    node = Chase(node, &sum);
    sum += Compute(sum);
  }
  printf("%016llx\n", (unsigned long long)sum);
  return 0;
}
