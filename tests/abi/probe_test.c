/* Tests probe.h: productions on bursts of a feed, whose instructions are known, and on those of
 * this program, which calls one function nine times as often as another one. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

enum { PID = 7, TID = 8, CALLER = 0x7000, CALLEE = 0x7010, PERIOD = 1000, SKIPPED = 77 };

/* A loop with a call: call CALLEE; jmp CALLER. The callee: nop; ret. */
static const uint8_t caller[] = {0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xf9};
static const uint8_t callee[] = {0x90, 0xc3};

static const hbbp_branch_entry to_callee = {CALLER, CALLEE, 0};
static const hbbp_branch_entry to_caller = {CALLEE + 1, CALLER + 5, 0};
static const hbbp_branch_entry back = {CALLER + 5, CALLER, 0};

static int nearly(double value, double expected) { return fabs(value - expected) < 1e-6; }

static hbbp_feed *new_feed(uint64_t kept_burst_bytes) {
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_ADDED;
  options.kept_burst_bytes = kept_burst_bytes;
  hbbp_feed *feed = NULL;
  CHECK_OK(hbbp_feed_create(&options, &feed, &error));
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_SWBT;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = PERIOD;
  CHECK_OK(hbbp_feed_add_source(feed, &source, NULL, &error));
  const hbbp_feed_event code[] = {{.kind = HBBP_FEED_CODE,
                                   .pid = PID,
                                   .address = CALLER,
                                   .size = sizeof(caller),
                                   .code = caller,
                                   .name = "caller"},
                                  {.kind = HBBP_FEED_CODE,
                                   .pid = PID,
                                   .address = CALLEE,
                                   .size = sizeof(callee),
                                   .code = callee,
                                   .name = "callee"}};
  CHECK_OK(hbbp_feed_add_events(feed, code, 2, sizeof(code[0]), &error));
  return feed;
}

/* Adds a burst of `rounds` rounds of four instructions each, from a branch to the caller on. Each
 * of its streams weighs PERIOD / extent. */
static void add_burst(hbbp_feed *feed, uint32_t rounds, uint64_t extent) {
  hbbp_branch_entry branches[64] = {back};
  uint32_t count = 1;
  for (uint32_t i = 0; i < rounds; ++i) {
    branches[count++] = to_callee;
    branches[count++] = to_caller;
    branches[count++] = back;
  }
  const hbbp_feed_sample burst = {.pid = PID,
                                  .tid = TID,
                                  .time_ns = 100 * rounds,
                                  .extent = extent,
                                  .branches = branches,
                                  .branch_count = count};
  CHECK_OK(hbbp_feed_add_samples(feed, 0, &burst, 1, sizeof(burst), &error));
}

static hbbp_analysis *analyze(hbbp_feed *feed) {
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_feed_snapshot(feed, NULL, &profile, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  hbbp_profile_destroy(profile);
  return analysis;
}

static hbbp_probe *new_probe(const char *productions, hbbp_probe_handler handler, void *user_data) {
  HBBP_INIT(hbbp_probe_options, options);
  options.productions = productions;
  options.handler = handler;
  options.user_data = user_data;
  hbbp_probe *probe = NULL;
  CHECK_OK(hbbp_probe_create(&options, &probe, &error));
  return probe;
}

static hbbp_probe_row row_of(const hbbp_probe *probe, size_t table, size_t index) {
  HBBP_INIT(hbbp_probe_row, row);
  size_t copied = 0;
  CHECK_OK(hbbp_probe_copy_rows(probe, table, index, 1, sizeof(row), &row, &copied, &error));
  CHECK(copied == 1);
  return row;
}

static hbbp_probe_location location_of(const hbbp_probe *probe, uint64_t code) {
  HBBP_INIT(hbbp_probe_location, location);
  CHECK_OK(hbbp_probe_locate(probe, code, &location, &error));
  return location;
}

static void check_function(const hbbp_probe *probe, uint64_t code, const char *name) {
  const hbbp_probe_location location = location_of(probe, code);
  CHECK(location.name != NULL && strcmp(location.name, name) == 0);
  CHECK(location.function == location.address);
}

/* Options ----------------------------------------------------------------------------------- */

#define CHECK_OPTION(word, assignment)                                                             \
  do {                                                                                             \
    HBBP_INIT(hbbp_probe_options, options);                                                        \
    options.productions = "use call-pairs";                                                        \
    hbbp_probe *refused = NULL;                                                                    \
    options.assignment;                                                                            \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, word, hbbp_probe_create(&options, &refused, &error)); \
    CHECK(refused == NULL);                                                                        \
  } while (0)

