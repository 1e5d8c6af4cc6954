/* Analyses the profile that agent_test saved with the whole library. Skipped where it saved
 * nothing.
 *
 * usage: agent_profile_test PROFILE */
#include "checks.h"

/* Checks that the analysis by that event has instructions of that function, and none of another. */
static void check_only(const hbbp_profile *profile, const char *event, const char *name) {
  HBBP_INIT(hbbp_analysis_options, options);
  options.event = event;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, &options, NULL, &analysis, &error));
  int has_it = 0;
  int has_nops = 0;
  const size_t functions = hbbp_analysis_function_count(analysis);
  for (size_t i = 0; i < functions; ++i) {
    HBBP_INIT(hbbp_function, function);
    CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, i, &function);
    has_it |= strcmp(function.name, name) == 0 && function.instructions > 0;
    has_nops |= strcmp(function.name, "nops") == 0;
  }
  CHECK(has_it);
  CHECK(has_nops == (strcmp(name, "nops") == 0));
  CHECK(hbbp_analysis_block_count(analysis) >= 1);
  hbbp_analysis_destroy(analysis);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  hbbp_profile *profile = NULL;
  HBBP_INIT(hbbp_error, problem);
  const hbbp_status loaded = hbbp_profile_load(argv[1], NULL, &profile, &problem);
  if (loaded == HBBP_ERROR_NOT_FOUND) return 77;
  if (loaded != HBBP_OK) {
    report(__FILE__, __LINE__, problem.message);
    return end_of_checks();
  }
  /* The session sampled a clock, the feed instructions, which count unless asked. */
  check_only(profile, NULL, "nops");
  check_only(profile, "task-clock", "work");
  hbbp_profile_destroy(profile);
  return end_of_checks();
}
