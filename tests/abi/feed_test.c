/* Feeding, by the C ABI: what is refused, sizes of structs, and generated code down to its blocks.
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

static hbbp_session *fed_session(void) {
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create_fed(NULL, &session, &error));
  return session;
}

static hbbp_feed_source ebs_source(void) {
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = 1000;
  return source;
}

static uint32_t add(hbbp_session *session, const hbbp_feed_source *source) {
  uint32_t index = UINT32_MAX;
  CHECK_OK(hbbp_session_add_fed_source(session, source, &index, &error));
  return index;
}

static void test_null(void) {
  hbbp_session *session = fed_session();
  const hbbp_feed_source source = ebs_source();
  const hbbp_feed_sample sample = {0};
  const hbbp_feed_event event = {0};
  const uint64_t id = 0;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session", hbbp_session_create_fed(NULL, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session",
              hbbp_session_add_fed_source(NULL, &source, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "source",
              hbbp_session_add_fed_source(session, NULL, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session",
              hbbp_session_add_fed_ids(NULL, 0, &id, 1, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "perf_ids",
              hbbp_session_add_fed_ids(session, 0, NULL, 1, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session",
              hbbp_session_feed_perf_records(NULL, "", 0, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "records",
              hbbp_session_feed_perf_records(session, NULL, 1, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session",
              hbbp_session_feed_samples(NULL, 0, &sample, 1, SAMPLE_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "samples",
              hbbp_session_feed_samples(session, 0, NULL, 1, SAMPLE_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session",
              hbbp_session_feed_events(NULL, &event, 1, EVENT_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "events",
              hbbp_session_feed_events(session, NULL, 1, EVENT_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session", hbbp_session_feed_round(NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session", hbbp_session_feed_flush(NULL, 0, &error));
  hbbp_session_destroy(session);
}

static void test_states(void) {
  hbbp_session *session = fed_session();
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "fed", hbbp_session_start(session, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "fed", hbbp_session_stop(session, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "perf_attr",
              hbbp_session_feed_perf_records(session, "", 0, NULL, &error));
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, &profile, &error));
  CHECK(hbbp_profile_source_count(profile) == 0);
  CHECK(hbbp_profile_block_count(profile) == 0);
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);

  session = NULL;
  CHECK_OK(hbbp_session_create(NULL, &session, &error));
  const hbbp_feed_source source = ebs_source();
  const hbbp_feed_event event = {.kind = HBBP_FEED_EXEC};
  const char *const maker = "hbbp_session_create_fed";
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, maker,
              hbbp_session_add_fed_source(session, &source, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, maker,
              hbbp_session_feed_perf_records(session, "", 0, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, maker,
              hbbp_session_feed_events(session, &event, 1, EVENT_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, maker, hbbp_session_feed_round(session, &error));
  hbbp_session_destroy(session);
}

static void test_sources(void) {
  hbbp_session *session = fed_session();
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  const uint64_t ids[] = {1, 2};

#define REFUSED(word, change)                                                 \
  do {                                                                        \
    hbbp_feed_source source = ebs_source();                                   \
    change;                                                                   \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, word,                            \
                hbbp_session_add_fed_source(session, &source, NULL, &error)); \
  } while (0)
  REFUSED("kind", source.kind = HBBP_SOURCE_SWBT);
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
              hbbp_session_add_fed_source(session, &records, NULL, &error));
  records.perf_attr_size = sizeof(attr);
  records.perf_id_count = 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "perf_ids",
              hbbp_session_add_fed_source(session, &records, NULL, &error));
  records.perf_ids = ids;
  CHECK(add(session, &records) == 0);
  const hbbp_feed_source ebs = ebs_source();
  CHECK(add(session, &ebs) == 1);
  CHECK_OK(hbbp_session_add_fed_ids(session, 0, ids + 1, 1, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "source 1",
              hbbp_session_add_fed_ids(session, 1, ids, 1, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "source 9",
              hbbp_session_add_fed_ids(session, 9, ids, 1, &error));
  hbbp_feed_source ibs = ebs_source();
  ibs.kind = HBBP_SOURCE_IBS;
  ibs.event = HBBP_EVENT_UOPS;
  ibs.ibs = HBBP_IBS_OP;
  CHECK_OK(hbbp_session_add_fed_source(session, &ibs, NULL, &error));

  /* A host that knows less, and one that knows more. */
  struct {
    hbbp_feed_source known;
    uint64_t newer;
  } larger = {ebs, 0};
  larger.known.struct_size = sizeof(larger);
  CHECK_OK(hbbp_session_add_fed_source(session, &larger.known, NULL, &error));
  larger.newer = 1;
  CHECK_FAILS(HBBP_ERROR_VERSION, "hbbp_feed_source",
              hbbp_session_add_fed_source(session, &larger.known, NULL, &error));
  HBBP_INIT(hbbp_feed_options, options);
  options.order = 2;
  hbbp_session *other = NULL;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "order",
              hbbp_session_create_fed(&options, &other, &error));
  options.order = HBBP_FEED_AS_FED;
  options.cpu_id = "AuthenticAMD,25,17,1";
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "cpu_id",
              hbbp_session_create_fed(&options, &other, &error));
  options.host = "another";
  options.moved_file_count = 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "moved_files",
              hbbp_session_create_fed(&options, &other, &error));
  options.struct_size = offsetof(hbbp_feed_options, max_waiting_bytes);
  CHECK_OK(hbbp_session_create_fed(&options, &other, &error));
  hbbp_session_destroy(other);
  hbbp_session_destroy(session);
}