static void test_options(void) {
  CHECK_OPTION("productions is NULL", productions = NULL);
  CHECK_OPTION("line 1, column 4: no key 'proc_cal'; did you mean 'proc_call'?",
               productions = "p: proc_cal => null, null");
  CHECK_OPTION("line 2, column 5: no built-in productions 'call-pair'; did you mean 'call-pairs'?",
               productions = "\nuse call-pair");
  CHECK_OPTION("is_exhaustive", is_exhaustive = 2);
  CHECK_OPTION("sample_freq", sample_freq = HBBP_MAX_PROBE_COUNTER + 1);
  CHECK_OPTION("burst_length", burst_length = UINT64_MAX);
  CHECK_OPTION("max_symbols", max_symbols = (UINT64_C(1) << 30) + 1);
  CHECK_OPTION("min_stream_length", min_stream_length = 1);
  CHECK_OPTION("min_stream_length", max_stream_length = 9);
  CHECK_OPTION("min_stream_heat", min_stream_heat = 1.5);
  CHECK_OPTION("min_stream_heat", min_stream_heat = -0.5);
  HBBP_INIT(hbbp_probe_options, options);
  hbbp_probe *probe = NULL;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "options", hbbp_probe_create(NULL, &probe, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "probe", hbbp_probe_create(&options, NULL, &error));
  hbbp_probe_destroy(NULL);
}

/* Each built-in set can be used. */
static void test_builtins(void) {
  CHECK(hbbp_probe_builtin_count() > 10);
  for (size_t i = 0; i < hbbp_probe_builtin_count(); ++i) {
    char text[100];
    snprintf(text, sizeof(text), "use %s", hbbp_probe_builtin_name(i));
    hbbp_probe_destroy(new_probe(text, NULL, NULL));
  }
  CHECK(hbbp_probe_builtin_name(hbbp_probe_builtin_count()) == NULL);
}

static void test_taxonomy(void) {
  hbbp_taxonomy *taxonomy = NULL;
  CHECK_OK(hbbp_taxonomy_create("[own]\ncalls: category = call\n", &taxonomy, &error));
  HBBP_INIT(hbbp_probe_options, options);
  options.productions = "p: own = calls => count(pc), null";
  options.taxonomy = taxonomy;
  hbbp_probe *probe = NULL;
  CHECK_OK(hbbp_probe_create(&options, &probe, &error));
  hbbp_taxonomy_destroy(taxonomy);
  hbbp_feed *feed = new_feed(HBBP_MIN_KEPT_BURST_BYTES);
  add_burst(feed, 3, 10);
  hbbp_analysis *analysis = analyze(feed);
  CHECK_OK(hbbp_probe_run(probe, analysis, 0, NULL, NULL, &error));
  CHECK(row_of(probe, 0, 0).records == 3);
  hbbp_analysis_destroy(analysis);
  hbbp_feed_destroy(feed);
  hbbp_probe_destroy(probe);
}

/* Results ----------------------------------------------------------------------------------- */

static const char pairs[] =
    "pairs: proc_call => count(function, target), null\n"
    "returns: return => count(pc, next); trace all(pc, size), null\n"
    "callers: return => count(caller), null\n"
    "never: mnemonic = div => null, null\n";

static void check_info(const hbbp_probe *probe, uint64_t bursts, uint64_t instructions) {
  HBBP_INIT(hbbp_probe_info, info);
  CHECK_OK(hbbp_probe_get_info(probe, &info, &error));
  CHECK(info.is_exhaustive == 0 && info.sample_freq == 1000 && info.burst_length == 100);
  CHECK(info.bursts == bursts && info.begun_bursts == bursts);
  CHECK(info.instructions == instructions && info.streams > 0);
  CHECK(info.skipped_streams == 0 && info.streams_without_code == 0);
  CHECK(info.other_bursts == 0 && info.not_kept == 0 && info.counts_executions == 1);
}

static void check_tables(const hbbp_probe *probe) {
  HBBP_INIT(hbbp_probe_table, table);
  CHECK_ELEMENT(hbbp_probe_copy_tables, probe, 0, &table);
  CHECK(strcmp(table.name, "pairs") == 0 && table.kind == HBBP_PROBE_COUNTS);
  CHECK(table.records == 5 && table.dropped == 0 && table.unknown == 0);
  CHECK(nearly(table.estimate, 3 * 100 + 2 * 50));
  CHECK_ELEMENT(hbbp_probe_copy_tables, probe, 2, &table);
  CHECK(strcmp(table.name, "all") == 0 && table.kind == HBBP_PROBE_TRACE);
  CHECK(table.records == 5 && table.dropped == 0 && table.estimate == 0);
  HBBP_INIT(hbbp_probe_production, production);
  CHECK_ELEMENT(hbbp_probe_copy_productions, probe, 1, &production);
  CHECK(strcmp(production.name, "returns") == 0 && production.firings == 5);
  CHECK_ELEMENT(hbbp_probe_copy_productions, probe, 3, &production);
  CHECK(production.firings == 0);
  HBBP_INIT(hbbp_probe_field, field);
  CHECK_ELEMENT_OF_SOURCE(hbbp_probe_copy_fields, probe, 2, 1, &field);
  CHECK(strcmp(field.name, "size") == 0 && field.kind == HBBP_PROBE_NUMBER);
  CHECK_ELEMENT_OF_SOURCE(hbbp_probe_copy_fields, probe, 0, 1, &field);
  CHECK(strcmp(field.name, "target") == 0 && field.kind == HBBP_PROBE_CODE);
  CHECK(hbbp_probe_field_count(probe, 0) == 2 && hbbp_probe_field_count(probe, 9) == 0);
}

