/* A program that is linked statically, including libc, and profiles itself by EBS and by SWBT: the
 * trip counts of its loops are known, and the profile must have them.
 *
 * Exit status 77: there are no perf events here. */
#include <hbbp/hbbp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/require.h"

enum { INNER_TRIPS = 12, OUTER_TRIPS = 3000, CALLS = 2000, MAX_LOOPS = 64 };
enum { MIN_SAMPLES = 1000, MAX_ROUNDS = 50 };

/* Each instruction depends on the one before, so that time is proportional to their number. */
#define CHAIN(count) ".rept " #count "\n inc %%rax\n .endr\n"

__attribute__((noinline)) static void run_known_loops(void) {
  long outer = OUTER_TRIPS;
  long inner = 0;
  __asm__ volatile(
      "1: mov %[trips], %[inner]\n" CHAIN(40)
      "2: " CHAIN(20)
      "dec %[inner]\n"
      "jnz 2b\n" CHAIN(40)
      "dec %[outer]\n"
      "jnz 1b\n"
      : [outer] "+r"(outer), [inner] "+r"(inner)
      : [trips] "i"(INNER_TRIPS)
      : "rax", "cc");
}

/* The loops of run_known_loops, outer one first, and their shares of all instructions. */
static int find_known_loops(const hbbp_analysis *analysis, hbbp_loop known[2], double *share) {
  HBBP_INIT(hbbp_error, error);
  double all = 0, own = 0;
  uint32_t function = HBBP_NO_INDEX;
  size_t copied = 0;
  for (size_t i = 0; i < hbbp_analysis_function_count(analysis); ++i) {
    hbbp_function each;
    REQUIRE(hbbp_analysis_copy_functions(analysis, i, 1, sizeof(each), &each, &copied, &error) ==
            HBBP_OK);
    all += each.instructions;
    if (strcmp(each.name, "run_known_loops") != 0) continue;
    function = (uint32_t)i;
    own = each.instructions;
  }
  REQUIRE(function != HBBP_NO_INDEX);
  *share = own / all;
  hbbp_loops *made = NULL;
  hbbp_loop loops[MAX_LOOPS];
  REQUIRE(hbbp_loops_create(analysis, NULL, &made, &error) == HBBP_OK);
  REQUIRE(hbbp_loops_copy(made, 0, MAX_LOOPS, sizeof(loops[0]), loops, &copied, &error) == HBBP_OK);
  hbbp_loops_destroy(made);
  size_t found = 0;
  for (size_t i = 0; i < copied; ++i) {
    if (loops[i].function == function && found < 2) known[found++] = loops[i];
  }
  REQUIRE(found == 2 && known[0].depth == 1 && known[1].depth == 2);
  return 0;
}

/* libdw cannot be loaded, which is the only consequence. */
static int ask_for_lines(const hbbp_analysis *analysis, const hbbp_loop *loop) {
  HBBP_INIT(hbbp_error, error);
  HBBP_INIT(hbbp_line_frame, frame);
  HBBP_INIT(hbbp_line_range, range);
  REQUIRE(hbbp_analysis_find_lines(analysis, loop->module, loop->header, 1, sizeof(frame), &frame,
                                   &range, &error) == HBBP_ERROR_UNSUPPORTED);
  REQUIRE(strstr(error.message, "a static program loads no libraries") != NULL);
  return 0;
}

static int profile_by(const char *name, hbbp_source_kind source, double tolerance) {
  HBBP_INIT(hbbp_error, error);
  HBBP_INIT(hbbp_session_options, options);
  HBBP_INIT(hbbp_profile_info, info);
  hbbp_session *session = NULL;
  hbbp_profile *profile = NULL;
  options.source = source;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 200000;
  REQUIRE(hbbp_session_create(&options, &session, &error) == HBBP_OK);
  const hbbp_status started = hbbp_session_start(session, &error);
  if (started == HBBP_ERROR_PERMISSION || started == HBBP_ERROR_UNSUPPORTED) {
    printf("SKIPPED: %s: %s\n", name, error.message);
    exit(77);
  }
  REQUIRE(started == HBBP_OK);
  /* On a busy machine there are fewer samples at a time. */
  for (int round = 0; round < MAX_ROUNDS && info.samples < MIN_SAMPLES; ++round) {
    for (int i = 0; i < CALLS; ++i) run_known_loops();
    hbbp_profile_destroy(profile);
    REQUIRE(hbbp_session_snapshot(session, NULL, &profile, &error) == HBBP_OK);
    REQUIRE(hbbp_profile_get_info(profile, &info, &error) == HBBP_OK);
  }
  REQUIRE(hbbp_session_stop(session, &error) == HBBP_OK);
  hbbp_session_destroy(session);
  hbbp_analysis *analysis = NULL;
  REQUIRE(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error) == HBBP_OK);
  hbbp_profile_destroy(profile);
  hbbp_loop known[2];
  double share = 0;
  if (find_known_loops(analysis, known, &share) != 0) return 1;
  printf("%s: %llu samples, %.1f %% of the instructions in the loops, %.2f trips of %d\n", name,
         (unsigned long long)info.samples, 100 * share, known[1].trip_count, INNER_TRIPS);
  if (ask_for_lines(analysis, &known[1]) != 0) return 1;
  REQUIRE(info.samples >= MIN_SAMPLES);
  REQUIRE(share > 0.98);
  REQUIRE(fabs(known[1].trip_count / INNER_TRIPS - 1) < tolerance);
  REQUIRE(fabs(known[1].iterations / known[0].iterations / INNER_TRIPS - 1) < tolerance);
  hbbp_analysis_destroy(analysis);
  return 0;
}

int main(void) {
  /* Samples of instruction pointers count time, which is about equal for all instructions here. */
  if (profile_by("EBS", HBBP_SOURCE_EBS, 0.35) != 0) return 1;
  return profile_by("SWBT", HBBP_SOURCE_SWBT, 0.05);
}
