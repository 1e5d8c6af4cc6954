/* A plugin that profiles its host: one session, from start to mix. */
#include <hbbp/hbbp.h>
#include <stdio.h>
#include <string.h>

static volatile double sum;

static void work(void) {
  for (int i = 1; i < 1000000; ++i) sum = sum + 1.0 / i;
}

static int fail(const char *what, const hbbp_error *error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return -1;
}

/* Returns the number of samples; -1 after a failure; -2 where there are no perf events. */
__attribute__((visibility("default"))) long plugin_run(int source) {
  HBBP_INIT(hbbp_error, error);
  HBBP_INIT(hbbp_session_options, options);
  HBBP_INIT(hbbp_profile_info, info);
  hbbp_session *session = NULL;
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  hbbp_mix *mix = NULL;
  options.source = source;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 200000;
  if (hbbp_session_create(&options, &session, &error)) return fail("create", &error);
  const hbbp_status started = hbbp_session_start(session, &error);
  if (started != HBBP_OK) {
    hbbp_session_destroy(session);
    const int is_missing = started == HBBP_ERROR_PERMISSION || started == HBBP_ERROR_UNSUPPORTED;
    return is_missing ? -2 : fail("start", &error);
  }
  work();
  if (hbbp_session_stop(session, &error)) return fail("stop", &error);
  if (hbbp_session_snapshot(session, NULL, &profile, &error)) return fail("snapshot", &error);
  hbbp_session_destroy(session);
  if (hbbp_analysis_create(profile, NULL, NULL, &analysis, &error)) return fail("analysis", &error);
  if (hbbp_mix_create(analysis, 0, NULL, &mix, &error)) return fail("mix", &error);
  if (hbbp_profile_get_info(profile, &info, &error)) return fail("info", &error);
  const int is_empty = info.samples > 0 && hbbp_mix_row_count(mix) == 0;
  hbbp_mix_destroy(mix);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  return is_empty ? fail("samples, but no mix", &error) : (long)info.samples;
}
