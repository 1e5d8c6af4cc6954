/* Uses every part of the library; where perf events are refused, everything except the samples. */
#include <hbbp/hbbp.h>
#include <stdio.h>
#include <string.h>

#include "../../support/require.h"

static volatile double sum;

static void work(void) {
  for (int i = 1; i < 20000000; ++i) sum = sum + 1.0 / i;
}

int main(void) {
  HBBP_INIT(hbbp_error, error);
  REQUIRE(strcmp(hbbp_version_string(), HBBP_VERSION_STRING) == 0);
  REQUIRE(hbbp_abi_version() == HBBP_ABI_VERSION);

  hbbp_session *session = NULL;
  REQUIRE(hbbp_session_create(NULL, &session, &error) == HBBP_OK);
  const hbbp_status started = hbbp_session_start(session, &error);
  REQUIRE(started == HBBP_OK || started == HBBP_ERROR_PERMISSION ||
          started == HBBP_ERROR_UNSUPPORTED);
  work();
  if (started == HBBP_OK) REQUIRE(hbbp_session_stop(session, &error) == HBBP_OK);

  hbbp_profile *profile = NULL;
  REQUIRE(hbbp_session_snapshot(session, NULL, &profile, &error) == HBBP_OK);
  hbbp_session_destroy(session);
  hbbp_analysis *analysis = NULL;
  REQUIRE(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error) == HBBP_OK);
  hbbp_profile_destroy(profile);
  hbbp_mix *mix = NULL;
  REQUIRE(hbbp_mix_create(analysis, HBBP_MIX_BY_MNEMONIC, NULL, &mix, &error) == HBBP_OK);
  if (started == HBBP_OK) REQUIRE(hbbp_mix_row_count(mix) > 0);
  printf("%zu blocks, %zu mnemonics\n", hbbp_analysis_block_count(analysis),
         hbbp_mix_row_count(mix));
  hbbp_mix_destroy(mix);
  hbbp_analysis_destroy(analysis);
  return 0;
}
