/* The smallest program that profiles itself: it prints which instructions work() ran. */
#include <hbbp/hbbp.h>
#include <stdio.h>

static double work(void) {
  double sum = 0;
  for (int i = 1; i < 300000000; i++) sum += 1.0 / i;
  return sum;
}

int main(void) {
  hbbp_session *session = NULL;
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  hbbp_mix *mix = NULL;
  HBBP_INIT(hbbp_error, error);
  if (hbbp_session_create(NULL, &session, &error) || hbbp_session_start(session, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  printf("sum = %f\n", work());
  hbbp_session_stop(session, NULL);
  if (hbbp_session_snapshot(session, NULL, &profile, &error) ||
      hbbp_analysis_create(profile, NULL, NULL, &analysis, &error) ||
      hbbp_mix_create(analysis, HBBP_MIX_BY_MNEMONIC, NULL, &mix, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  hbbp_mix_row rows[20];
  size_t count;
  hbbp_mix_copy_rows(mix, 0, 20, sizeof(rows[0]), rows, &count, NULL);
  for (size_t i = 0; i < count; i++) {
    printf("%-10s %5.1f %%\n", rows[i].mnemonic, 100 * rows[i].share);
  }
  hbbp_mix_destroy(mix);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);
  return 0;
}
