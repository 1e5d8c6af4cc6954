/* The smallest program that profiles itself: which instructions did work() run? */
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
  hbbp_mix *mix = NULL;
  HBBP_INIT(hbbp_error, error);
  if (hbbp_session_create(NULL, &session, &error) || hbbp_session_start(session, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  printf("sum = %f\n", work());
  hbbp_session_stop(session, NULL);
  hbbp_session_snapshot(session, &profile, NULL);
  hbbp_mix_create(profile, HBBP_MIX_BY_MNEMONIC, &mix, NULL);
  for (size_t i = 0; i < hbbp_mix_row_count(mix); i++) {
    HBBP_INIT(hbbp_mix_row, row);
    hbbp_mix_row_at(mix, i, &row, NULL);
    printf("%-10s %5.1f %%\n", row.mnemonic, 100 * row.share);
  }
  hbbp_mix_destroy(mix);
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);
  return 0;
}
