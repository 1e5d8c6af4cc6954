/* A program of the last release: compiled with its header, baseline/hbbp.h.txt, and no other, and
 * run with the library as it is now. usage: old_client PROFILE */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "baseline/hbbp.h.txt"
#include "support/require.h"

static hbbp_error error;

/* A struct of an old program ends where new ones continue. */
#define WITH_NEIGHBOUR(type, name)      \
  struct {                              \
    type it;                            \
    unsigned char neighbour[64];        \
  } name;                               \
  memset(&name, 0x5a, sizeof(name));    \
  memset(&name.it, 0, sizeof(name.it)); \
  name.it.struct_size = (uint32_t)sizeof(name.it)

static int is_untouched(const unsigned char *neighbour) {
  for (int i = 0; i < 64; ++i) {
    if (neighbour[i] != 0x5a) return 0;
  }
  return 1;
}

static int test_version(void) {
  REQUIRE(hbbp_abi_version() >= HBBP_ABI_VERSION);
  REQUIRE(hbbp_version_number() / 1000000 == HBBP_VERSION_MAJOR);
  REQUIRE(strcmp(hbbp_status_name(HBBP_ERROR_BAD_FORMAT), "HBBP_ERROR_BAD_FORMAT") == 0);
  return 0;
}

static int test_own_session(void) {
  WITH_NEIGHBOUR(hbbp_session_options, options);
  options.it.event = HBBP_EVENT_TASK_CLOCK;
  options.it.period = 1000000;
  hbbp_session *session = NULL;
  REQUIRE(hbbp_session_create(&options.it, &session, &error) == HBBP_OK);
  const hbbp_status started = hbbp_session_start(session, &error);
  REQUIRE(started == HBBP_OK || started == HBBP_ERROR_PERMISSION ||
          started == HBBP_ERROR_UNSUPPORTED);
  volatile double sum = 0;
  for (int i = 1; i < 30000000; ++i) sum = sum + 1.0 / i;
  if (started == HBBP_OK) REQUIRE(hbbp_session_stop(session, &error) == HBBP_OK);
  WITH_NEIGHBOUR(hbbp_session_info, info);
  REQUIRE(hbbp_session_get_info(session, &info.it, &error) == HBBP_OK);
  REQUIRE(is_untouched(info.neighbour));
  REQUIRE(started != HBBP_OK || info.it.samples > 0);
  hbbp_session_destroy(session);
  return 0;
}

static int test_feed(void) {
  WITH_NEIGHBOUR(hbbp_feed_options, options);
  options.it.order = HBBP_FEED_AS_ADDED;
  hbbp_feed *feed = NULL;
  REQUIRE(hbbp_feed_create(&options.it, &feed, &error) == HBBP_OK);
  WITH_NEIGHBOUR(hbbp_feed_source, source);
  source.it.kind = HBBP_SOURCE_EBS;
  source.it.event = HBBP_EVENT_INSTRUCTIONS;
  source.it.period = 1000;
  uint32_t index = 7;
  REQUIRE(hbbp_feed_add_source(feed, &source.it, &index, &error) == HBBP_OK);
  REQUIRE(index == 0);
  static const uint8_t code[] = {0x90, 0xeb, 0xfd};
  const hbbp_feed_event events[2] = {
      {.kind = HBBP_FEED_CODE, .pid = 7, .address = 0x7000, .size = 3, .name = "f", .code = code},
      {.kind = HBBP_FEED_THREAD_NAME, .pid = 7, .tid = 7, .name = "main"}};
  const hbbp_feed_sample samples[2] = {{.pid = 7, .tid = 7, .ip = 0x7000},
                                       {.pid = 7, .tid = 7, .ip = 0x7001}};
  REQUIRE(hbbp_feed_add_events(feed, events, 2, sizeof(*events), &error) == HBBP_OK);
  REQUIRE(hbbp_feed_add_samples(feed, 0, samples, 2, sizeof(*samples), &error) == HBBP_OK);
  hbbp_profile *profile = NULL;
  REQUIRE(hbbp_feed_snapshot(feed, NULL, &profile, &error) == HBBP_OK);
  hbbp_feed_destroy(feed);
  hbbp_analysis *analysis = NULL;
  REQUIRE(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error) == HBBP_OK);
  struct {
    hbbp_block it[2];
    unsigned char neighbour[64];
  } blocks;
  memset(&blocks, 0x5a, sizeof(blocks));
  size_t copied = 0;
  REQUIRE(hbbp_analysis_copy_blocks(analysis, 0, 2, sizeof(hbbp_block), blocks.it, &copied,
                                    &error) == HBBP_OK);
  REQUIRE(copied == 1 && is_untouched(blocks.neighbour));
  REQUIRE(blocks.it[0].start == 0x7000 && blocks.it[0].end == 0x7003);
  REQUIRE(blocks.it[0].samples == 2 && blocks.it[0].count == 1000.0);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  return 0;
}

static int test_profile(const char *path) {
  hbbp_profile *profile = NULL;
  REQUIRE(hbbp_profile_load(path, NULL, &profile, &error) == HBBP_OK);
  WITH_NEIGHBOUR(hbbp_profile_info, info);
  REQUIRE(hbbp_profile_get_info(profile, &info.it, &error) == HBBP_OK);
  REQUIRE(is_untouched(info.neighbour) && info.it.pid == 1234);
  uint64_t samples = 0;
  for (size_t i = 0; i < hbbp_profile_source_count(profile); ++i) {
    WITH_NEIGHBOUR(hbbp_source_info, source);
    size_t copied = 0;
    REQUIRE(hbbp_profile_copy_sources(profile, i, 1, sizeof(source.it), &source.it, &copied,
                                      &error) == HBBP_OK);
    REQUIRE(copied == 1 && is_untouched(source.neighbour));
    samples += source.it.samples;
  }
  REQUIRE(samples == info.it.samples);
  hbbp_analysis *analysis = NULL;
  hbbp_mix *mix = NULL;
  REQUIRE(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error) == HBBP_OK);
  REQUIRE(hbbp_mix_create(analysis, HBBP_MIX_BY_MNEMONIC, NULL, &mix, &error) == HBBP_OK);
  double share = 0;
  for (size_t i = 0; i < hbbp_mix_row_count(mix); ++i) {
    WITH_NEIGHBOUR(hbbp_mix_row, row);
    size_t copied = 0;
    REQUIRE(hbbp_mix_copy_rows(mix, i, 1, sizeof(row.it), &row.it, &copied, &error) == HBBP_OK);
    REQUIRE(copied == 1 && is_untouched(row.neighbour));
    share += row.it.share;
  }
  REQUIRE(share > 0.999 && share < 1.001);
  hbbp_mix_destroy(mix);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: old_client PROFILE\n");
    return 2;
  }
  error.struct_size = sizeof(error);
  return test_version() || test_own_session() || test_feed() || test_profile(argv[1]);
}
