/* Tests structs of hosts that were compiled with other headers: every function that reads or writes
 * one accepts shorter ones and longer ones by the rules of docs/reference/abi.md, and touches
 * nothing after them. check_sizes_tested.py checks that no function is missing here. usage:
 * struct_sizes_test PROFILE PERF_SCRIPT PROFILE has sources of all kinds, threads, modules and
 * slices. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <hbbp/hbbp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { UNTOUCHED = 0xa5, LARGEST = 4096, PAGE = 4096 };

static int failures = 0;
static int checks = 0;

static void check(int holds, const char *function, size_t size, const char *what) {
  ++checks;
  if (holds) return;
  fprintf(stderr, "%s with %zu bytes: %s\n", function, size, what);
  ++failures;
}

static void require(hbbp_status status, const char *what) {
  if (status == HBBP_OK) return;
  fprintf(stderr, "%s: %s\n", what, hbbp_status_name(status));
  exit(1);
}

/* Returns `size` bytes in front of memory that cannot be accessed. */
static unsigned char *at_the_edge(size_t size) {
  static unsigned char *edge = NULL;
  if (edge == NULL) {
    unsigned char *pages =
        mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + 2 * PAGE, PAGE, PROT_NONE) != 0) exit(1);
    edge = pages + 2 * PAGE;
  }
  return edge - size;
}

static int all_are(const unsigned char *bytes, size_t count, unsigned char value) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] != value) return 0;
  }
  return 1;
}

static void set_size(void *bytes, size_t size) {
  const uint32_t struct_size = (uint32_t)size;
  memcpy(bytes, &struct_size, sizeof(struct_size));
}

/* Arguments of the functions. */
static hbbp_capabilities *capabilities;
static hbbp_session *session; /* never started */
static hbbp_feed *feed;
static hbbp_profile *fed;     /* of a loop, which is generated code, and IBS */
static hbbp_profile *loaded;  /* the file */
static hbbp_analysis *of_fed; /* and of the file: */
static hbbp_analysis *of_loaded;
static hbbp_loops *loops;
static hbbp_mix *mix;
static hbbp_pivot *pivot;
static hbbp_probe *probe;    /* of `fed` */
static uint64_t code_number; /* of its loop */
static hbbp_ratios *ratios;
static uint32_t code_module; /* of `fed` */
static hbbp_error error;

/* Structs that are filled ----------------------------------------------------------------- */

typedef hbbp_status (*fill_function)(void *output);

static void test_output(const char *function, size_t known, fill_function fill) {
  unsigned char full[LARGEST];
  memset(full, UNTOUCHED, sizeof(full));
  set_size(full, known);
  check(fill(full) == HBBP_OK, function, known, error.message);
  for (size_t size = 8; size < known; size += 8) {
    unsigned char *shorter = at_the_edge(size);
    memset(shorter, UNTOUCHED, size);
    set_size(shorter, size);
    check(fill(shorter) == HBBP_OK, function, size, error.message);
    set_size(full, size);
    check(memcmp(shorter, full, size) == 0, function, size, "not the beginning of the whole");
  }
  const size_t longer[] = {known + 8, known + 64, LARGEST};
  for (size_t i = 0; i < sizeof(longer) / sizeof(*longer); ++i) {
    unsigned char *bytes = at_the_edge(longer[i]);
    memset(bytes, UNTOUCHED, longer[i]);
    set_size(bytes, longer[i]);
    check(fill(bytes) == HBBP_OK, function, longer[i], error.message);
    set_size(full, longer[i]);
    check(memcmp(bytes, full, known) == 0, function, longer[i], "another beginning");
    check(all_are(bytes + known, longer[i] - known, 0), function, longer[i],
          "what is not known is not 0");
  }
  const size_t refused[] = {0, 4, LARGEST + 8};
  for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); ++i) {
    unsigned char *bytes = at_the_edge(8);
    memset(bytes, UNTOUCHED, 8);
    set_size(bytes, refused[i]);
    check(fill(bytes) == HBBP_ERROR_INVALID_ARGUMENT, function, refused[i], "not refused");
    check(strstr(error.message, "struct_size") != NULL, function, refused[i], error.message);
    check(all_are(bytes + 4, 4, UNTOUCHED), function, refused[i], "written to");
  }
}

#define OUTPUT(type, function, ...)                                                     \
  static hbbp_status fill_by_##function(void *output) { return function(__VA_ARGS__); } \
  static void test_##function(void) { test_output(#function, sizeof(type), fill_by_##function); }

OUTPUT(hbbp_event_code, hbbp_event_find, "r20c4", output, &error)
OUTPUT(hbbp_session_info, hbbp_session_get_info, session, output, &error)
OUTPUT(hbbp_feed_info, hbbp_feed_get_info, feed, output, &error)
OUTPUT(hbbp_profile_info, hbbp_profile_get_info, loaded, output, &error)
OUTPUT(hbbp_analysis_info, hbbp_analysis_get_info, of_fed, output, &error)
OUTPUT(hbbp_block, hbbp_analysis_find_block, of_fed, code_module, 0x7000, output, &error)
OUTPUT(hbbp_instruction, hbbp_analysis_decode, of_fed, code_module, 0x7000, output, &error)
OUTPUT(hbbp_disassembly, hbbp_analysis_disassemble, of_fed, code_module, 0x7001, output, &error)
OUTPUT(hbbp_pivot_label, hbbp_pivot_get_label, pivot, HBBP_PIVOT_ROWS, 0, 0, output, &error)
OUTPUT(hbbp_pivot_cell, hbbp_pivot_get_cell, pivot, 0, HBBP_PIVOT_ALL, 0, output, &error)
OUTPUT(hbbp_probe_info, hbbp_probe_get_info, probe, output, &error)
OUTPUT(hbbp_probe_location, hbbp_probe_locate, probe, code_number, output, &error)

