/* Tests bursts of taken branches that a host has decoded (HBBP_SOURCE_SWBT of a feed): the order of
 * their branches, and the weight of each stream: period / extent, or without an extent period /
 * streams. */
#include <math.h>
#include <stdint.h>

#include "checks.h"

enum { PID = 7, FIRST = 0x7000, SECOND = 0x7010, END = 0x7014, PERIOD = 1000 };

/* Two blocks that jump to each other, of 2 and of 3 instructions. */
static const uint8_t code[END - FIRST] = {[0x00] = 0x90, 0xeb, 0x0d, [0x10] = 0x90,
                                          0x90,          0xeb, 0xec};

static const hbbp_branch_entry to_second = {0x7001, SECOND, 0};
static const hbbp_branch_entry to_first = {0x7012, FIRST, 0};

static hbbp_feed *new_feed(hbbp_event event) {
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_ADDED;
  hbbp_feed *feed = NULL;
  CHECK_OK(hbbp_feed_create(&options, &feed, &error));
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_SWBT;
  source.event = event;
  source.period = PERIOD;
  uint32_t index = 7;
  CHECK_OK(hbbp_feed_add_source(feed, &source, &index, &error));
  CHECK(index == 0);
  const hbbp_feed_event region = {.kind = HBBP_FEED_CODE,
                                  .pid = PID,
                                  .address = FIRST,
                                  .size = sizeof(code),
                                  .code = code,
                                  .name = "both"};
  CHECK_OK(hbbp_feed_add_events(feed, &region, 1, sizeof(region), &error));
  return feed;
}

static hbbp_feed_sample burst_of(const hbbp_branch_entry *branches, uint32_t count) {
  const hbbp_feed_sample burst = {
      .pid = PID, .tid = PID, .branches = branches, .branch_count = count};
  return burst;
}

static void add(hbbp_feed *feed, const hbbp_feed_sample *burst) {
  CHECK_OK(hbbp_feed_add_samples(feed, 0, burst, 1, sizeof(*burst), &error));
}

static uint32_t extent_in_events; /* of the last source that was counted */

/* Ends the feed, and gets the counts of the two blocks; 0 for one without a count. */
static void count_blocks(hbbp_feed *feed, double *first, double *second) {
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_feed_snapshot(feed, NULL, &profile, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  hbbp_feed_destroy(feed);
  HBBP_INIT(hbbp_source_info, source);
  CHECK_ELEMENT(hbbp_profile_copy_sources, profile, 0, &source);
  CHECK(source.kind == HBBP_SOURCE_SWBT && source.period == PERIOD && source.samples > 0);
  extent_in_events = source.extent_in_events;
  hbbp_profile_destroy(profile);
  *first = *second = 0;
  for (size_t i = 0; i < hbbp_analysis_block_count(analysis); ++i) {
    HBBP_INIT(hbbp_block, block);
    CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, i, &block);
    CHECK(block.source == HBBP_SOURCE_SWBT);
    CHECK(block.start == FIRST || block.start == SECOND);
    *(block.start == FIRST ? first : second) = block.count;
  }
  hbbp_analysis_destroy(analysis);
}

static int nearly(double value, double expected) { return fabs(value - expected) < 1e-6; }

/* The one stream of two branches starts at the target of the older one. */
static void test_order(void) {
  const hbbp_branch_entry branches[] = {to_second, to_first};
  hbbp_feed *feed = new_feed(HBBP_EVENT_TAKEN_BRANCHES);
  const hbbp_feed_sample burst = burst_of(branches, 2);
  add(feed, &burst);
  double first, second;
  count_blocks(feed, &first, &second);
  CHECK(nearly(first, 0) && nearly(second, PERIOD));
}

