/* Tests code that the program generates itself through the C ABI: what is refused, and two
 * functions at one address, one after the other.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <hbbp/hbbp.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "checks.h"

enum { PAGE = 4096, SKIPPED = 77 };

/* mov ecx, edi; 1: add eax, 1; dec ecx; jnz 1b; ret */
static const uint8_t adding[] = {0x89, 0xf9, 0x83, 0xc0, 0x01, 0xff, 0xc9, 0x75, 0xf9, 0xc3};
/* mov ecx, edi; 1: sub eax, 1; dec ecx; jnz 1b; ret */
static const uint8_t subtracting[] = {0x89, 0xf9, 0x83, 0xe8, 0x01, 0xff, 0xc9, 0x75, 0xf9, 0xc3};

static uint8_t *memory;

static void add_code(hbbp_session *session, const char *name, size_t size) {
  HBBP_INIT(hbbp_code_region, region);
  region.address = (uint64_t)(uintptr_t)memory;
  region.size = size;
  region.name = name;
  CHECK_OK(hbbp_session_add_code(session, &region, &error));
}

static void run_for(uint64_t nanoseconds) {
  struct timespec now;
  uint64_t begin = 0, end = 0;
  do {
    void (*function)(int);
    memcpy(&function, &memory, sizeof(function));
    function(100000);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    end = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (begin == 0) begin = end;
  } while (end - begin < nanoseconds);
}

static void test_refusals(void) {
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(NULL, &session, &error));
  HBBP_INIT(hbbp_code_region, region);
  region.address = (uint64_t)(uintptr_t)memory;
  region.size = 16;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session", hbbp_session_add_code(NULL, &region, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "region", hbbp_session_add_code(session, NULL, &error));
  region.reserved = 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "reserved",
              hbbp_session_add_code(session, &region, &error));
  region.reserved = 0;
  region.size = 0;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "size", hbbp_session_add_code(session, &region, &error));
  region.size = (256u << 20) + 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "size", hbbp_session_add_code(session, &region, &error));
  region.size = 16;
  region.address = UINT64_MAX - 8;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "address",
              hbbp_session_add_code(session, &region, &error));
  region.address = 16; /* nothing is mapped there */
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "0x10", hbbp_session_add_code(session, &region, &error));
  region.struct_size = 4;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "struct_size",
              hbbp_session_add_code(session, &region, &error));
  hbbp_session_destroy(session);
}

/* Returns the count of the only block that has this mnemonic, in the function of that name. */
static double count_of(const hbbp_analysis *analysis, const char *name, const char *mnemonic) {
  double count = 0;
  for (size_t i = 0; i < hbbp_analysis_block_count(analysis); ++i) {
    HBBP_INIT(hbbp_block, block);
    HBBP_INIT(hbbp_function, function);
    HBBP_INIT(hbbp_instruction, instruction);
    CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, i, &block);
    if (block.function == HBBP_NO_INDEX ||
        hbbp_analysis_decode(analysis, block.module, block.start, &instruction, NULL) != HBBP_OK) {
      continue;
    }
    CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, block.function, &function);
    if (strcmp(function.name, name) == 0 && strcmp(instruction.mnemonic, mnemonic) == 0) {
      CHECK(count == 0);
      count = block.count;
    }
  }
  return count;
}

/* Each function has its own samples, though both were at the same address. */
static int test_replaced_code(hbbp_source_kind source) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = source;
  options.period = 1000003; /* ns */
  hbbp_session *session = NULL;
  HBBP_INIT(hbbp_error, refusal);
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  memcpy(memory, adding, sizeof(adding));
  add_code(session, "adding", sizeof(adding)); /* before it starts */
  if (hbbp_session_start(session, &refusal) != HBBP_OK) {
    fprintf(stderr, "SKIPPED: %s\n", refusal.message);
    hbbp_session_destroy(session);
    return SKIPPED;
  }
  run_for(300000000);
  memcpy(memory, subtracting, sizeof(subtracting));
  add_code(session, "subtracting", sizeof(subtracting));
  run_for(100000000);
  CHECK_OK(hbbp_session_stop(session, &error));
  memset(memory, 0xcc, PAGE);
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  hbbp_session_destroy(session);
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  hbbp_profile_destroy(profile);
  const double added = count_of(analysis, "adding", "add");
  const double subtracted = count_of(analysis, "subtracting", "sub");
  CHECK(count_of(analysis, "adding", "sub") == 0 && count_of(analysis, "subtracting", "add") == 0);
  /* The ratio is 3 to 1, by samples that may be as few as a hundred. */
  CHECK(added > 1.5 * subtracted && added < 6 * subtracted);
  hbbp_analysis_destroy(analysis);
  return 0;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static uint64_t memory_of(hbbp_session *session) {
  HBBP_INIT(hbbp_session_info, info);
  CHECK_OK(hbbp_session_get_info(session, &info, &error));
  return info.memory_bytes;
}

/* Code without memory leaves nothing behind, neither in the count of bytes nor at its address.
 * Sanitizers end the program instead. */
static void test_no_memory(void) {
  enum { MAX_MORE = 50 << 20, SIZE = 200 << 20 };
  void *code = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(NULL, &session, &error));
  HBBP_INIT(hbbp_code_region, region);
  region.address = 0x10000000;
  region.size = SIZE;
  region.code = code;
  const uint64_t before = memory_of(session);
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
  if (file != NULL) fclose(file);
  struct rlimit old, tight;
  getrlimit(RLIMIT_AS, &old);
  tight = old;
  tight.rlim_cur = pages * PAGE + MAX_MORE;
  setrlimit(RLIMIT_AS, &tight);
  CHECK_FAILS(HBBP_ERROR_NO_MEMORY, "", hbbp_session_add_code(session, &region, &error));
  setrlimit(RLIMIT_AS, &old);
  CHECK(memory_of(session) < before + 4096);
  region.size = 16;
  CHECK_OK(hbbp_session_add_code(session, &region, &error));
  CHECK(memory_of(session) > before);
  CHECK(memory_of(session) < before + 4096);
  hbbp_session_destroy(session);
  munmap(code, SIZE);
}
#endif

int main(void) {
  memory = (uint8_t *)mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    fprintf(stderr, "SKIPPED: the host forbids writable and executable memory\n");
    return SKIPPED;
  }
  test_refusals();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  test_no_memory();
#endif
  const int skipped = test_replaced_code(HBBP_SOURCE_EBS);
  if (skipped == 0) test_replaced_code(HBBP_SOURCE_SWBT);
  return failures == 0 ? skipped : end_of_checks();
}