/* Arrays that are filled ------------------------------------------------------------------ */

typedef hbbp_status (*copy_function)(size_t count, size_t size, void *output, size_t *copied);

/* Copies the first element, and the second if there is one. */
static void test_output_array(const char *function, size_t known, copy_function copy) {
  unsigned char full[2 * LARGEST];
  size_t copied = 0;
  memset(full, UNTOUCHED, sizeof(full));
  check(copy(2, LARGEST, full, &copied) == HBBP_OK, function, LARGEST, error.message);
  check(copied >= 1 && copied <= 2, function, LARGEST, "nothing to copy");
  for (size_t size = 8; size <= known + 64; size += 8) {
    size_t again = 0;
    unsigned char *bytes = at_the_edge(copied * size);
    memset(bytes, UNTOUCHED, copied * size);
    check(copy(copied, size, bytes, &again) == HBBP_OK, function, size, error.message);
    check(again == copied, function, size, "not as many");
    for (size_t i = 0; i < copied; ++i) {
      set_size(full + i * LARGEST, size);
      check(memcmp(bytes + i * size, full + i * LARGEST, size) == 0, function, size,
            "not the beginning of the whole");
    }
  }
  const size_t refused[] = {0, 4, 12, LARGEST + 8};
  for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); ++i) {
    unsigned char *bytes = at_the_edge(8);
    memset(bytes, UNTOUCHED, 8);
    check(copy(1, refused[i], bytes, &copied) == HBBP_ERROR_INVALID_ARGUMENT, function, refused[i],
          "not refused");
    check(all_are(bytes, 8, UNTOUCHED), function, refused[i], "written to");
  }
}

/* The arguments after the function are the handle, and the source or table if each has a list. */
#define OUTPUT_ARRAY(type, function, ...)                                                          \
  static hbbp_status copy_by_##function(size_t count, size_t size, void *output, size_t *copied) { \
    return function(__VA_ARGS__, 0, count, size, output, copied, &error);                          \
  }                                                                                                \
  static void test_##function(void) {                                                              \
    test_output_array(#function, sizeof(type), copy_by_##function);                                \
  }

OUTPUT_ARRAY(hbbp_capability, hbbp_capabilities_copy, capabilities)
OUTPUT_ARRAY(hbbp_source_info, hbbp_profile_copy_sources, loaded)
OUTPUT_ARRAY(hbbp_counter, hbbp_profile_copy_counters, loaded, 2)
OUTPUT_ARRAY(hbbp_thread, hbbp_profile_copy_threads, loaded)
OUTPUT_ARRAY(hbbp_module, hbbp_profile_copy_modules, loaded)
OUTPUT_ARRAY(hbbp_slice, hbbp_profile_copy_slices, loaded)
OUTPUT_ARRAY(hbbp_ibs_bucket, hbbp_profile_copy_ibs_buckets, fed)
OUTPUT_ARRAY(hbbp_ibs_line, hbbp_profile_copy_ibs_lines, fed)
OUTPUT_ARRAY(hbbp_block, hbbp_analysis_copy_blocks, of_fed)
OUTPUT_ARRAY(hbbp_function, hbbp_analysis_copy_functions, of_fed)
OUTPUT_ARRAY(hbbp_block, hbbp_analysis_copy_hottest_blocks, of_fed, HBBP_ORDER_INSTRUCTIONS)
OUTPUT_ARRAY(hbbp_function, hbbp_analysis_copy_hottest_functions, of_fed, HBBP_ORDER_SAMPLES)
OUTPUT_ARRAY(hbbp_branch, hbbp_analysis_copy_branches, of_fed)
OUTPUT_ARRAY(hbbp_module_result, hbbp_analysis_copy_modules, of_loaded)
OUTPUT_ARRAY(hbbp_source_result, hbbp_analysis_copy_sources, of_loaded)
OUTPUT_ARRAY(hbbp_counter, hbbp_analysis_copy_unexplained_reasons, of_loaded, 0)
OUTPUT_ARRAY(hbbp_ip_sum, hbbp_analysis_copy_ip_sums, of_fed)
OUTPUT_ARRAY(hbbp_ibs_sum, hbbp_analysis_copy_ibs_sums, of_fed)
OUTPUT_ARRAY(hbbp_ibs_latency, hbbp_analysis_copy_ibs_latencies, of_fed)
OUTPUT_ARRAY(hbbp_ibs_object, hbbp_analysis_copy_ibs_objects, of_fed)
OUTPUT_ARRAY(hbbp_mix_row, hbbp_mix_copy_rows, mix)
OUTPUT_ARRAY(hbbp_ratio, hbbp_ratios_copy, ratios)
OUTPUT_ARRAY(hbbp_loop, hbbp_loops_copy, loops)
OUTPUT_ARRAY(hbbp_probe_production, hbbp_probe_copy_productions, probe)
OUTPUT_ARRAY(hbbp_probe_table, hbbp_probe_copy_tables, probe)
OUTPUT_ARRAY(hbbp_probe_field, hbbp_probe_copy_fields, probe, 0)
OUTPUT_ARRAY(hbbp_probe_row, hbbp_probe_copy_rows, probe, 0)
OUTPUT_ARRAY(hbbp_probe_stream, hbbp_probe_copy_streams, probe, 1)