/* Five branches are four streams, two of each block: by taken branches, and by clocks too. */
static void test_without_extent(hbbp_event event) {
  const hbbp_branch_entry branches[] = {to_second, to_first, to_second, to_first, to_second};
  hbbp_feed *feed = new_feed(event);
  hbbp_feed_sample burst = burst_of(branches, 5);
  add(feed, &burst);
  burst.period = 500; /* of its own */
  add(feed, &burst);
  double first, second;
  count_blocks(feed, &first, &second);
  CHECK(nearly(first, 2 * (PERIOD / 4.0 + 500 / 4.0)));
  CHECK(nearly(second, 2 * (PERIOD / 4.0 + 500 / 4.0)));
  CHECK(extent_in_events == 0);
}

/* Ten instructions are in the four streams; the burst declares twenty, ten, or nothing. */
static void test_extent(void) {
  const hbbp_branch_entry branches[] = {to_second, to_first, to_second, to_first, to_second};
  double first, second;
  hbbp_feed *feed = new_feed(HBBP_EVENT_INSTRUCTIONS);
  hbbp_feed_sample burst = burst_of(branches, 5);
  burst.extent = 10;
  add(feed, &burst);
  count_blocks(feed, &first, &second);
  CHECK(nearly(first, 2 * PERIOD / 10.0) && nearly(second, 2 * PERIOD / 10.0));
  CHECK(extent_in_events == 1);

  feed = new_feed(HBBP_EVENT_INSTRUCTIONS);
  add(feed, &burst);
  burst.extent = 20;
  add(feed, &burst);
  burst.period = 700;
  add(feed, &burst);
  count_blocks(feed, &first, &second);
  const double weights = PERIOD / 10.0 + PERIOD / 20.0 + 700 / 20.0;
  CHECK(nearly(first, 2 * weights) && nearly(second, 2 * weights));
}

/* The profile has the branches as observed. */
static void test_branches(void) {
  const hbbp_branch_entry branches[] = {to_second, to_first, to_second};
  hbbp_feed *feed = new_feed(HBBP_EVENT_TAKEN_BRANCHES);
  const hbbp_feed_sample burst = burst_of(branches, 3);
  add(feed, &burst);
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_feed_snapshot(feed, NULL, &profile, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  CHECK(hbbp_analysis_branch_count(analysis) == 2);
  uint64_t samples = 0;
  for (size_t i = 0; i < hbbp_analysis_branch_count(analysis); ++i) {
    HBBP_INIT(hbbp_branch, branch);
    CHECK_ELEMENT(hbbp_analysis_copy_branches, analysis, i, &branch);
    CHECK(branch.to == (branch.from == to_second.from ? to_second.to : to_first.to));
    samples += branch.samples;
  }
  CHECK(samples == 3);
  HBBP_INIT(hbbp_feed_info, info);
  CHECK_OK(hbbp_feed_get_info(feed, &info, &error));
  CHECK(info.samples == 1); /* bursts */
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  hbbp_feed_destroy(feed);
}

static void test_refused(void) {
  hbbp_feed *feed = new_feed(HBBP_EVENT_TAKEN_BRANCHES);
  hbbp_feed_sample burst = burst_of(NULL, 2);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "branches",
              hbbp_feed_add_samples(feed, 0, &burst, 1, sizeof(burst), &error));
  burst = burst_of(&to_first, HBBP_MAX_FEED_BRANCHES + 1);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "branch_count",
              hbbp_feed_add_samples(feed, 0, &burst, 1, sizeof(burst), &error));
  const uint64_t registers[3] = {0, 0, 0};
  burst = burst_of(NULL, 0);
  burst.ibs_registers = registers;
  burst.ibs_register_count = 3;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "ibs",
              hbbp_feed_add_samples(feed, 0, &burst, 1, sizeof(burst), &error));
  hbbp_feed_destroy(feed);
}

int main(void) {
  test_order();
  test_without_extent(HBBP_EVENT_TAKEN_BRANCHES);
  test_without_extent(HBBP_EVENT_TASK_CLOCK);
  test_extent();
  test_branches();
  test_refused();
  return end_of_checks();
}
