/* Tests data that samples of IBS accessed, through the C ABI: what is refused, static data of this
 * program, and blocks that a session and a feed know by name.
 */
#include <hbbp/hbbp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"

enum { PID = 7, BLOCK = 0x10000, BLOCK_BYTES = 256, CODE = 0x7000, LOAD = 1, STORE = 2 };

static long counted[64] = {1};

static void test_refusals(void) {
  static char long_name[4098];
  memset(long_name, 'x', sizeof(long_name) - 1);
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(NULL, &session, &error));
  HBBP_INIT(hbbp_data_region, region);
  region.address = BLOCK;
  region.size = 16;
  region.name = "block";
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session", hbbp_session_add_data(NULL, &region, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "region", hbbp_session_add_data(session, NULL, &error));
  CHECK_OK(hbbp_session_add_data(session, &region, &error));
  region.reserved = 1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "reserved",
              hbbp_session_add_data(session, &region, &error));
  region.reserved = 0;
  region.size = 0;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "size", hbbp_session_add_data(session, &region, &error));
  region.size = 16;
  region.address = UINT64_MAX - 8;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "size", hbbp_session_add_data(session, &region, &error));
  region.address = BLOCK;
  for (int i = 0; i < 2; ++i) {
    region.name = i == 0 ? "" : long_name;
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "name",
                hbbp_session_add_data(session, &region, &error));
  }
  region.name = NULL;
  CHECK_OK(hbbp_session_add_data(session, &region, &error));
  region.struct_size = 4;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "struct_size",
              hbbp_session_add_data(session, &region, &error));
  hbbp_session_destroy(session);
}

/* Names have a limit, and blocks that find no room do not end the session. */
static void test_limit(void) {
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(NULL, &session, &error));
  HBBP_INIT(hbbp_data_region, region);
  region.size = 16;
  char name[32];
  region.name = name;
  for (int i = 0; i < HBBP_MAX_DATA_NAMES; ++i) {
    snprintf(name, sizeof(name), "block %d", i);
    region.address = BLOCK + 16u * (unsigned)i;
    if (hbbp_session_add_data(session, &region, NULL) != HBBP_OK) CHECK(i < 0);
  }
  strcpy(name, "one more");
  CHECK_FAILS(HBBP_ERROR_BUSY, "room", hbbp_session_add_data(session, &region, &error));
  strcpy(name, "block 0");
  CHECK_OK(hbbp_session_add_data(session, &region, &error));
  hbbp_session_destroy(session);
}

/* Blocks that come and go make room without a run, and so without samples. */
static void test_churn(void) {
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(NULL, &session, &error));
  HBBP_INIT(hbbp_data_region, region);
  region.address = BLOCK;
  region.size = 16;
  int refused = 0;
  for (int i = 0; i < 3 * HBBP_MAX_DATA_BLOCKS; ++i) {
    region.name = i % 2 == 0 ? "comes and goes" : NULL;
    if (hbbp_session_add_data(session, &region, NULL) != HBBP_OK) ++refused;
  }
  CHECK(refused == 0);
  hbbp_session_destroy(session);
}

static void add_access(hbbp_feed *feed, uint32_t source, uint32_t pid, uint64_t ip, uint32_t kind,
                       uint64_t address, uint64_t time_ns) {
  /* IBS_OP_CTL with Val, _RIP, _DATA, _DATA2, _DATA3 with a valid address, _LINADDR, _PHYSADDR */
  const uint64_t registers[] = {1u << 18, ip, 0, 0, 1u << 17 | kind, address, 0};
  const hbbp_feed_sample sample = {.time_ns = time_ns,
                                   .ip = ip,
                                   .pid = pid,
                                   .tid = pid,
                                   .ibs_register_count = 7,
                                   .ibs_registers = registers};
  CHECK_OK(hbbp_feed_add_samples(feed, source, &sample, 1, sizeof(sample), &error));
}

static hbbp_feed *new_feed(uint32_t *source) {
  hbbp_feed *feed = NULL;
  CHECK_OK(hbbp_feed_create(NULL, &feed, &error));
  HBBP_INIT(hbbp_feed_source, ibs);
  ibs.kind = HBBP_SOURCE_IBS;
  ibs.event = HBBP_EVENT_UOPS;
  ibs.ibs = HBBP_IBS_OP;
  ibs.period = 1000;
  CHECK_OK(hbbp_feed_add_source(feed, &ibs, source, &error));
  return feed;
}