static hbbp_status copy_by_hbbp_export_copy_formats(size_t count, size_t size, void *output,
                                                    size_t *copied) {
  return hbbp_export_copy_formats(0, count, size, output, copied, &error);
}

static void test_hbbp_export_copy_formats(void) {
  test_output_array("hbbp_export_copy_formats", sizeof(hbbp_export_format),
                    copy_by_hbbp_export_copy_formats);
}

/* Structs that are read ------------------------------------------------------------------- */

typedef hbbp_status (*read_function)(const void *input);

/* `example` is valid. Bytes that are cut off must count as 0, whatever their values. */
static void test_input(const char *function, const void *example, size_t known,
                       read_function read_input) {
  unsigned char whole[LARGEST + 8];
  memset(whole, 0, sizeof(whole));
  memcpy(whole, example, known);
  set_size(whole, known);
  check(read_input(whole) == HBBP_OK, function, known, error.message);
  for (size_t size = known - 8; size >= 8; size -= 8) {
    memset(whole + size, 0, 8);
    const hbbp_status expected = read_input(whole);
    unsigned char *shorter = at_the_edge(size);
    memcpy(shorter, whole, size);
    set_size(shorter, size);
    check(read_input(shorter) == expected, function, size, "differs from a tail of 0");
  }
  for (size_t size = known + 8; size <= LARGEST; size *= 2) {
    unsigned char *longer = at_the_edge(size);
    memset(longer, 0, size);
    memcpy(longer, example, known);
    set_size(longer, size);
    check(read_input(longer) == HBBP_OK, function, size, error.message);
    longer[size - 1] = 1;
    check(read_input(longer) == HBBP_ERROR_VERSION, function, size, "takes what it does not know");
    check(strstr(error.message, "does not know") != NULL, function, size, error.message);
  }
  const size_t refused[] = {0, 4, LARGEST + 8};
  for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); ++i) {
    set_size(whole, refused[i]);
    check(read_input(whole) == HBBP_ERROR_INVALID_ARGUMENT, function, refused[i], "not refused");
    check(strstr(error.message, "struct_size") != NULL, function, refused[i], error.message);
  }
}

#define INPUT(name, function, ...) \
  static hbbp_status read_by_##name(const void *input) { return function(__VA_ARGS__); }

/* Tests a function that makes a handle at &created. */
#define INPUT_OF_NEW(name, handle, destroy, function, ...) \
  static hbbp_status read_by_##name(const void *input) {   \
    handle *created = NULL;                                \
    const hbbp_status status = function(__VA_ARGS__);      \
    destroy(created);                                      \
    return status;                                         \
  }

static const char *file;   /* of a profile */
static const char *script; /* text of perf script */
static hbbp_pivot_query any_query = {.struct_size = sizeof(any_query)};
static hbbp_selection any_selection = {
    .struct_size = sizeof(any_selection), .parts = HBBP_SELECT_SLICE, .slice = 0};

INPUT_OF_NEW(hbbp_session_create, hbbp_session, hbbp_session_destroy, hbbp_session_create, input,
             &created, &error)
INPUT_OF_NEW(hbbp_feed_create, hbbp_feed, hbbp_feed_destroy, hbbp_feed_create, input, &created,
             &error)
INPUT_OF_NEW(hbbp_profile_import, hbbp_profile, hbbp_profile_destroy, hbbp_profile_import, script,
             input, NULL, &created, &error)
INPUT_OF_NEW(hbbp_profile_select, hbbp_profile, hbbp_profile_destroy, hbbp_profile_select, loaded,
             input, NULL, &created, &error)
INPUT_OF_NEW(hbbp_merger_create, hbbp_merger, hbbp_merger_destroy, hbbp_merger_create, input,
             &created, &error)
INPUT_OF_NEW(hbbp_analysis_create, hbbp_analysis, hbbp_analysis_destroy, hbbp_analysis_create, fed,
             input, NULL, &created, &error)
INPUT_OF_NEW(hbbp_pivot_create, hbbp_pivot, hbbp_pivot_destroy, hbbp_pivot_create, of_fed, input,
             NULL, &created, &error)
INPUT_OF_NEW(hbbp_probe_create, hbbp_probe, hbbp_probe_destroy, hbbp_probe_create, input, &created,
             &error)
INPUT(hbbp_session_add_code, hbbp_session_add_code, session, input, &error)
INPUT(hbbp_session_add_data, hbbp_session_add_data, session, input, &error)
INPUT(hbbp_feed_add_source, hbbp_feed_add_source, feed, input, NULL, &error)

/* These take the hbbp_work_options of each function that may take long. */
INPUT_OF_NEW(work_of_session, hbbp_profile, hbbp_profile_destroy, hbbp_session_snapshot, session,
             input, &created, &error)
