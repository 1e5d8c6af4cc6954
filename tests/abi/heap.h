/* A host's allocator that counts, checks its calls, and fails now and then. */
#ifndef HBBP_TESTS_ABI_HEAP_H_
#define HBBP_TESTS_ABI_HEAP_H_

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

typedef struct heap {
  atomic_llong live_blocks;
  atomic_llong live_bytes;
  atomic_llong calls;
  atomic_int wrong;   /* sizes, alignments */
  atomic_int is_over; /* nothing may come any more */
  int fail_every;     /* 0: never */
} heap;

static void *heap_allocate(size_t size, size_t alignment, void *user_data) {
  heap *own = (heap *)user_data;
  if (atomic_load(&own->is_over) || size == 0) atomic_fetch_add(&own->wrong, 1);
  const long long call = atomic_fetch_add(&own->calls, 1) + 1;
  if (own->fail_every != 0 && call % own->fail_every == 0) return NULL;
  const size_t head = alignment > 64 ? alignment : 64;
  unsigned char *block =
      (unsigned char *)aligned_alloc(head, (head + size + head - 1) / head * head);
  if (block == NULL) return NULL;
  memcpy(block, &size, sizeof(size));
  atomic_fetch_add(&own->live_blocks, 1);
  atomic_fetch_add(&own->live_bytes, (long long)size);
  return block + head;
}

static void heap_deallocate(void *memory, size_t size, size_t alignment, void *user_data) {
  heap *own = (heap *)user_data;
  const size_t head = alignment > 64 ? alignment : 64;
  unsigned char *block = (unsigned char *)memory - head;
  size_t known;
  memcpy(&known, block, sizeof(known));
  if (atomic_load(&own->is_over) || known != size) atomic_fetch_add(&own->wrong, 1);
  memset(memory, 0xdd, size);
  free(block);
  atomic_fetch_sub(&own->live_blocks, 1);
  atomic_fetch_sub(&own->live_bytes, (long long)size);
}

/* Everything was freed; nothing may be allocated from now on. */
static void check_heap(heap *own) {
  CHECK(atomic_load(&own->live_blocks) == 0);
  CHECK(atomic_load(&own->live_bytes) == 0);
  CHECK(atomic_load(&own->wrong) == 0);
  CHECK(atomic_load(&own->calls) > 0);
  atomic_store(&own->is_over, 1);
}

#endif /* HBBP_TESTS_ABI_HEAP_H_ */