/* What an earlier snapshot had is not run again. */
static void test_results(void) {
  hbbp_feed *feed = new_feed(HBBP_MIN_KEPT_BURST_BYTES);
  add_burst(feed, 3, 10);
  hbbp_analysis *first = analyze(feed);
  add_burst(feed, 2, 20);
  hbbp_analysis *second = analyze(feed);
  hbbp_feed_destroy(feed);
  hbbp_probe *probe = new_probe(pairs, NULL, NULL);
  uint64_t next = 77;
  CHECK_OK(hbbp_probe_run(probe, first, 0, NULL, &next, &error));
  CHECK(next == 1);
  check_info(probe, 1, 12);
  CHECK(nearly(row_of(probe, 0, 0).estimate, 3 * 100));
  CHECK_OK(hbbp_probe_run(probe, second, next, NULL, &next, &error));
  CHECK(next == 2);
  CHECK_OK(hbbp_probe_run(probe, second, next, NULL, &next, &error));
  CHECK(next == 2);
  check_info(probe, 2, 20);
  next = 77;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "2 whole bursts",
              hbbp_probe_run(probe, second, 3, NULL, &next, &error));
  CHECK(next == 77);
  hbbp_analysis_destroy(first);
  hbbp_analysis_destroy(second);

  check_tables(probe);
  CHECK(hbbp_probe_row_count(probe, 0) == 1 && hbbp_probe_row_count(probe, 2) == 0);
  const hbbp_probe_row row = row_of(probe, 0, 0);
  check_function(probe, row.values[0], "caller");
  check_function(probe, row.values[1], "callee");
  CHECK(row.values[2] == 0 && row.values[3] == 0);
  CHECK(row.records == 5 && nearly(row.estimate, 3 * 100 + 2 * 50) && nearly(row.share, 1));
  const hbbp_probe_row returned = row_of(probe, 1, 0);
  CHECK(location_of(probe, returned.values[0]).address == CALLEE + 1);
  CHECK(location_of(probe, returned.values[1]).address == CALLER + 5);
  CHECK(location_of(probe, returned.values[1]).function == CALLER);
  HBBP_INIT(hbbp_probe_location, location);
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "0x0", hbbp_probe_locate(probe, 0, &location, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "not a code number",
              hbbp_probe_locate(probe, UINT64_MAX, &location, &error));
  hbbp_probe_destroy(probe);
}

static size_t row_count_of_pairs(const hbbp_probe *probe) { return hbbp_probe_row_count(probe, 0); }

static hbbp_status copy_rows_of_pairs(const hbbp_probe *probe, size_t first, size_t count,
                                      size_t size, hbbp_probe_row *rows, size_t *copied,
                                      hbbp_error *error) {
  return hbbp_probe_copy_rows(probe, 0, first, count, size, rows, copied, error);
}

static size_t field_count_of_pairs(const hbbp_probe *probe) {
  return hbbp_probe_field_count(probe, 0);
}

static hbbp_status copy_fields_of_pairs(const hbbp_probe *probe, size_t first, size_t count,
                                        size_t size, hbbp_probe_field *fields, size_t *copied,
                                        hbbp_error *error) {
  return hbbp_probe_copy_fields(probe, 0, first, count, size, fields, copied, error);
}

static size_t stream_count_of_trace(const hbbp_probe *probe) {
  return hbbp_probe_stream_count(probe, 1);
}

static hbbp_status copy_streams_of_trace(const hbbp_probe *probe, size_t first, size_t count,
                                         size_t size, hbbp_probe_stream *streams, size_t *copied,
                                         hbbp_error *error) {
  return hbbp_probe_copy_streams(probe, 1, first, count, size, streams, copied, error);
}