INPUT_OF_NEW(work_of_feed, hbbp_profile, hbbp_profile_destroy, hbbp_feed_snapshot, feed, input,
             &created, &error)
INPUT_OF_NEW(work_of_load, hbbp_profile, hbbp_profile_destroy, hbbp_profile_load, file, input,
             &created, &error)
INPUT_OF_NEW(work_of_import, hbbp_profile, hbbp_profile_destroy, hbbp_profile_import, script, NULL,
             input, &created, &error)
INPUT_OF_NEW(work_of_merge, hbbp_profile, hbbp_profile_destroy, hbbp_profile_merge,
             (const hbbp_profile *const *)&loaded, 1, input, &created, &error)
INPUT_OF_NEW(work_of_select, hbbp_profile, hbbp_profile_destroy, hbbp_profile_select, loaded,
             &any_selection, input, &created, &error)
INPUT_OF_NEW(work_of_analysis, hbbp_analysis, hbbp_analysis_destroy, hbbp_analysis_create, fed,
             NULL, input, &created, &error)
INPUT_OF_NEW(work_of_mix, hbbp_mix, hbbp_mix_destroy, hbbp_mix_create, of_fed, 0, input, &created,
             &error)
INPUT_OF_NEW(work_of_pivot, hbbp_pivot, hbbp_pivot_destroy, hbbp_pivot_create, of_fed, &any_query,
             input, &created, &error)
INPUT_OF_NEW(work_of_ratios, hbbp_ratios, hbbp_ratios_destroy, hbbp_ratios_create, of_fed, NULL,
             NULL, input, &created, &error)
INPUT_OF_NEW(work_of_loops, hbbp_loops, hbbp_loops_destroy, hbbp_loops_create, of_fed, input,
             &created, &error)

INPUT(work_of_probe, hbbp_probe_run, probe, of_fed, 0, input, NULL, &error)

static void test_work(const char *function, read_function read_input) {
  HBBP_INIT(hbbp_work_options, options);
  test_input(function, &options, sizeof(options), read_input);
}

static void test_hbbp_session_snapshot(void) {
  test_work("hbbp_session_snapshot", read_by_work_of_session);
}

static void test_hbbp_feed_snapshot(void) { test_work("hbbp_feed_snapshot", read_by_work_of_feed); }

static void test_hbbp_profile_load(void) { test_work("hbbp_profile_load", read_by_work_of_load); }

static char saved_path[512];

static hbbp_status read_by_save(const void *input) {
  return hbbp_profile_save(loaded, saved_path, input, &error);
}

static void test_hbbp_profile_save(void) {
  const char *const temporary = getenv("TMPDIR");
  snprintf(saved_path, sizeof(saved_path), "%s/hbbp-sizes-%d",
           temporary != NULL ? temporary : "/tmp", (int)getpid());
  test_work("hbbp_profile_save", read_by_save);
  remove(saved_path);
}

static void test_hbbp_profile_merge(void) {
  test_work("hbbp_profile_merge", read_by_work_of_merge);
}

static void test_hbbp_merger_create(void) {
  HBBP_INIT(hbbp_merger_options, options);
  test_input("hbbp_merger_create", &options, sizeof(options), read_by_hbbp_merger_create);
}

static hbbp_status read_by_merger_add(const void *input) {
  hbbp_merger *merger = NULL;
  hbbp_merger_create(NULL, &merger, &error);
  const hbbp_status status = hbbp_merger_add(merger, loaded, input, &error);
  hbbp_merger_destroy(merger);
  return status;
}

static void test_hbbp_merger_add(void) { test_work("hbbp_merger_add", read_by_merger_add); }

static hbbp_status read_by_merger_finish(const void *input) {
  hbbp_merger *merger = NULL;
  hbbp_profile *created = NULL;
  hbbp_merger_create(NULL, &merger, &error);
  hbbp_merger_add(merger, loaded, NULL, &error);
  const hbbp_status status = hbbp_merger_finish(merger, input, &created, &error);
  hbbp_profile_destroy(created);
  hbbp_merger_destroy(merger);
  return status;
}

static void test_hbbp_merger_finish(void) {
  test_work("hbbp_merger_finish", read_by_merger_finish);
}

static void test_hbbp_mix_create(void) { test_work("hbbp_mix_create", read_by_work_of_mix); }

static void test_hbbp_ratios_create(void) {
  test_work("hbbp_ratios_create", read_by_work_of_ratios);
}

static void test_hbbp_loops_create(void) { test_work("hbbp_loops_create", read_by_work_of_loops); }

static void test_hbbp_probe_run(void) { test_work("hbbp_probe_run", read_by_work_of_probe); }

static int32_t write_nothing(const void *bytes, size_t size, void *user_data) {
  (void)bytes;
  (void)user_data;
  return size == 0;
}

INPUT(hbbp_export, hbbp_export, of_fed, "profgen", input, NULL, write_nothing, NULL, &error)
INPUT(work_of_export, hbbp_export, of_fed, "profgen", NULL, input, write_nothing, NULL, &error)

static void test_hbbp_export(void) {
  HBBP_INIT(hbbp_export_options, options);
  test_input("hbbp_export", &options, sizeof(options), read_by_hbbp_export);
  test_work("hbbp_export", read_by_work_of_export);
}

static void call_nothing(void *user_data) { (void)user_data; }