static hbbp_analysis *analysis_of(hbbp_feed *feed) {
  CHECK_OK(hbbp_feed_flush(feed, HBBP_FEED_ALL, &error));
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_feed_snapshot(feed, NULL, &profile, &error));
  hbbp_feed_destroy(feed);
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  hbbp_profile_destroy(profile);
  return analysis;
}

/* Gives the object of that name, of zeros if there is none. */
static hbbp_ibs_object object_called(const hbbp_analysis *analysis, const char *name) {
  for (size_t i = 0; i < hbbp_analysis_ibs_object_count(analysis); ++i) {
    HBBP_INIT(hbbp_ibs_object, object);
    CHECK_ELEMENT(hbbp_analysis_copy_ibs_objects, analysis, i, &object);
    if (strcmp(object.name, name) == 0) return object;
  }
  HBBP_INIT(hbbp_ibs_object, none);
  return none;
}

static void test_static_data(void) {
  uint32_t source = 0;
  hbbp_feed *feed = new_feed(&source);
  HBBP_INIT(hbbp_error, failure);
  if (hbbp_feed_process(feed, 0, &failure) != HBBP_OK) {
    fprintf(stderr, "SKIPPED: %s\n", failure.message);
    hbbp_feed_destroy(feed);
    return;
  }
  void (*const function)(void) = test_static_data;
  uint64_t ip = 0;
  memcpy(&ip, &function, sizeof(ip));
  const uint32_t pid = (uint32_t)getpid();
  for (int i = 0; i < 64; ++i) {
    add_access(feed, source, pid, ip, i % 4 == 0 ? STORE : LOAD, (uint64_t)(uintptr_t)&counted[i],
               10);
  }
  hbbp_analysis *analysis = analysis_of(feed);
  const hbbp_ibs_object object = object_called(analysis, "counted");
  CHECK(object.kind == HBBP_IBS_SYMBOL && object.module != HBBP_NO_INDEX);
  CHECK(object.address != HBBP_NO_ADDRESS && object.size == sizeof(counted));
  CHECK(object.loads == 48 && object.stores == 16 && object.threads == 1);
  CHECK(hbbp_analysis_ibs_object_count(analysis) == 1);
  hbbp_analysis_destroy(analysis);
}

static void test_blocks(void) {
  uint32_t source = 0;
  hbbp_feed *feed = new_feed(&source);
  const uint8_t nops[] = {0x90, 0xc3};
  const hbbp_feed_event events[] = {
      {.kind = HBBP_FEED_CODE, .pid = PID, .address = CODE, .size = sizeof(nops), .code = nops},
      {.kind = HBBP_FEED_DATA,
       .pid = PID,
       .time_ns = 10,
       .address = BLOCK,
       .size = BLOCK_BYTES,
       .name = "first"},
      {.kind = HBBP_FEED_DATA,
       .pid = PID,
       .time_ns = 20,
       .address = BLOCK,
       .size = BLOCK_BYTES,
       .name = "second"},
      {.kind = HBBP_FEED_DATA, .pid = PID, .time_ns = 30, .address = BLOCK, .size = BLOCK_BYTES}};
  CHECK_OK(hbbp_feed_add_events(feed, events, 4, sizeof(*events), &error));
  for (uint64_t time = 5; time <= 35; time += 10) {
    add_access(feed, source, PID, CODE, LOAD, BLOCK + time, time);
  }
  add_access(feed, source, PID, CODE, STORE, BLOCK, 25);
  hbbp_analysis *analysis = analysis_of(feed);
  const hbbp_ibs_object first = object_called(analysis, "first");
  const hbbp_ibs_object second = object_called(analysis, "second");
  const hbbp_ibs_object other = object_called(analysis, "[other memory]");
  CHECK(first.kind == HBBP_IBS_BLOCK && first.loads == 1 && first.stores == 0);
  CHECK(second.kind == HBBP_IBS_BLOCK && second.loads == 1 && second.stores == 1);
  CHECK(other.kind == HBBP_IBS_OTHER && other.loads == 2);
  CHECK(first.module == HBBP_NO_INDEX && first.address == HBBP_NO_ADDRESS && first.size == 0);
  hbbp_analysis_destroy(analysis);
}

int main(void) {
  test_refusals();
  test_limit();
  test_churn();
  test_static_data();
  test_blocks();
  return end_of_checks();
}