static void test_lists(void) {
  hbbp_feed *feed = new_feed(HBBP_MIN_KEPT_BURST_BYTES);
  add_burst(feed, 20, 10);
  hbbp_analysis *analysis = analyze(feed);
  HBBP_INIT(hbbp_probe_options, options);
  options.productions =
      "pairs: proc_call => count(function, target), null\nall: branch || return => trace(pc), null";
  options.min_stream_length = 2;
  hbbp_probe *probe = NULL;
  CHECK_OK(hbbp_probe_create(&options, &probe, &error));
  CHECK_OK(hbbp_probe_run(probe, analysis, 0, NULL, NULL, &error));
  CHECK_LIST(hbbp_probe_production, hbbp_probe_production_count, hbbp_probe_copy_productions,
             "probe", "productions", probe);
  CHECK_LIST(hbbp_probe_table, hbbp_probe_table_count, hbbp_probe_copy_tables, "probe", "tables",
             probe);
  CHECK_LIST(hbbp_probe_field, field_count_of_pairs, copy_fields_of_pairs, "probe", "fields",
             probe);
  CHECK_LIST(hbbp_probe_row, row_count_of_pairs, copy_rows_of_pairs, "probe", "rows", probe);
  CHECK_LIST(hbbp_probe_stream, stream_count_of_trace, copy_streams_of_trace, "probe", "streams",
             probe);
  size_t copied = 0;
  hbbp_probe_row row;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "table 2 of 2",
              hbbp_probe_copy_rows(probe, 2, 0, 1, sizeof(row), &row, &copied, &error));
  CHECK(hbbp_probe_stream_count(probe, 0) == 0 && hbbp_probe_stream_count(probe, 2) == 0);
  CHECK_OK(hbbp_probe_copy_rows(probe, 1, 0, 1, sizeof(row), &row, &copied, &error));
  CHECK(copied == 0);
  HBBP_INIT(hbbp_probe_info, info);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "probe", hbbp_probe_get_info(NULL, &info, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "info", hbbp_probe_get_info(probe, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "location", hbbp_probe_locate(probe, 1, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "probe",
              hbbp_probe_run(NULL, analysis, 0, NULL, NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "analysis",
              hbbp_probe_run(probe, NULL, 0, NULL, NULL, &error));

  /* The trace alternates between a return and a jump. */
  double coverage = 0;
  HBBP_INIT(hbbp_probe_stream, stream);
  for (size_t i = 0; i < stream_count_of_trace(probe); ++i) {
    CHECK_ELEMENT_OF_SOURCE(hbbp_probe_copy_streams, probe, 1, i, &stream);
    CHECK(stream.field_count == 1 && stream.length >= 2 && stream.frequency >= 1);
    for (uint64_t element = 0; element + 2 < stream.length; ++element) {
      CHECK(stream.values[element] == stream.values[element + 2]);
    }
    coverage += stream.share;
  }
  CHECK(coverage > 0.7 && coverage <= 1 + 1e-9);
  hbbp_probe_destroy(probe);
  hbbp_analysis_destroy(analysis);
  hbbp_feed_destroy(feed);
}

static void test_refused_profiles(void) {
  hbbp_feed *without = new_feed(0);
  add_burst(without, 3, 10);
  hbbp_analysis *no_bursts = analyze(without);
  hbbp_probe *probe = new_probe(pairs, NULL, NULL);
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "kept_burst_bytes",
              hbbp_probe_run(probe, no_bursts, 0, NULL, NULL, &error));
  hbbp_probe_destroy(probe);
  hbbp_analysis_destroy(no_bursts);
  hbbp_feed_destroy(without);

  hbbp_feed *feed = new_feed(HBBP_MIN_KEPT_BURST_BYTES);
  add_burst(feed, 3, 10);
  hbbp_analysis *analysis = analyze(feed);
  const char *const unknown[][2] = {{"p: return => count(rax), null", "'rax'"},
                                    {"p: load => count(address), null", "keep_accesses"},
                                    {"p: entry => count(rdx), null", "keep_values"}};
  for (size_t i = 0; i < 3; ++i) {
    probe = new_probe(unknown[i][0], NULL, NULL);
    CHECK_FAILS(HBBP_ERROR_UNSUPPORTED, unknown[i][1],
                hbbp_probe_run(probe, analysis, 0, NULL, NULL, &error));
    hbbp_probe_destroy(probe);
  }
  hbbp_analysis_destroy(analysis);
  hbbp_feed_destroy(feed);
}

/* The handler ------------------------------------------------------------------------------- */

struct calls {
  hbbp_probe *probe;
  hbbp_cancel *cancel;
  hbbp_analysis *analysis;
  size_t count;
  size_t stop_at; /* which call stops its burst */
  hbbp_probe_call last;
};

static hbbp_probe_answer on_call(const hbbp_probe_call *call, void *user_data) {
  struct calls *calls = user_data;
  ++calls->count;
  calls->last = *call;
  if (calls->cancel != NULL) hbbp_cancel_set(calls->cancel, 1);
  return calls->count == calls->stop_at ? HBBP_PROBE_STOP_BURST : HBBP_PROBE_GO_ON;
}

static void test_handler(void) {
  hbbp_feed *feed = new_feed(HBBP_MIN_KEPT_BURST_BYTES);
  add_burst(feed, 3, 10);
  add_burst(feed, 2, 20);
  hbbp_analysis *analysis = analyze(feed);
  struct calls calls = {0};
  hbbp_probe *probe = new_probe(
      "none: mnemonic = div => null, null\n"
      "calls: proc_call => count(pc); call made(target, caller, size), null\n",
      &on_call, &calls);
  CHECK_OK(hbbp_probe_run(probe, analysis, 0, NULL, NULL, &error));
  CHECK(calls.count == 5);
  const hbbp_probe_call *const last = &calls.last;
  CHECK(last->struct_size == sizeof(*last));
  CHECK(last->production == 1 && last->table == 1 && last->thread == 0);
  CHECK(location_of(probe, last->pc).address == CALLER);
  check_function(probe, last->target, "callee");
  CHECK(last->next == last->target && last->flow == HBBP_FLOW_CALL && last->taken == 1);
  CHECK(last->value_count == 3 && last->values[0] == last->target);
  CHECK(last->values[1] == 0 && last->values[3] == 0);
  CHECK(last->unknown == 2); /* which function called the caller */
  CHECK(last->burst == 1 && last->time_ns == 200 && nearly(last->weight, 50));
  HBBP_INIT(hbbp_probe_table, table);
  CHECK_ELEMENT(hbbp_probe_copy_tables, probe, 1, &table);
  CHECK(table.kind == HBBP_PROBE_CALLS && table.records == 5 && table.unknown == 5);
  hbbp_probe_destroy(probe);

  /* Without a handler nothing is called. */
  probe = new_probe("calls: proc_call => call, null\n", NULL, NULL);
  CHECK_OK(hbbp_probe_run(probe, analysis, 0, NULL, NULL, &error));
  CHECK_ELEMENT(hbbp_probe_copy_tables, probe, 0, &table);
  CHECK(table.records == 0);
  hbbp_probe_destroy(probe);
  hbbp_analysis_destroy(analysis);
  hbbp_feed_destroy(feed);
}

/* The second call ends its burst: the profile production sees no more of it, and all instructions
 * up to there stand for the whole burst. */
static void test_stopped_burst(void) {
  hbbp_feed *feed = new_feed(HBBP_MIN_KEPT_BURST_BYTES);
  add_burst(feed, 8, 10);
  hbbp_analysis *analysis = analyze(feed);
  struct calls calls = {.stop_at = 2};
  hbbp_probe *probe = new_probe(
      "use framework\n"
      "calls: proc_call && sample_flag && !burst_flag => call, null\n"
      "returns: return && sample_flag && !burst_flag => count(pc), null\n",
      &on_call, &calls);
  CHECK_OK(hbbp_probe_run(probe, analysis, 0, NULL, NULL, &error));
  CHECK(calls.count == 2);
  CHECK(row_of(probe, 1, 0).records == 1);
  hbbp_probe_destroy(probe);

  /* An exhaustive probe has no bursts to stop. */
  calls = (struct calls){.stop_at = 2};
  HBBP_INIT(hbbp_probe_options, options);
  options.is_exhaustive = 1;
  options.productions = "calls: proc_call && !burst_flag => call, null";
  options.handler = &on_call;
  options.user_data = &calls;
  CHECK_OK(hbbp_probe_create(&options, &probe, &error));
  CHECK_OK(hbbp_probe_run(probe, analysis, 0, NULL, NULL, &error));
  CHECK(calls.count == 8);
  hbbp_probe_destroy(probe);
  hbbp_analysis_destroy(analysis);
  hbbp_feed_destroy(feed);
}

static size_t stream_count_after(hbbp_probe *probe, const hbbp_analysis *analysis, uint64_t first) {
  CHECK_OK(hbbp_probe_run(probe, analysis, first, NULL, NULL, &error));
  return hbbp_probe_stream_count(probe, 1);
}

/* A run that is cancelled goes on where it ended, and so does the grammar of its traces. */
static void test_cancelled_trace(void) {
  hbbp_feed *feed = new_feed(HBBP_MIN_KEPT_BURST_BYTES);
  for (uint32_t rounds = 3; rounds < 20; ++rounds) add_burst(feed, rounds, 10);
  hbbp_analysis *analysis = analyze(feed);
  HBBP_INIT(hbbp_probe_options, options);
  options.productions = "calls: proc_call => call made, null\nall: taken => trace(pc), null\n";
  options.min_stream_length = 2;
  options.handler = &on_call;
  hbbp_probe *probes[2];
  struct calls calls[2] = {{0}, {0}};
  for (size_t i = 0; i < 2; ++i) {
    options.user_data = &calls[i];
    CHECK_OK(hbbp_probe_create(&options, &probes[i], &error));
  }
  const size_t expected = stream_count_after(probes[0], analysis, 0);
  CHECK(expected > 1);
  CHECK_OK(hbbp_cancel_create(&calls[1].cancel, &error));
  HBBP_INIT(hbbp_work_options, work);
  work.cancel = calls[1].cancel;
  uint64_t next = 0;
  CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
              hbbp_probe_run(probes[1], analysis, 0, &work, &next, &error));
  CHECK(next == 1 && hbbp_probe_stream_count(probes[1], 1) < expected);
  CHECK(stream_count_after(probes[1], analysis, next) == expected);
  for (size_t i = 0; i < expected; ++i) {
    hbbp_probe_stream streams[2];
    size_t copied = 0;
    for (size_t k = 0; k < 2; ++k) {
      CHECK_OK(hbbp_probe_copy_streams(probes[k], 1, i, 1, sizeof(streams[k]), &streams[k], &copied,
                                       &error));
    }
    CHECK(streams[0].length == streams[1].length && streams[0].frequency == streams[1].frequency);
    CHECK(memcmp(streams[0].values, streams[1].values, 8 * streams[0].length) == 0);
  }
  hbbp_cancel_destroy(calls[1].cancel);
  for (size_t i = 0; i < 2; ++i) hbbp_probe_destroy(probes[i]);
  hbbp_analysis_destroy(analysis);
  hbbp_feed_destroy(feed);
}