static hbbp_status read_by_call(const void *input) {
  hbbp_profile *made = NULL;
  const hbbp_status status = hbbp_profile_call(call_nothing, NULL, input, &made, &error);
  hbbp_profile_destroy(made);
  return status;
}

static void test_hbbp_profile_call(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_SWBT;
  options.slice_ns = HBBP_MIN_SLICE_NS;
  test_input("hbbp_profile_call", &options, sizeof(options), read_by_call);
}

static void test_hbbp_session_create(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_SWBT;
  options.period = 12345;
  options.burst_branches = 100;
  options.slice_ns = HBBP_MIN_SLICE_NS;
  test_input("hbbp_session_create", &options, sizeof(options), read_by_hbbp_session_create);
}

/* The options of a session, a feed and an import point to it. */
static const hbbp_allocator *given_allocator;

static hbbp_status read_allocator(const void *input) {
  given_allocator = input;
  HBBP_INIT(hbbp_feed_options, options);
  options.allocator = given_allocator;
  hbbp_feed *created = NULL;
  const hbbp_status status = hbbp_feed_create(&options, &created, &error);
  hbbp_feed_destroy(created);
  return status;
}

static void *allocate(size_t size, size_t alignment, void *user_data) {
  (void)user_data;
  void *memory = NULL;
  return posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) == 0
             ? memory
             : NULL;
}

static void deallocate(void *memory, size_t size, size_t alignment, void *user_data) {
  (void)size;
  (void)alignment;
  (void)user_data;
  free(memory);
}

static void test_hbbp_feed_create(void) {
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_ADDED;
  options.command = "a command";
  options.slice_ns = HBBP_MIN_SLICE_NS;
  test_input("hbbp_feed_create", &options, sizeof(options), read_by_hbbp_feed_create);
  const hbbp_allocator allocator = {sizeof(allocator), 0, allocate, deallocate, NULL};
  test_input("hbbp_allocator", &allocator, sizeof(allocator), read_allocator);
}

static void test_hbbp_session_add_code(void) {
  static const uint8_t code[] = {0xc3};
  HBBP_INIT(hbbp_code_region, region);
  region.address = 0x7000;
  region.size = sizeof(code);
  region.code = code;
  region.name = "f";
  test_input("hbbp_session_add_code", &region, sizeof(region), read_by_hbbp_session_add_code);
}

static void test_hbbp_session_add_data(void) {
  HBBP_INIT(hbbp_data_region, region);
  region.address = 0x7000;
  region.size = 16;
  region.name = "block";
  test_input("hbbp_session_add_data", &region, sizeof(region), read_by_hbbp_session_add_data);
}

static void test_hbbp_feed_add_source(void) {
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_CYCLES;
  source.frequency_hz = 99;
  test_input("hbbp_feed_add_source", &source, sizeof(source), read_by_hbbp_feed_add_source);
}

static hbbp_status start_nothing(void *context, hbbp_feed *of, hbbp_error *failure) {
  (void)context;
  (void)of;
  (void)failure;
  return HBBP_OK;
}

/* Its shorter forms lack functions that a source must have. */
static hbbp_status add_source_to_new(const void *input) {
  hbbp_session *created = NULL;
  require(hbbp_session_create(NULL, &created, &error), "hbbp_session_create");
  const hbbp_status status = hbbp_session_add_source(created, input, NULL, &error);
  hbbp_session_destroy(created);
  return status;
}

static void test_hbbp_session_add_source(void) {
  HBBP_INIT(hbbp_source_ops, ops);
  ops.name = "nothing";
  ops.start = start_nothing;
  ops.stop = start_nothing;
  test_input("hbbp_session_add_source", &ops, sizeof(ops), add_source_to_new);
}

static void test_hbbp_profile_import(void) {
  HBBP_INIT(hbbp_import_options, options);
  options.root = "";
  options.ebs_method = HBBP_EBS_PLAIN;
  test_input("hbbp_profile_import", &options, sizeof(options), read_by_hbbp_profile_import);
  test_work("hbbp_profile_import (work)", read_by_work_of_import);
}

static void test_hbbp_profile_select(void) {
  test_input("hbbp_profile_select", &any_selection, sizeof(any_selection),
             read_by_hbbp_profile_select);
  test_work("hbbp_profile_select (work)", read_by_work_of_select);
}

static hbbp_status create_analysis(const hbbp_analysis_options *options) {
  hbbp_analysis *created = NULL;
  const hbbp_status status = hbbp_analysis_create(fed, options, NULL, &created, &error);
  hbbp_analysis_destroy(created);
  return status;
}

static hbbp_status read_kernel_files(const void *input) {
  HBBP_INIT(hbbp_analysis_options, options);
  options.kernel = input;
  return create_analysis(&options);
}

static hbbp_status read_debug_options(const void *input) {
  HBBP_INIT(hbbp_analysis_options, options);
  options.debug = input;
  return create_analysis(&options);
}

static void test_hbbp_analysis_create(void) {
  HBBP_INIT(hbbp_analysis_options, options);
  options.estimator = HBBP_ESTIMATOR_TREE;
  test_input("hbbp_analysis_create", &options, sizeof(options), read_by_hbbp_analysis_create);
  test_work("hbbp_analysis_create (work)", read_by_work_of_analysis);
  HBBP_INIT(hbbp_kernel_files, files);
  test_input("hbbp_kernel_files", &files, sizeof(files), read_kernel_files);
  HBBP_INIT(hbbp_debug_options, debug);
  debug.debug_root = "";
  debug.user_data = &debug;
  test_input("hbbp_debug_options", &debug, sizeof(debug), read_debug_options);
}

