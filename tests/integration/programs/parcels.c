// parcels N ROUNDS LAYOUT [list]: visits N parcels in each round, by pointers, in the order of a
// route, and then computes with a table that stays in the cache. LAYOUT is
//
//   scattered  each parcel has a cache line of its own, and the route leads through them at random
//   packed     they are one behind the other in the order of the route, four in a line
//
// "list" prints their addresses in the order of the route.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLineBytes = 64, kZones = 64, kAdjustments = 16 };

struct parcel {
  struct parcel *next;
  uint32_t weight, zone;
};

static uint32_t rates[kZones];

__attribute__((noinline)) static uint64_t Visit(const struct parcel *parcel) {
  uint64_t sum = 0;
  for (; parcel != NULL; parcel = parcel->next) {
    sum += (uint64_t)parcel->weight * rates[parcel->zone];
  }
  return sum;
}

__attribute__((noinline)) static void Adjust(void) {
  for (int i = 0; i < kAdjustments * kZones; ++i) {
    rates[i % kZones] = rates[i % kZones] * 3 + 1;
    __asm__("" ::: "memory");
  }
}

static void Shuffle(size_t *order, size_t number) {
  uint64_t random = 1;
  for (size_t i = number - 1; i > 0; --i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const size_t other = (random >> 32) % (i + 1);
    const size_t kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
}

int main(int argc, char **argv) {
  const size_t number = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
  char *const memory = aligned_alloc(kLineBytes, number * kLineBytes);
  size_t *const order = calloc(number, sizeof(*order));
  if (number == 0 || memory == NULL || order == NULL) return 1;
  for (size_t i = 0; i < number; ++i) order[i] = i;
  const int is_packed = strcmp(argv[3], "packed") == 0;
  if (!is_packed) Shuffle(order, number);
  const size_t bytes = is_packed ? sizeof(struct parcel) : kLineBytes;
  struct parcel *next = NULL;
  for (size_t i = number; i-- > 0;) {
    struct parcel *const parcel = (struct parcel *)(memory + order[i] * bytes);
    *parcel = (struct parcel){next, (uint32_t)i, (uint32_t)(i * i % kZones)};
    next = parcel;
  }
  if (argc > 4) {
    for (const struct parcel *parcel = next; parcel != NULL; parcel = parcel->next) {
      printf("%p\n", (const void *)parcel);
    }
  }
  uint64_t sum = 0;
  for (unsigned long round = strtoul(argv[2], NULL, 10); round != 0; --round) {
    Adjust();
    sum += Visit(next);
  }
  printf("%lu\n", (unsigned long)sum);
  free(order);
  free(memory);
  return 0;
}