/* A run that is cancelled goes on where it ended. */
static void test_cancelled(void) {
  hbbp_feed *feed = new_feed(HBBP_MIN_KEPT_BURST_BYTES);
  add_burst(feed, 3, 10);
  add_burst(feed, 2, 20);
  hbbp_analysis *analysis = analyze(feed);
  struct calls calls = {0};
  CHECK_OK(hbbp_cancel_create(&calls.cancel, &error));
  hbbp_probe *probe =
      new_probe("calls: proc_call => count(pc); call made, null\n", &on_call, &calls);
  uint64_t progress = 0;
  HBBP_INIT(hbbp_work_options, work);
  work.cancel = calls.cancel;
  work.progress = &count_progress_calls;
  work.user_data = &progress;
  uint64_t next = 77;
  CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
              hbbp_probe_run(probe, analysis, 0, &work, &next, &error));
  CHECK(next == 1 && calls.count == 3 && progress > 0);
  CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
              hbbp_probe_run(probe, analysis, next, &work, &next, &error));
  CHECK(next == 1 && calls.count == 3);
  CHECK_OK(hbbp_probe_run(probe, analysis, next, NULL, &next, &error));
  CHECK(next == 2 && row_of(probe, 0, 0).records == 5);
  hbbp_probe_destroy(probe);
  hbbp_cancel_destroy(calls.cancel);
  hbbp_analysis_destroy(analysis);
  hbbp_feed_destroy(feed);
}