static void test_hbbp_pivot_create(void) {
  HBBP_INIT(hbbp_pivot_query, query);
  query.rows = "function";
  query.sort = "key";
  query.top = 1;
  test_input("hbbp_pivot_create", &query, sizeof(query), read_by_hbbp_pivot_create);
  test_work("hbbp_pivot_create (work)", read_by_work_of_pivot);
}

static void test_hbbp_probe_create(void) {
  HBBP_INIT(hbbp_probe_options, options);
  options.is_exhaustive = 1;
  options.productions = "use hot-methods";
  options.max_rows = 7;
  options.min_stream_heat = 0.5;
  options.user_data = &options;
  test_input("hbbp_probe_create", &options, sizeof(options), read_by_hbbp_probe_create);
}

/* Arrays that are read -------------------------------------------------------------------- */

typedef hbbp_status (*add_function)(const void *input, size_t count, size_t size);

/* Their first version is their shortest one. */
static void test_input_array(const char *function, const void *example, size_t known, size_t first,
                             add_function add) {
  for (size_t size = first; size <= known + 64; size += 8) {
    unsigned char *elements = at_the_edge(2 * size);
    memset(elements, 0, 2 * size);
    const size_t common = size < known ? size : known;
    memcpy(elements, example, common);
    memcpy(elements + size, example, common);
    check(add(elements, 2, size) == HBBP_OK, function, size, error.message);
    if (size <= known) continue;
    elements[2 * size - 1] = 1;
    check(add(elements, 2, size) == HBBP_ERROR_VERSION, function, size,
          "takes what it does not know");
    check(strstr(error.message, "[1]") != NULL, function, size, error.message);
  }
  const size_t refused[] = {0, first - 8, first + 4, LARGEST + 8};
  for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); ++i) {
    check(add(example, 1, refused[i]) == HBBP_ERROR_INVALID_ARGUMENT, function, refused[i],
          "not refused");
  }
}

static hbbp_status add_by_hbbp_feed_add_samples(const void *input, size_t count, size_t size) {
  return hbbp_feed_add_samples(feed, 0, input, count, size, &error);
}

static void test_hbbp_feed_add_samples(void) {
  const hbbp_feed_sample sample = {.ip = 0x7000, .pid = 7, .tid = 7};
  test_input_array("hbbp_feed_add_samples", &sample, sizeof(sample), 72,
                   add_by_hbbp_feed_add_samples);
}

static hbbp_status add_by_hbbp_feed_add_events(const void *input, size_t count, size_t size) {
  return hbbp_feed_add_events(feed, input, count, size, &error);
}

static void test_hbbp_feed_add_events(void) {
  const hbbp_feed_event event = {.kind = HBBP_FEED_EXIT, .pid = 8};
  test_input_array("hbbp_feed_add_events", &event, sizeof(event), 112, add_by_hbbp_feed_add_events);
}

/* Source lines of this very program. -------------------------------------------------------- */

static hbbp_analysis *of_this_program;
static uint32_t this_module;
static uint64_t this_address;
static hbbp_line_frame one_frame;

static hbbp_status fill_range(void *output) {
  return hbbp_analysis_find_lines(of_this_program, this_module, this_address, 1, sizeof(one_frame),
                                  &one_frame, output, &error);
}

static hbbp_status copy_frames(size_t count, size_t size, void *output, size_t *copied) {
  HBBP_INIT(hbbp_line_range, range);
  const hbbp_status status = hbbp_analysis_find_lines(of_this_program, this_module, this_address,
                                                      count, size, output, &range, &error);
  if (status == HBBP_OK) *copied = range.frame_count < count ? range.frame_count : count;
  return status;
}

static void test_hbbp_analysis_find_lines(void) {
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0) exit(1);
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = 1;
  hbbp_feed *own = NULL;
  hbbp_profile *profile = NULL;
  require(hbbp_feed_create(NULL, &own, &error), "hbbp_feed_create");
  require(hbbp_feed_add_source(own, &source, NULL, &error), "hbbp_feed_add_source");
  const hbbp_feed_event mapping = {
      .kind = HBBP_FEED_MAPPING, .pid = 7, .address = 0x10000000, .size = 0x10000000, .name = path};
  const hbbp_feed_sample sample = {.pid = 7, .tid = 7, .ip = 0x10000000};
  require(hbbp_feed_add_events(own, &mapping, 1, sizeof(mapping), &error), "mapping");
  require(hbbp_feed_add_samples(own, 0, &sample, 1, sizeof(sample), &error), "sample");
  require(hbbp_feed_snapshot(own, NULL, &profile, &error), "hbbp_feed_snapshot");
  hbbp_feed_destroy(own);
  hbbp_module module;
  size_t copied = 0;
  do {
    require(hbbp_profile_copy_modules(profile, this_module, 1, sizeof(module), &module, &copied,
                                      &error),
            path);
    if (copied == 0) exit(1);
  } while (strcmp(module.path, path) != 0 && ++this_module);
  require(hbbp_analysis_create(profile, NULL, NULL, &of_this_program, &error), path);
  hbbp_profile_destroy(profile);
  extern const char __executable_start[];
  this_address =
      (uint64_t)((uintptr_t)test_hbbp_analysis_find_lines - (uintptr_t)__executable_start);
  const hbbp_status status =
      hbbp_analysis_find_lines(of_this_program, this_module, this_address, 1, sizeof(one_frame),
                               &one_frame, &(hbbp_line_range){.struct_size = 24}, &error);
  if (status == HBBP_ERROR_UNSUPPORTED) {
    printf("no libdw: source lines are not tested\n");
  } else {
    test_output("hbbp_analysis_find_lines (range)", sizeof(hbbp_line_range), fill_range);
    test_output_array("hbbp_analysis_find_lines (frames)", sizeof(hbbp_line_frame), copy_frames);
  }
  hbbp_analysis_destroy(of_this_program);
}