static void test_samples(void) {
  hbbp_session *session = fed_session();
  const hbbp_feed_source ebs = ebs_source();
  const uint32_t index = add(session, &ebs);
  const hbbp_branch_entry branch = {1, 2, 0};
  const uint64_t registers[3] = {0, 0, 0};
#define REFUSED(word, change)                                                                 \
  do {                                                                                        \
    hbbp_feed_sample samples[2] = {{.ip = 1}, {.ip = 2}};                                     \
    change;                                                                                   \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, word,                                            \
                hbbp_session_feed_samples(session, index, samples, 2, SAMPLE_BYTES, &error)); \
  } while (0)
  REFUSED("samples[1].reserved", samples[1].reserved = 1);
  REFUSED("samples[1].branch", samples[1].branches = &branch; samples[1].branch_count = 1);
  REFUSED("samples[0].ibs", samples[0].ibs_registers = registers;
          samples[0].ibs_register_count = 3);
#undef REFUSED
  hbbp_feed_sample sample = {.ip = 1};
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "source 5",
              hbbp_session_feed_samples(session, 5, &sample, 1, SAMPLE_BYTES, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "size",
              hbbp_session_feed_samples(session, index, &sample, 1, SAMPLE_BYTES - 8, &error));
  CHECK_OK(hbbp_session_feed_samples(session, index, NULL, 0, SAMPLE_BYTES, &error));

  hbbp_feed_source lbr = ebs_source();
  lbr.kind = HBBP_SOURCE_LBR;
  const uint32_t stacks = add(session, &lbr);
  sample.branch_count = 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "branches",
              hbbp_session_feed_samples(session, stacks, &sample, 1, SAMPLE_BYTES, &error));
  sample.branches = &branch;
  sample.branch_count = HBBP_MAX_FED_BRANCHES + 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "branch_count",
              hbbp_session_feed_samples(session, stacks, &sample, 1, SAMPLE_BYTES, &error));

  /* Of a host with larger structs. */
  struct {
    hbbp_feed_sample known;
    uint64_t newer;
  } larger[2] = {{{.ip = 1, .pid = 7}, 0}, {{.ip = 2, .pid = 7}, 0}};
  CHECK_OK(
      hbbp_session_feed_samples(session, index, &larger[0].known, 2, sizeof(larger[0]), &error));
  larger[1].newer = 1;
  CHECK_FAILS(
      HBBP_ERROR_VERSION, "samples[1]",
      hbbp_session_feed_samples(session, index, &larger[0].known, 2, sizeof(larger[0]), &error));
  HBBP_INIT(hbbp_session_info, info);
  CHECK_OK(hbbp_session_get_info(session, &info, &error));
  CHECK(info.samples == 2); /* all or none */
  CHECK(info.running == 0);
  hbbp_session_destroy(session);
}