static hbbp_probe_answer run_in_handler(const hbbp_probe_call *call, void *user_data) {
  struct calls *calls = user_data;
  ++calls->count;
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "running",
              hbbp_probe_run(calls->probe, calls->analysis, 0, NULL, NULL, &error));
  check_function(calls->probe, call->target, "callee");
  return HBBP_PROBE_GO_ON;
}

static void test_run_in_handler(void) {
  hbbp_feed *feed = new_feed(HBBP_MIN_KEPT_BURST_BYTES);
  add_burst(feed, 2, 10);
  struct calls calls = {.analysis = analyze(feed)};
  calls.probe = new_probe("calls: proc_call => call, null\n", &run_in_handler, &calls);
  CHECK_OK(hbbp_probe_run(calls.probe, calls.analysis, 0, NULL, NULL, &error));
  CHECK(calls.count == 2);
  hbbp_probe_destroy(calls.probe);
  hbbp_analysis_destroy(calls.analysis);
  hbbp_feed_destroy(feed);
}

/* A program that probes itself ---------------------------------------------------------------- */

static volatile unsigned sum, other_sum;

__attribute__((noinline)) void often(void) { sum = sum * 3 + 1; }
__attribute__((noinline)) void seldom(void) { other_sum = other_sum * 5 + 1; }

__attribute__((noinline)) void busy(unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    for (unsigned k = 0; k < 9; ++k) often();
    seldom();
  }
}

struct own_calls {
  const hbbp_probe *probe;
  uint64_t often, seldom;
};

static hbbp_probe_answer on_own_call(const hbbp_probe_call *call, void *user_data) {
  struct own_calls *calls = user_data;
  HBBP_INIT(hbbp_probe_location, location);
  if (hbbp_probe_locate(calls->probe, call->target, &location, NULL) != HBBP_OK) {
    return HBBP_PROBE_GO_ON;
  }
  calls->often += strcmp(location.name, "often") == 0;
  calls->seldom += strcmp(location.name, "seldom") == 0;
  return HBBP_PROBE_GO_ON;
}

/* Returns the estimate of calls of a function. */
static double estimate_of(const hbbp_probe *probe, const char *name) {
  double estimate = 0;
  for (size_t i = 0; i < hbbp_probe_row_count(probe, 0); ++i) {
    const hbbp_probe_row row = row_of(probe, 0, i);
    HBBP_INIT(hbbp_probe_location, target);
    if (hbbp_probe_locate(probe, row.values[1], &target, NULL) != HBBP_OK) continue;
    if (strcmp(target.name, name) == 0) estimate += row.estimate;
  }
  return estimate;
}

/* Returns NULL if branches cannot be traced here. */
static hbbp_session *start_session(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_SWBT;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 500000;
  options.kept_burst_bytes = 1 << 20;
  HBBP_INIT(hbbp_error, failure);
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  if (hbbp_session_start(session, &failure) != HBBP_OK) {
    fprintf(stderr, "skipped: %s\n", failure.message);
    hbbp_session_destroy(session);
    return NULL;
  }
  return session;
}

/* Probes the bursts since the last snapshot. */
static void probe_snapshot(hbbp_session *session, hbbp_probe *probe, uint64_t *next) {
  HBBP_INIT(hbbp_error, failure);
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  const hbbp_status status = hbbp_probe_run(probe, analysis, *next, NULL, next, &failure);
  CHECK(status == HBBP_OK || status == HBBP_ERROR_NOT_FOUND);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
}

/* Runs and probes in turns, until there are some bursts of the work. */
static int probe_itself(void) {
  enum { BURSTS = 20, MAX_TURNS = 2000 };
  hbbp_session *session = start_session();
  if (session == NULL) return SKIPPED;
  struct own_calls calls = {0};
  hbbp_probe *probe =
      new_probe("use call-pairs\nown: proc_call && direct => call, null\n", &on_own_call, &calls);
  calls.probe = probe;
  uint64_t next = 0;
  for (int turn = 0; turn < MAX_TURNS && next < BURSTS; ++turn) {
    busy(200000);
    probe_snapshot(session, probe, &next);
  }
  CHECK_OK(hbbp_session_stop(session, &error));
  hbbp_session_destroy(session);
  CHECK(next >= BURSTS);
  const double of_often = estimate_of(probe, "often"), of_seldom = estimate_of(probe, "seldom");
  printf("%llu bursts; often %.0f and %llu calls, seldom %.0f and %llu\n", (unsigned long long)next,
         of_often, (unsigned long long)calls.often, of_seldom, (unsigned long long)calls.seldom);
  CHECK(of_often > 5 * of_seldom && of_often < 15 * of_seldom);
  CHECK(calls.often > 5 * calls.seldom && calls.often < 15 * calls.seldom);
  hbbp_probe_destroy(probe);
  return 0;
}

