/* Tests what a session keeps open: the files of modules with samples, each once, as long as it, a
 * profile or an analysis lives, in numbers that the program does not use. The program keeps its own
 * descriptors, however many profiles it has. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks.h"

enum { LIMIT = 64, PROFILES = 2 * LIMIT, OWN_FILES = 20, MODULES = 20, SKIPPED = 77 };

/* Counts down, wherever it is. */
__asm__(
    ".text\n"
    ".type count_down, @function\n"
    "count_down:\n"
    "  mov %rdi, %rax\n"
    "1:\n"
    "  dec %rax\n"
    "  jnz 1b\n"
    "  ret\n"
    ".size count_down, . - count_down\n");
extern const char count_down[];
enum { COUNT_DOWN_BYTES = 9 };
typedef void (*counter)(uint64_t);

__attribute__((noinline)) static void work(void) {
  for (int i = 0; i < 20000000; ++i) __asm__ volatile("");
}

/* Counts open descriptors up to LIMIT. */
static int open_descriptors(void) {
  int count = 0;
  for (int number = 0; number < LIMIT; ++number) count += fcntl(number, F_GETFD) != -1;
  return count;
}

static hbbp_session *created_session(void) {
  hbbp_session *session = NULL;
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EBS;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 200000;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  return session;
}

static hbbp_session *stopped_session(void) {
  hbbp_session *session = created_session();
  CHECK_OK(hbbp_session_start(session, &error));
  work();
  CHECK_OK(hbbp_session_stop(session, &error));
  return session;
}

/* Returns a profile that was analysed, with blocks of this program's code. */
static hbbp_profile *analysed_profile(hbbp_session *session) {
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  CHECK(hbbp_analysis_block_count(analysis) > 0);
  hbbp_analysis_destroy(analysis);
  return profile;
}

/* Checks files that an exec closes, each once, in the upper half of the numbers, and returns how
 * many there are. */
static int check_kept(int before) {
  struct stat files[LIMIT];
  int kept = 0;
  for (int number = 0; number < LIMIT; ++number) {
    struct stat file;
    if (fstat(number, &file) != 0) continue;
    if (number < LIMIT / 2) continue;
    for (int i = 0; i < kept; ++i) {
      CHECK(files[i].st_dev != file.st_dev || files[i].st_ino != file.st_ino);
    }
    files[kept++] = file;
    CHECK(S_ISREG(file.st_mode));
    CHECK((fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(kept > 0);
  CHECK(open_descriptors() == before + kept);
  return kept;
}

static void test_what_is_kept(void) {
  const int before = open_descriptors();
  hbbp_session *session = stopped_session();
  check_kept(before);
  hbbp_profile *profile = analysed_profile(session);
  check_kept(before);
  hbbp_session_destroy(session);
  check_kept(before);
  hbbp_profile_destroy(profile);
  CHECK(open_descriptors() == before);
}

#define COPY_PATH "/tmp/hbbp-descriptors-XXXXXX"

/* Copies this program's file, maps it, and returns the code of count_down there. */
static counter map_copy(char *path) {
  const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int to = mkstemp(path);
  struct stat file;
  CHECK(fstat(from, &file) == 0);
  const size_t size = (size_t)file.st_size;
  char *const bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, from, 0);
  CHECK(bytes != MAP_FAILED);
  CHECK(write(to, bytes, size) == (ssize_t)size);
  const char *const code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, to, 0);
  CHECK(code != MAP_FAILED);
  const char *const found = memmem(code, size, count_down, COUNT_DOWN_BYTES);
  CHECK(found != NULL);
  munmap(bytes, size);
  close(from);
  close(to);
  return (counter)(uintptr_t)found;
}

static int modules_with_blocks(const hbbp_analysis *analysis) {
  uint32_t last = HBBP_NO_INDEX;
  int modules = 0;
  for (size_t i = 0; i < hbbp_analysis_block_count(analysis); ++i) {
    HBBP_INIT(hbbp_block, block);
    CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, i, &block);
    modules += block.module != last;
    last = block.module;
  }
  return modules;
}

static void test_many_modules_need_one_descriptor_each(void) {
  const int before = open_descriptors();
  counter counters[MODULES];
  char paths[MODULES][sizeof(COPY_PATH)];
  for (int i = 0; i < MODULES; ++i) {
    memcpy(paths[i], COPY_PATH, sizeof(COPY_PATH));
    counters[i] = map_copy(paths[i]);
  }
  hbbp_session *session = created_session();
  CHECK_OK(hbbp_session_start(session, &error));
  for (int i = 0; i < MODULES; ++i) counters[i](20000000);
  CHECK_OK(hbbp_session_stop(session, &error));
  for (int i = 0; i < MODULES; ++i) unlink(paths[i]); /* so that a descriptor is all there is */
  CHECK(check_kept(before) >= MODULES);
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  CHECK(modules_with_blocks(analysis) >= MODULES);
  CHECK(check_kept(before) >= MODULES);
  hbbp_session_destroy(session);
  hbbp_profile_destroy(profile);
  hbbp_analysis_destroy(analysis);
  CHECK(open_descriptors() == before);
}

static void test_more_profiles_than_descriptors(void) {
  const int before = open_descriptors();
  static hbbp_profile *profiles[PROFILES];
  for (int i = 0; i < PROFILES; ++i) {
    hbbp_session *session = stopped_session();
    profiles[i] = analysed_profile(session);
    hbbp_session_destroy(session);
  }
  int own[OWN_FILES];
  for (int i = 0; i < OWN_FILES; ++i) {
    own[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(own[i] >= 0 && own[i] < LIMIT / 2);
  }
  for (int i = 0; i < OWN_FILES; ++i) close(own[i]);
  for (int i = 0; i < PROFILES; ++i) hbbp_profile_destroy(profiles[i]);
  CHECK(open_descriptors() == before);
}

static int can_sample(void) {
  hbbp_session *session = NULL;
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EBS;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  HBBP_INIT(hbbp_error, failure);
  const int can = hbbp_session_start(session, &failure) == HBBP_OK;
  if (!can) printf("skipped: %s\n", failure.message);
  hbbp_session_destroy(session);
  return can;
}

int main(void) {
  for (int number = 3; number < 1024; ++number) close(number); /* of whoever runs the tests */
  const struct rlimit limit = {LIMIT, LIMIT};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  if (!can_sample()) return SKIPPED;
  test_what_is_kept();
  test_many_modules_need_one_descriptor_each();
  test_more_profiles_than_descriptors();
  return end_of_checks();
}