static void test_events(void) {
  hbbp_session *session = fed_session();
  static char long_name[5000];
  memset(long_name, 'a', sizeof(long_name) - 1);
#define REFUSED(word, ...)                                                          \
  do {                                                                              \
    const hbbp_feed_event events[2] = {{.kind = HBBP_FEED_EXIT}, {__VA_ARGS__}};    \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "events[1]." word,                     \
                hbbp_session_feed_events(session, events, 2, EVENT_BYTES, &error)); \
  } while (0)
  REFUSED("kind", .kind = 0);
  REFUSED("kind", .kind = 10);
  REFUSED("reserved", .kind = HBBP_FEED_EXIT, .reserved = 1);
  REFUSED("size", .kind = HBBP_FEED_MAPPING, .address = 1);
  REFUSED("size", .kind = HBBP_FEED_MAPPING, .address = UINT64_MAX, .size = 2);
  REFUSED("size", .kind = HBBP_FEED_CODE, .size = 1u << 29, .code = (const uint8_t *)"");
  REFUSED("name", .kind = HBBP_FEED_THREAD_NAME);
  REFUSED("name", .kind = HBBP_FEED_THREAD_NAME, .name = long_name);
  REFUSED("build_id_size", .kind = HBBP_FEED_BUILD_ID, .name = "", .build_id_size = 65);
  REFUSED("build_id", .kind = HBBP_FEED_BUILD_ID, .name = "", .build_id_size = 20);
  REFUSED("source", .kind = HBBP_FEED_LOST);
#undef REFUSED
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "size",
              hbbp_session_feed_events(session, NULL, 0, EVENT_BYTES - 1, &error));
  hbbp_session_destroy(session);
}

/* A function that is replaced by another one at its address. */
static void test_generated_code(void) {
  static const uint8_t old_code[] = {0x31, 0xc0, 0xff, 0xc8, 0x75, 0xfc, 0xc3}; /* loop */
  static const uint8_t new_code[] = {0x90, 0x90, 0xc3};
  HBBP_INIT(hbbp_feed_options, options);
  options.command = "a JIT";
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create_fed(&options, &session, &error));
  const hbbp_feed_source ebs = ebs_source();
  const uint32_t index = add(session, &ebs);
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
  CHECK_OK(hbbp_session_feed_samples(session, index, samples, 3, SAMPLE_BYTES, &error));
  CHECK_OK(hbbp_session_feed_events(session, events, 3, EVENT_BYTES, &error));
  HBBP_INIT(hbbp_session_info, session_info);
  CHECK_OK(hbbp_session_get_info(session, &session_info, &error));
  CHECK(session_info.waiting == 6);
  CHECK_OK(hbbp_session_feed_flush(session, HBBP_FEED_ALL, &error));
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, &profile, &error));
  hbbp_session_destroy(session);

  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
  CHECK(info.samples == 3 && info.unmapped == 0 && info.pid == 7);
  CHECK(strcmp(info.command, "a JIT") == 0);
  CHECK(hbbp_profile_block_count(profile) == 2);
  HBBP_INIT(hbbp_block, loop);
  CHECK_OK(hbbp_profile_block_at(profile, 0, &loop, &error));
  CHECK(loop.start == 0x7002 && loop.end == 0x7006 && loop.instruction_count == 2);
  CHECK(loop.samples == 2 && loop.count == 1000.0);
  HBBP_INIT(hbbp_block, nops);
  CHECK_OK(hbbp_profile_block_at(profile, 1, &nops, &error));
  CHECK(nops.start == 0x7000 && nops.end == 0x7003 && nops.samples == 1);
  CHECK(nops.module != loop.module);
  HBBP_INIT(hbbp_function, function);
  CHECK_OK(hbbp_profile_function_at(profile, loop.function, &function, &error));
  CHECK(strcmp(function.name, "old") == 0);
  CHECK_OK(hbbp_profile_function_at(profile, nops.function, &function, &error));
  CHECK(strcmp(function.name, "new") == 0);
  HBBP_INIT(hbbp_instruction, instruction);
  CHECK_OK(hbbp_profile_decode(profile, loop.module, 0x7002, &instruction, &error));
  CHECK(strcmp(instruction.mnemonic, "dec") == 0);
  HBBP_INIT(hbbp_thread, thread);
  CHECK_OK(hbbp_profile_thread_at(profile, 0, &thread, &error));
  CHECK(strcmp(thread.name, "main") == 0);
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