enum { MAX_CALLERS = 2 };
typedef void (*work)(void);
static _Atomic int ends;

__attribute__((noinline)) void work_often(void) {
  for (unsigned i = 0; i < 10000; ++i) often();
}

__attribute__((noinline)) void work_seldom(void) {
  for (unsigned i = 0; i < 10000; ++i) seldom();
}

static void *run_work(void *of_thread) {
  while (!ends) (*(work *)of_thread)();
  return NULL;
}

struct thread_calls {
  const hbbp_probe *probe;
  uint64_t threads[MAX_CALLERS]; /* a bit for each index of a thread */
};

static hbbp_probe_answer on_thread_call(const hbbp_probe_call *call, void *user_data) {
  struct thread_calls *calls = user_data;
  HBBP_INIT(hbbp_probe_location, location);
  CHECK(call->thread < 64);
  if (hbbp_probe_locate(calls->probe, call->target, &location, NULL) != HBBP_OK) {
    return HBBP_PROBE_GO_ON;
  }
  if (strcmp(location.name, "often") == 0) calls->threads[0] |= UINT64_C(1) << call->thread;
  if (strcmp(location.name, "seldom") == 0) calls->threads[1] |= UINT64_C(1) << call->thread;
  return HBBP_PROBE_GO_ON;
}

/* Two threads call a function each: no burst has calls of both. */
static void probe_threads(void) {
  hbbp_session *session = start_session();
  if (session == NULL) return;
  struct thread_calls calls = {0};
  hbbp_probe *probe =
      new_probe("own: proc_call && direct => call, null\n", &on_thread_call, &calls);
  calls.probe = probe;
  work works[MAX_CALLERS] = {&work_often, &work_seldom};
  pthread_t threads[MAX_CALLERS];
  for (size_t i = 0; i < MAX_CALLERS; ++i) {
    CHECK(pthread_create(&threads[i], NULL, &run_work, &works[i]) == 0);
  }
  uint64_t next = 0;
  for (int turn = 0; turn < 2000 && (calls.threads[0] == 0 || calls.threads[1] == 0); ++turn) {
    const struct timespec pause = {0, 10000000};
    nanosleep(&pause, NULL);
    probe_snapshot(session, probe, &next);
  }
  ends = 1;
  for (size_t i = 0; i < MAX_CALLERS; ++i) pthread_join(threads[i], NULL);
  CHECK_OK(hbbp_session_stop(session, &error));
  hbbp_session_destroy(session);
  CHECK(calls.threads[0] != 0 && calls.threads[1] != 0);
  CHECK((calls.threads[0] & calls.threads[1]) == 0);
  hbbp_probe_destroy(probe);
}

/* The worker -------------------------------------------------------------------------------- */

struct worker_calls {
  hbbp_probe *probe;
  pthread_t host;
  struct own_calls own;
  _Atomic uint64_t count;
};

static hbbp_probe_answer on_worker_call(const hbbp_probe_call *call, void *user_data) {
  struct worker_calls *calls = user_data;
  CHECK(!pthread_equal(pthread_self(), calls->host));
  if (calls->count == 0) {
    CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "handler", hbbp_probe_stop(calls->probe, &error));
  }
  const hbbp_probe_answer answer = on_own_call(call, &calls->own);
  ++calls->count;
  return answer;
}

/* Works until the handler was called so often. */
static void work_for_calls(struct worker_calls *calls, uint64_t count) {
  for (int turn = 0; turn < 5000 && calls->count < count; ++turn) busy(100000);
  CHECK(calls->count >= count);
}

