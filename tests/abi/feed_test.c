/* Tests feeding through the C ABI: what is refused, sizes of structs, and blocks of generated code.
 */
#include <hbbp/hbbp.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "checks.h"

#define SAMPLE_BYTES sizeof(hbbp_feed_sample)
#define EVENT_BYTES sizeof(hbbp_feed_event)

static hbbp_feed *new_feed(void) {
  hbbp_feed *feed = NULL;
  CHECK_OK(hbbp_feed_create(NULL, &feed, &error));
  return feed;
}

static hbbp_feed_source ebs_source(void) {
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = 1000;
  return source;
}

static uint32_t add(hbbp_feed *feed, const hbbp_feed_source *source) {
  uint32_t index = UINT32_MAX;
  CHECK_OK(hbbp_feed_add_source(feed, source, &index, &error));
  return index;
}

static void test_null(void) {
  hbbp_feed *feed = new_feed();
  const hbbp_feed_source source = ebs_source();
  const hbbp_feed_sample sample = {0};
  const hbbp_feed_event event = {0};
  const uint64_t id = 0;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed", hbbp_feed_create(NULL, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed",
              hbbp_feed_add_source(NULL, &source, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "source",
              hbbp_feed_add_source(feed, NULL, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed", hbbp_feed_add_perf_ids(NULL, 0, &id, 1, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "perf_ids",
              hbbp_feed_add_perf_ids(feed, 0, NULL, 1, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed",
              hbbp_feed_add_perf_records(NULL, "", 0, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "records",
              hbbp_feed_add_perf_records(feed, NULL, 1, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed",
              hbbp_feed_add_samples(NULL, 0, &sample, 1, SAMPLE_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "samples",
              hbbp_feed_add_samples(feed, 0, NULL, 1, SAMPLE_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed",
              hbbp_feed_add_events(NULL, &event, 1, EVENT_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "events",
              hbbp_feed_add_events(feed, NULL, 1, EVENT_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed", hbbp_feed_end_round(NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed", hbbp_feed_flush(NULL, 0, &error));
  hbbp_profile *profile = NULL;
  HBBP_INIT(hbbp_feed_info, info);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed",
              hbbp_feed_snapshot(NULL, NULL, &profile, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "profile", hbbp_feed_snapshot(feed, NULL, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "feed", hbbp_feed_get_info(NULL, &info, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "info", hbbp_feed_get_info(feed, NULL, &error));
  CHECK(profile == NULL);
  hbbp_feed_destroy(NULL);
  hbbp_feed_destroy(feed);
}

static void test_states(void) {
  hbbp_feed *feed = new_feed();
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "perf_attr",
              hbbp_feed_add_perf_records(feed, "", 0, NULL, &error));
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_feed_snapshot(feed, NULL, &profile, &error));
  CHECK(hbbp_profile_source_count(profile) == 0);
  hbbp_profile_destroy(profile);
  hbbp_feed_destroy(feed);
}

static void test_sources(void) {
  hbbp_feed *feed = new_feed();
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  const uint64_t ids[] = {1, 2};

#define REFUSED(word, change)                                       \
  do {                                                              \
    hbbp_feed_source source = ebs_source();                         \
    change;                                                         \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, word,                  \
                hbbp_feed_add_source(feed, &source, NULL, &error)); \
  } while (0)
  REFUSED("kind", source.kind = HBBP_SOURCE_TRUTH);
  REFUSED("kind", source.kind = HBBP_SOURCE_EXTERNAL);
  REFUSED("kind", source.kind = HBBP_SOURCE_NONE);
  REFUSED("event", source.event = HBBP_EVENT_AUTO);
  REFUSED("event", source.event = 8);
  REFUSED("ibs", source.ibs = HBBP_IBS_OP);
  REFUSED("ibs", source.kind = HBBP_SOURCE_IBS);
  REFUSED("include_kernel", source.include_kernel = 2);
  REFUSED("period", source.frequency_hz = 1);
  REFUSED("perf_id_count", source.perf_id_count = 1);
  REFUSED("perf_attr", source.perf_attr = &attr; source.perf_attr_size = sizeof(attr));
#undef REFUSED
  HBBP_INIT(hbbp_feed_source, records);
  records.perf_attr = &attr;
  records.perf_attr_size = 10;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "10 bytes",
              hbbp_feed_add_source(feed, &records, NULL, &error));
  records.perf_attr_size = sizeof(attr);
  records.perf_id_count = 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "perf_ids",
              hbbp_feed_add_source(feed, &records, NULL, &error));
  records.perf_ids = ids;
  CHECK(add(feed, &records) == 0);
  const hbbp_feed_source ebs = ebs_source();
  CHECK(add(feed, &ebs) == 1);
  CHECK_OK(hbbp_feed_add_perf_ids(feed, 0, ids + 1, 1, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "source 1",
              hbbp_feed_add_perf_ids(feed, 1, ids, 1, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "source 9",
              hbbp_feed_add_perf_ids(feed, 9, ids, 1, &error));
  hbbp_feed_source ibs = ebs_source();
  ibs.kind = HBBP_SOURCE_IBS;
  ibs.event = HBBP_EVENT_UOPS;
  ibs.ibs = HBBP_IBS_OP;
  CHECK_OK(hbbp_feed_add_source(feed, &ibs, NULL, &error));

  /* The structs are those of an older host, and of a newer one. */
  struct {
    hbbp_feed_source known;
    uint64_t newer;
  } larger = {ebs, 0};
  larger.known.struct_size = sizeof(larger);
  CHECK_OK(hbbp_feed_add_source(feed, &larger.known, NULL, &error));
  larger.newer = 1;
  CHECK_FAILS(HBBP_ERROR_VERSION, "hbbp_feed_source",
              hbbp_feed_add_source(feed, &larger.known, NULL, &error));
  HBBP_INIT(hbbp_feed_options, options);
  options.order = 2;
  hbbp_feed *other = NULL;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "order", hbbp_feed_create(&options, &other, &error));
  options.order = HBBP_FEED_AS_ADDED;
  options.cpu_id = "AuthenticAMD,25,17,1";
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "cpu_id", hbbp_feed_create(&options, &other, &error));
  options.host = "another";
  options.moved_file_count = 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "moved_files",
              hbbp_feed_create(&options, &other, &error));
  options.struct_size = offsetof(hbbp_feed_options, max_waiting_bytes);
  CHECK_OK(hbbp_feed_create(&options, &other, &error));
  hbbp_feed_destroy(other);
  hbbp_feed_destroy(feed);
}

static void test_samples(void) {
  hbbp_feed *feed = new_feed();
  const hbbp_feed_source ebs = ebs_source();
  const uint32_t known = add(feed, &ebs);
  uint32_t index = known;
  const hbbp_branch_entry branch = {1, 2, 0};
  const uint64_t registers[3] = {0, 0, 0};
#define REFUSED(word, change)                                                          \
  do {                                                                                 \
    hbbp_feed_sample samples[2] = {{.ip = 1}, {.ip = 2}};                              \
    change;                                                                            \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, word,                                     \
                hbbp_feed_add_samples(feed, index, samples, 2, SAMPLE_BYTES, &error)); \
  } while (0)
  REFUSED("source 99 of 1", samples[1].branch_count = 1; index = 99);
  index = known;
  REFUSED("samples[1].reserved", samples[1].reserved = 1);
  REFUSED("samples[1].extent", samples[1].extent = 1);
  REFUSED("samples[1].branch", samples[1].branches = &branch; samples[1].branch_count = 1);
  REFUSED("samples[0].ibs", samples[0].ibs_registers = registers;
          samples[0].ibs_register_count = 3);
#undef REFUSED
  hbbp_feed_sample sample = {.ip = 1};
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "source 5",
              hbbp_feed_add_samples(feed, 5, &sample, 1, SAMPLE_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "size",
              hbbp_feed_add_samples(feed, index, &sample, 1, SAMPLE_BYTES - 8, &error));
  CHECK_OK(hbbp_feed_add_samples(feed, index, NULL, 0, SAMPLE_BYTES, &error));

  hbbp_feed_source lbr = ebs_source();
  lbr.kind = HBBP_SOURCE_LBR;
  const uint32_t stacks = add(feed, &lbr);
  sample.branch_count = 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "branches",
              hbbp_feed_add_samples(feed, stacks, &sample, 1, SAMPLE_BYTES, &error));
  sample.branches = &branch;
  sample.branch_count = HBBP_MAX_FEED_BRANCHES + 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "branch_count",
              hbbp_feed_add_samples(feed, stacks, &sample, 1, SAMPLE_BYTES, &error));

  /* The structs are those of a newer host. */
  struct {
    hbbp_feed_sample known;
    uint64_t newer;
  } larger[2] = {{{.ip = 1, .pid = 7}, 0}, {{.ip = 2, .pid = 7}, 0}};
  CHECK_OK(hbbp_feed_add_samples(feed, index, &larger[0].known, 2, sizeof(larger[0]), &error));
  larger[1].newer = 1;
  CHECK_FAILS(HBBP_ERROR_VERSION, "samples[1]",
              hbbp_feed_add_samples(feed, index, &larger[0].known, 2, sizeof(larger[0]), &error));
  HBBP_INIT(hbbp_feed_info, info);
  CHECK_OK(hbbp_feed_get_info(feed, &info, &error));
  CHECK(info.samples == 2); /* all or none */
  CHECK(info.waiting == 0 && info.dropped == 0);
  hbbp_feed_destroy(feed);
}

static void test_events(void) {
  hbbp_feed *feed = new_feed();
  static char long_name[5000];
  memset(long_name, 'a', sizeof(long_name) - 1);
#define REFUSED(word, ...)                                                       \
  do {                                                                           \
    const hbbp_feed_event events[2] = {{.kind = HBBP_FEED_EXIT}, {__VA_ARGS__}}; \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "events[1]." word,                  \
                hbbp_feed_add_events(feed, events, 2, EVENT_BYTES, &error));     \
  } while (0)
  REFUSED("kind", .kind = 0);
  REFUSED("kind", .kind = 11);
  REFUSED("reserved", .kind = HBBP_FEED_EXIT, .reserved = 1);
  REFUSED("size", .kind = HBBP_FEED_MAPPING, .address = 1);
  REFUSED("size", .kind = HBBP_FEED_MAPPING, .address = UINT64_MAX, .size = 2);
  REFUSED("size", .kind = HBBP_FEED_CODE, .size = 1u << 29, .code = (const uint8_t *)"");
  REFUSED("size", .kind = HBBP_FEED_DATA, .name = "block");
  REFUSED("name", .kind = HBBP_FEED_DATA, .size = 1, .name = long_name);
  REFUSED("name", .kind = HBBP_FEED_THREAD_NAME);
  REFUSED("name", .kind = HBBP_FEED_THREAD_NAME, .name = long_name);
  REFUSED("build_id_size", .kind = HBBP_FEED_BUILD_ID, .name = "", .build_id_size = 65);
  REFUSED("build_id", .kind = HBBP_FEED_BUILD_ID, .name = "", .build_id_size = 20);
  REFUSED("source", .kind = HBBP_FEED_LOST);
#undef REFUSED
  /* Fields that a kind does not use are not looked at. */
  const char *const nowhere = (const char *)16;
  const uint8_t *const no_id = (const uint8_t *)16;
  const hbbp_feed_event unused[] = {
      {.kind = HBBP_FEED_EXIT, .name = nowhere, .build_id = no_id, .build_id_size = 20},
      {.kind = HBBP_FEED_FORK, .name = nowhere, .build_id_size = 0xa5a5a5a5},
      {.kind = HBBP_FEED_THREAD_NAME, .name = "worker", .build_id = no_id, .build_id_size = 20}};
  CHECK_OK(hbbp_feed_add_events(feed, unused, 3, EVENT_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "size",
              hbbp_feed_add_events(feed, NULL, 0, EVENT_BYTES - 1, &error));
  hbbp_feed_destroy(feed);
}

/* A function is replaced by another one at its address. */
static void test_generated_code(void) {
  static const uint8_t old_code[] = {0x31, 0xc0, 0xff, 0xc8, 0x75, 0xfc, 0xc3}; /* loop */
  static const uint8_t new_code[] = {0x90, 0x90, 0xc3};
  HBBP_INIT(hbbp_feed_options, options);
  options.command = "a JIT";
  hbbp_feed *feed = NULL;
  CHECK_OK(hbbp_feed_create(&options, &feed, &error));
  const hbbp_feed_source ebs = ebs_source();
  const uint32_t index = add(feed, &ebs);
  const hbbp_feed_event events[] = {
      {.kind = HBBP_FEED_CODE,
       .pid = 7,
       .time_ns = 10,
       .address = 0x7000,
       .size = sizeof(old_code),
       .name = "old",
       .code = old_code},
      {.kind = HBBP_FEED_CODE,
       .pid = 7,
       .time_ns = 20,
       .address = 0x7000,
       .size = sizeof(new_code),
       .name = "new",
       .code = new_code},
      {.kind = HBBP_FEED_THREAD_NAME, .pid = 7, .tid = 7, .time_ns = 11, .name = "main"}};
  const hbbp_feed_sample samples[] = {{.time_ns = 15, .ip = 0x7002, .pid = 7, .tid = 7},
                                      {.time_ns = 16, .ip = 0x7004, .pid = 7, .tid = 7},
                                      {.time_ns = 25, .ip = 0x7001, .pid = 7, .tid = 7}};
  CHECK_OK(hbbp_feed_add_samples(feed, index, samples, 3, SAMPLE_BYTES, &error));
  CHECK_OK(hbbp_feed_add_events(feed, events, 3, EVENT_BYTES, &error));
  HBBP_INIT(hbbp_feed_info, feed_info);
  CHECK_OK(hbbp_feed_get_info(feed, &feed_info, &error));
  CHECK(feed_info.waiting == 6);
  CHECK_OK(hbbp_feed_flush(feed, HBBP_FEED_ALL, &error));
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_feed_snapshot(feed, NULL, &profile, &error));
  hbbp_feed_destroy(feed);
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));

  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
  CHECK(info.samples == 3 && info.unmapped == 0 && info.pid == 7);
  CHECK(strcmp(info.command, "a JIT") == 0);
  CHECK(hbbp_analysis_block_count(analysis) == 2);
  HBBP_INIT(hbbp_block, loop);
  CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, 0, &loop);
  CHECK(loop.start == 0x7002 && loop.end == 0x7006 && loop.instruction_count == 2);
  CHECK(loop.samples == 2 && loop.count == 1000.0);
  HBBP_INIT(hbbp_block, nops);
  CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, 1, &nops);
  CHECK(nops.start == 0x7000 && nops.end == 0x7003 && nops.samples == 1);
  CHECK(nops.module != loop.module);
  HBBP_INIT(hbbp_function, function);
  CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, loop.function, &function);
  CHECK(strcmp(function.name, "old") == 0);
  CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, nops.function, &function);
  CHECK(strcmp(function.name, "new") == 0);
  HBBP_INIT(hbbp_instruction, instruction);
  CHECK_OK(hbbp_analysis_decode(analysis, loop.module, 0x7002, &instruction, &error));
  CHECK(strcmp(instruction.mnemonic, "dec") == 0);
  HBBP_INIT(hbbp_thread, thread);
  CHECK_ELEMENT(hbbp_profile_copy_threads, profile, 0, &thread);
  CHECK(strcmp(thread.name, "main") == 0);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
}

int main(void) {
  test_null();
  test_states();
  test_sources();
  test_samples();
  test_events();
  test_generated_code();
  return end_of_checks();
}