/* The error ------------------------------------------------------------------------------- */

static void test_hbbp_error(void) {
  const size_t message = offsetof(hbbp_error, message);
  hbbp_error whole = {.struct_size = sizeof(whole)};
  check(hbbp_session_start(NULL, &whole) == HBBP_ERROR_INVALID_ARGUMENT, "hbbp_error",
        sizeof(whole), "not refused");
  for (size_t size = message + 1; size < message + 100; ++size) {
    const size_t rounded = (size + 3) & ~(size_t)3;
    unsigned char *bytes = at_the_edge(rounded);
    memset(bytes, UNTOUCHED, rounded);
    set_size(bytes, size);
    hbbp_session_start(NULL, (hbbp_error *)(void *)bytes);
    const char *text = (const char *)bytes + message;
    const size_t length = strnlen(text, size - message);
    check(length < size - message, "hbbp_error", size, "the message has no end");
    check(memcmp(whole.message, text, length) == 0, "hbbp_error", size, "another message");
    check(all_are(bytes + size, rounded - size, UNTOUCHED), "hbbp_error", size, "written behind");
  }
  for (size_t size = 0; size <= message; size += 4) {
    unsigned char *bytes = at_the_edge(8);
    memset(bytes, UNTOUCHED, 8);
    set_size(bytes, size);
    hbbp_session_start(NULL, (hbbp_error *)(void *)bytes);
    check(all_are(bytes + 4, 4, UNTOUCHED), "hbbp_error", size, "written to");
  }
}

/* ----------------------------------------------------------------------------------------- */

static uint32_t add_source(hbbp_source_kind kind, hbbp_event event, hbbp_ibs_kind ibs) {
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = kind;
  source.event = event;
  source.ibs = ibs;
  source.period = 100;
  uint32_t index = 0;
  require(hbbp_feed_add_source(feed, &source, &index, &error), "hbbp_feed_add_source");
  return index;
}

static void make_probe(void) {
  HBBP_INIT(hbbp_probe_options, options);
  options.productions = "p: branch => count(pc); trace all(pc), null";
  options.min_stream_length = 2;
  require(hbbp_probe_create(&options, &probe, &error), "hbbp_probe_create");
  require(hbbp_probe_run(probe, of_fed, 0, NULL, NULL, &error), "hbbp_probe_run");
  hbbp_probe_row row;
  size_t copied = 0;
  require(hbbp_probe_copy_rows(probe, 0, 0, 1, sizeof(row), &row, &copied, &error),
          "hbbp_probe_copy_rows");
  if (copied != 1) exit(1);
  code_number = row.values[0];
}

static void make_objects(const char *path) {
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_ADDED;
  options.kept_burst_bytes = HBBP_MIN_KEPT_BURST_BYTES;
  require(hbbp_capabilities_probe(&capabilities, &error), "hbbp_capabilities_probe");
  require(hbbp_profile_load(path, NULL, &loaded, &error), path);
  require(hbbp_session_create(NULL, &session, &error), "hbbp_session_create");
  require(hbbp_feed_create(&options, &feed, &error), "hbbp_feed_create");
  add_source(HBBP_SOURCE_EBS, HBBP_EVENT_INSTRUCTIONS, HBBP_IBS_NONE);
  const uint32_t lbr = add_source(HBBP_SOURCE_LBR, HBBP_EVENT_TAKEN_BRANCHES, HBBP_IBS_NONE);
  const uint32_t ibs = add_source(HBBP_SOURCE_IBS, HBBP_EVENT_OTHER, HBBP_IBS_OP);
  static const uint8_t loop[] = {0x90, 0xeb, 0xfd};
  const hbbp_feed_event code = {
      .kind = HBBP_FEED_CODE, .pid = 7, .address = 0x7000, .size = 3, .name = "f", .code = loop};
  require(hbbp_feed_add_events(feed, &code, 1, sizeof(code), &error), "code");
  hbbp_branch_entry branches[32];
  for (int i = 0; i < 32; ++i) branches[i] = (hbbp_branch_entry){0x7001, 0x7000, 0};
  const hbbp_feed_sample stack = {.pid = 7, .tid = 7, .branches = branches, .branch_count = 32};
  require(hbbp_feed_add_samples(feed, lbr, &stack, 1, sizeof(stack), &error), "stack");
  /* These are registers of a load that missed the L1 cache. */
  const uint64_t registers[] = {0x2c30006186a, 0x7000, 0x10002550001, 0x13, 0x31960091, 0x1234, 0};
  const hbbp_feed_sample op = {.ip = 0x7000,
                               .pid = 7,
                               .tid = 7,
                               .ibs_registers = registers,
                               .ibs_register_count = 7,
                               .ibs_capabilities = 0x81bff};
  require(hbbp_feed_add_samples(feed, ibs, &op, 1, sizeof(op), &error), "op");
  require(hbbp_feed_snapshot(feed, NULL, &fed, &error), "hbbp_feed_snapshot");
  require(hbbp_analysis_create(fed, NULL, NULL, &of_fed, &error), "hbbp_analysis_create");
  require(hbbp_analysis_create(loaded, NULL, NULL, &of_loaded, &error), "hbbp_analysis_create");
  hbbp_block block;
  size_t copied = 0;
  require(hbbp_analysis_copy_blocks(of_fed, 0, 1, sizeof(block), &block, &copied, &error),
          "hbbp_analysis_copy_blocks");
  if (copied != 1) exit(1);
  code_module = block.module;
  require(hbbp_mix_create(of_fed, 0, NULL, &mix, &error), "hbbp_mix_create");
  require(hbbp_pivot_create(of_fed, &any_query, NULL, &pivot, &error), "hbbp_pivot_create");
  require(hbbp_ratios_create(of_fed, NULL, NULL, NULL, &ratios, &error), "hbbp_ratios_create");
  require(hbbp_loops_create(of_fed, NULL, &loops, &error), "hbbp_loops_create");
  make_probe();
}