static void check_refusals(hbbp_probe *probe, hbbp_session *session) {
  HBBP_INIT(hbbp_probe_info, info);
  HBBP_INIT(hbbp_probe_table, table);
  HBBP_INIT(hbbp_probe_row, row);
  size_t copied = 0;
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "worker", hbbp_probe_start(probe, session, 0, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "worker", hbbp_probe_get_info(probe, &info, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "worker",
              hbbp_probe_copy_tables(probe, 0, 1, sizeof(table), &table, &copied, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "worker",
              hbbp_probe_copy_rows(probe, 0, 0, 1, sizeof(row), &row, &copied, &error));
  CHECK(hbbp_probe_row_count(probe, 0) == 0 && hbbp_probe_stream_count(probe, 0) == 0);
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "worker",
              hbbp_probe_run(probe, analysis, 0, NULL, NULL, &error));
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
}

/* A child of fork has no worker. If that was in a round, the child cannot use the probe. */
static void check_child(hbbp_probe *probe) {
  HBBP_INIT(hbbp_probe_info, info);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const hbbp_status stopped = hbbp_probe_stop(probe, NULL);
    const hbbp_status read = hbbp_probe_get_info(probe, &info, NULL);
    hbbp_probe_destroy(probe);
    const int is_expected =
        (stopped == HBBP_OK || stopped == HBBP_ERROR_INVALID_STATE) && read == stopped;
    _exit(is_expected ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void test_worker_options(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EXTERNAL;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  hbbp_probe *probe = new_probe("use call-pairs", NULL, NULL);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "probe", hbbp_probe_start(NULL, session, 0, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "session", hbbp_probe_start(probe, NULL, 0, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "interval_ms",
              hbbp_probe_start(probe, session, 3600001, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "probe", hbbp_probe_stop(NULL, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "no worker", hbbp_probe_stop(probe, &error));
  /* It has no bursts, and an hour is not waited for. */
  CHECK_OK(hbbp_probe_start(probe, session, 3600000, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "burst", hbbp_probe_stop(probe, &error));
  CHECK_OK(hbbp_probe_start(probe, session, 1, &error));
  hbbp_probe_destroy(probe);
  hbbp_session_destroy(session);
}

static void test_worker(void) {
  hbbp_session *session = start_session();
  if (session == NULL) return;
  struct worker_calls calls = {.host = pthread_self()};
  hbbp_probe *probe = calls.probe = new_probe(
      "use call-pairs\nown: proc_call && direct => call, null\n", &on_worker_call, &calls);
  calls.own.probe = probe;
  CHECK_OK(hbbp_probe_start(probe, session, 20, &error));
  work_for_calls(&calls, 2000);
  check_refusals(probe, session);
  for (int i = 0; i < 20; ++i) {
    check_child(probe);
    busy(50000);
  }
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK_OK(hbbp_probe_stop(probe, &error));
  HBBP_INIT(hbbp_probe_info, info);
  HBBP_INIT(hbbp_session_info, session_info);
  CHECK_OK(hbbp_probe_get_info(probe, &info, &error));
  CHECK_OK(hbbp_session_get_info(session, &session_info, &error));
  CHECK(info.bursts > 0 && info.bursts + info.not_kept == session_info.samples);
  CHECK(estimate_of(probe, "often") > 5 * estimate_of(probe, "seldom"));
  CHECK(calls.own.often > 5 * calls.own.seldom && calls.own.often < 15 * calls.own.seldom);
  /* All bursts of a session are new to another worker. */
  CHECK_OK(hbbp_probe_start(probe, session, 20, &error));
  CHECK_OK(hbbp_probe_stop(probe, &error));
  const uint64_t bursts = info.bursts;
  CHECK_OK(hbbp_probe_get_info(probe, &info, &error));
  CHECK(info.bursts == 2 * bursts);
  hbbp_probe_destroy(probe);
  hbbp_session_destroy(session);
}

static long count_threads(void) {
  struct stat threads;
  CHECK(stat("/proc/self/task", &threads) == 0);
  return (long)threads.st_nlink;
}

static hbbp_probe_answer destroy_in_handler(const hbbp_probe_call *call, void *user_data) {
  struct worker_calls *calls = user_data;
  (void)call;
  if (calls->probe != NULL) hbbp_probe_destroy(calls->probe);
  calls->probe = NULL;
  ++calls->count;
  return HBBP_PROBE_GO_ON;
}

/* The worker may be in a handler whenever the host, or the handler, destroys the probe. */
static void test_destruction_of_worker(void) {
  hbbp_session *session = start_session();
  if (session == NULL) return;
  for (int i = 0; i < 10; ++i) {
    struct worker_calls calls = {.host = pthread_self()};
    hbbp_probe *probe = calls.probe =
        new_probe("own: proc_call && direct => call, null\n", &on_worker_call, &calls);
    calls.own.probe = probe;
    CHECK_OK(hbbp_probe_start(probe, session, 1, &error));
    work_for_calls(&calls, 1);
    hbbp_probe_destroy(probe);
  }
  const long threads = count_threads();
  static struct worker_calls calls; /* the worker may go on for a moment */
  calls.probe = new_probe("own: proc_call => call, null\n", &destroy_in_handler, &calls);
  CHECK_OK(hbbp_probe_start(calls.probe, session, 1, &error));
  work_for_calls(&calls, 1);
  const struct timespec moment = {0, 10000000};
  for (int i = 0; i < 6000 && count_threads() > threads; ++i) nanosleep(&moment, NULL);
  CHECK(count_threads() <= threads);
  CHECK_OK(hbbp_session_stop(session, &error));
  hbbp_session_destroy(session);
}

/* The process ends although the workers of a session and of a probe are there. */
static void test_end_of_main_thread(void) {
  fflush(stdout); /* which the child does not write again */
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    hbbp_session *session = start_session();
    hbbp_probe *probe = new_probe("use call-pairs", NULL, NULL);
    if (session == NULL || hbbp_probe_start(probe, session, 3600000, NULL) != HBBP_OK) _exit(0);
    pthread_exit(NULL);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  test_options();
  test_builtins();
  test_taxonomy();
  test_results();
  test_lists();
  test_refused_profiles();
  test_handler();
  test_stopped_burst();
  test_cancelled();
  test_cancelled_trace();
  test_run_in_handler();
  const int skipped = probe_itself();
  probe_threads();
  test_worker_options();
  test_worker();
  test_destruction_of_worker();
  test_end_of_main_thread();
  const int failed = end_of_checks();
  return failed != 0 ? failed : skipped;
}
