/* Tests -DHBBP_DISABLE: calls compile, succeed and give nothing, and the program links without the
 * library. The same file is compiled as C and as C++.
 */
#include "checks.h"

static void count_call(void *calls) { ++*(int *)calls; }

static hbbp_status start_nothing(void *context, hbbp_feed *feed, hbbp_error *failure) {
  (void)context, (void)feed, (void)failure;
  return HBBP_OK;
}

static void test_sessions(void) {
  int calls = 0;
  hbbp_session *session = NULL;
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_SWBT;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_OK(hbbp_session_start(session, &error));
  HBBP_INIT(hbbp_session_info, info);
  info.samples = 7;
  CHECK_OK(hbbp_session_get_info(session, &info, &error));
  CHECK(info.struct_size == sizeof(info) && info.samples == 0);
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  CHECK_OK(hbbp_profile_save(profile, "/nowhere/file", NULL, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  hbbp_block block;
  size_t copied = 7;
  CHECK_OK(hbbp_analysis_copy_hottest_blocks(analysis, HBBP_ORDER_SAMPLES, 0, 1, sizeof(block),
                                             &block, &copied, &error));
  CHECK(copied == 0 && hbbp_analysis_block_count(analysis) == 0);
  HBBP_INIT(hbbp_profile_info, of_profile);
  CHECK_OK(hbbp_profile_get_info(profile, &of_profile, &error));
  CHECK(of_profile.samples == 0 && strcmp(of_profile.command, "") == 0);
  CHECK(session == NULL && profile == NULL && analysis == NULL);
  CHECK_OK(hbbp_profile_call(count_call, &calls, NULL, &profile, &error));
  CHECK(calls == 1 && profile == NULL);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);
}

static void test_what_belongs_to_the_host(void) {
  int destroyed = 0;
  HBBP_INIT(hbbp_source_ops, ops);
  ops.name = "source";
  ops.start = ops.stop = start_nothing;
  ops.destroy = count_call;
  CHECK_OK(hbbp_session_add_source(NULL, &ops, &destroyed, &error));
  CHECK(destroyed == 1);
  /* A host feeds until everything was consumed. */
  const char records[3] = {0};
  size_t consumed = 0;
  CHECK_OK(hbbp_feed_add_perf_records(NULL, records, sizeof(records), &consumed, &error));
  CHECK(consumed == sizeof(records));
}

static void test_others(void) {
  CHECK(strcmp(hbbp_version_string(), HBBP_VERSION_STRING) == 0);
  CHECK(hbbp_version_number() == 1000 * HBBP_VERSION_MINOR);
  CHECK(hbbp_abi_version() == HBBP_ABI_VERSION && hbbp_feature("swbt") == 0);
  CHECK(strcmp(hbbp_status_name(HBBP_OK), "HBBP_OK") == 0);
  char name[8] = "before";
  CHECK(hbbp_demangle("_Z1fv", name, sizeof(name)) == 0 && name[0] == '\0');
  double low = 0, high = 0;
  hbbp_count_interval(3, 1, &low, &high);
  CHECK(low <= 3 && low >= 3 && high <= 3 && high >= 3);
  hbbp_status (*const create)(const hbbp_session_options *, hbbp_session **, hbbp_error *) =
      &hbbp_session_create;
  CHECK_FAILS(HBBP_OK, "", create(NULL, NULL, &error));
}

int main(void) {
  test_sessions();
  test_what_belongs_to_the_host();
  test_others();
  return end_of_checks();
}
