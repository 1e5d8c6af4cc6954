/* Analyses the profile that agent_test saved with the whole library. Skipped where it saved
 * nothing.
 *
 * usage: agent_profile_test PROFILE */
#include "checks.h"

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
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  int has_work = 0;
  int has_nops = 0;
  const size_t functions = hbbp_analysis_function_count(analysis);
  for (size_t i = 0; i < functions; ++i) {
    HBBP_INIT(hbbp_function, function);
    CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, i, &function);
    has_work |= strcmp(function.name, "work") == 0 && function.instructions > 0;
    has_nops |= strcmp(function.name, "nops") == 0 && function.instructions > 0;
  }
  CHECK(has_work);
  CHECK(has_nops);
  CHECK(hbbp_analysis_block_count(analysis) >= 2);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  return end_of_checks();
}