static void destroy_objects(void) {
  hbbp_probe_destroy(probe);
  hbbp_loops_destroy(loops);
  hbbp_ratios_destroy(ratios);
  hbbp_pivot_destroy(pivot);
  hbbp_mix_destroy(mix);
  hbbp_analysis_destroy(of_fed);
  hbbp_analysis_destroy(of_loaded);
  hbbp_profile_destroy(fed);
  hbbp_profile_destroy(loaded);
  hbbp_feed_destroy(feed);
  hbbp_session_destroy(session);
  hbbp_capabilities_destroy(capabilities);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: struct_sizes_test PROFILE PERF_SCRIPT\n");
    return 2;
  }
  file = argv[1];
  script = argv[2];
  error.struct_size = sizeof(error);
  make_objects(argv[1]);
  test_hbbp_event_find();
  test_hbbp_session_get_info();
  test_hbbp_feed_get_info();
  test_hbbp_profile_get_info();
  test_hbbp_analysis_get_info();
  test_hbbp_analysis_find_block();
  test_hbbp_analysis_decode();
  test_hbbp_analysis_disassemble();
  test_hbbp_pivot_get_label();
  test_hbbp_pivot_get_cell();
  test_hbbp_probe_get_info();
  test_hbbp_probe_locate();
  test_hbbp_capabilities_copy();
  test_hbbp_profile_copy_sources();
  test_hbbp_profile_copy_counters();
  test_hbbp_profile_copy_threads();
  test_hbbp_profile_copy_modules();
  test_hbbp_profile_copy_slices();
  test_hbbp_profile_copy_ibs_buckets();
  test_hbbp_profile_copy_ibs_lines();
  test_hbbp_analysis_copy_blocks();
  test_hbbp_analysis_copy_functions();
  test_hbbp_analysis_copy_hottest_blocks();
  test_hbbp_analysis_copy_hottest_functions();
  test_hbbp_analysis_copy_branches();
  test_hbbp_analysis_copy_modules();
  test_hbbp_analysis_copy_sources();
  test_hbbp_analysis_copy_unexplained_reasons();
  test_hbbp_analysis_copy_ip_sums();
  test_hbbp_analysis_copy_ibs_sums();
  test_hbbp_analysis_copy_ibs_latencies();
  test_hbbp_analysis_copy_ibs_objects();
  test_hbbp_mix_copy_rows();
  test_hbbp_ratios_copy();
  test_hbbp_loops_copy();
  test_hbbp_probe_copy_productions();
  test_hbbp_probe_copy_tables();
  test_hbbp_probe_copy_fields();
  test_hbbp_probe_copy_rows();
  test_hbbp_probe_copy_streams();
  test_hbbp_export_copy_formats();
  test_hbbp_export();
  test_hbbp_session_snapshot();
  test_hbbp_feed_snapshot();
  test_hbbp_profile_load();
  test_hbbp_profile_save();
  test_hbbp_profile_merge();
  test_hbbp_merger_create();
  test_hbbp_merger_add();
  test_hbbp_merger_finish();
  test_hbbp_mix_create();
  test_hbbp_ratios_create();
  test_hbbp_loops_create();
  test_hbbp_probe_create();
  test_hbbp_probe_run();
  test_hbbp_session_create();
  test_hbbp_profile_call();
  test_hbbp_feed_create();
  test_hbbp_session_add_code();
  test_hbbp_session_add_data();
  test_hbbp_session_add_source();
  test_hbbp_feed_add_source();
  test_hbbp_profile_import();
  test_hbbp_profile_select();
  test_hbbp_analysis_create();
  test_hbbp_pivot_create();
  test_hbbp_feed_add_samples();
  test_hbbp_feed_add_events();
  test_hbbp_analysis_find_lines();
  test_hbbp_error();
  destroy_objects();
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}
