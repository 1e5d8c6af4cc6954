/* Structs as hosts that were compiled with other headers have them: every function that reads or
 * writes one takes shorter ones and longer ones as docs/reference/abi.md says, and touches nothing
 * behind them. check_sizes_tested.py sees to it that no function is missing here.
 * usage: struct_sizes_test PROFILE PERF_SCRIPT
 * PROFILE has sources of all kinds, threads, modules and slices. */
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

/* `size` bytes in front of memory that cannot be touched. */
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

/* What the functions are asked about. */
static hbbp_capabilities *capabilities;
static hbbp_session *session;
static hbbp_profile *fed;    /* of a loop, which is generated code, and IBS */
static hbbp_profile *loaded; /* the file */
static hbbp_profile *empty;
static hbbp_mix *mix;
static hbbp_pivot *pivot;
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

OUTPUT(hbbp_capability, hbbp_capabilities_at, capabilities, 0, output, &error)
OUTPUT(hbbp_event_code, hbbp_event_find, "r20c4", output, &error)
OUTPUT(hbbp_session_info, hbbp_session_get_info, session, output, &error)
OUTPUT(hbbp_estimator_info, hbbp_profile_get_estimator, fed, output, &error)
OUTPUT(hbbp_profile_info, hbbp_profile_get_info, loaded, output, &error)
OUTPUT(hbbp_source_info, hbbp_profile_source_at, loaded, 2, output, &error)
OUTPUT(hbbp_counter, hbbp_profile_unexplained_reason_at, loaded, 0, 1, output, &error)
OUTPUT(hbbp_counter, hbbp_profile_counter_at, loaded, 2, 1, output, &error)
OUTPUT(hbbp_thread, hbbp_profile_thread_at, loaded, 1, output, &error)
OUTPUT(hbbp_module, hbbp_profile_module_at, loaded, 0, output, &error)
OUTPUT(hbbp_slice, hbbp_profile_slice_at, loaded, 1, output, &error)
OUTPUT(hbbp_block, hbbp_profile_block_at, fed, 0, output, &error)
OUTPUT(hbbp_function, hbbp_profile_function_at, fed, 0, output, &error)
OUTPUT(hbbp_branch, hbbp_profile_branch_at, fed, 0, output, &error)
OUTPUT(hbbp_block, hbbp_profile_find_block, fed, code_module, 0x7000, output, &error)
OUTPUT(hbbp_instruction, hbbp_profile_decode, fed, code_module, 0x7000, output, &error)
OUTPUT(hbbp_disassembly, hbbp_profile_disassemble, fed, code_module, 0x7001, output, &error)
OUTPUT(hbbp_mix_row, hbbp_mix_row_at, mix, 0, output, &error)
OUTPUT(hbbp_pivot_label, hbbp_pivot_label_at, pivot, HBBP_PIVOT_ROWS, 0, 0, output, &error)
OUTPUT(hbbp_pivot_cell, hbbp_pivot_cell_at, pivot, 0, HBBP_PIVOT_ALL, 0, output, &error)
OUTPUT(hbbp_ratio, hbbp_ratios_at, ratios, 0, output, &error)

/* Arrays that are filled ------------------------------------------------------------------ */

typedef hbbp_status (*copy_function)(size_t count, size_t size, void *output, size_t *copied);

/* The first element, and the one behind it if there is one. */
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

#define OUTPUT_ARRAY(type, function, profile)                                                      \
  static hbbp_status copy_by_##function(size_t count, size_t size, void *output, size_t *copied) { \
    return function(profile, 0, count, size, output, copied, &error);                              \
  }                                                                                                \
  static void test_##function(void) {                                                              \
    test_output_array(#function, sizeof(type), copy_by_##function);                                \
  }

OUTPUT_ARRAY(hbbp_block, hbbp_profile_copy_blocks, fed)
OUTPUT_ARRAY(hbbp_loop, hbbp_profile_copy_loops, fed)
OUTPUT_ARRAY(hbbp_ibs_sum, hbbp_profile_copy_ibs_sums, fed)
OUTPUT_ARRAY(hbbp_ibs_bucket, hbbp_profile_copy_ibs_buckets, fed)
OUTPUT_ARRAY(hbbp_ibs_line, hbbp_profile_copy_ibs_lines, fed)

/* Structs that are read ------------------------------------------------------------------- */

typedef hbbp_status (*read_function)(const void *input);

/* `example` is valid. What is cut off must count as 0, whatever lies there. */
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

#define INPUT(function, ...) \
  static hbbp_status read_by_##function(const void *input) { return function(__VA_ARGS__); }

#define INPUT_OF_NEW(handle, function, destroy, ...)         \
  static hbbp_status read_by_##function(const void *input) { \
    handle *created = NULL;                                  \
    const hbbp_status status = function(__VA_ARGS__);        \
    destroy(created);                                        \
    return status;                                           \
  }

static hbbp_session *own_session; /* never started */
static const char *script;        /* text of perf script */

INPUT_OF_NEW(hbbp_session, hbbp_session_create, hbbp_session_destroy, input, &created, &error)
INPUT_OF_NEW(hbbp_session, hbbp_session_create_fed, hbbp_session_destroy, input, &created, &error)
INPUT_OF_NEW(hbbp_profile, hbbp_profile_import, hbbp_profile_destroy, script, input, &created,
             &error)
INPUT_OF_NEW(hbbp_profile, hbbp_session_snapshot_with, hbbp_profile_destroy, session, input,
             &created, &error)
INPUT_OF_NEW(hbbp_pivot, hbbp_pivot_create, hbbp_pivot_destroy, fed, input, &created, &error)
INPUT(hbbp_session_add_code, own_session, input, &error)
INPUT(hbbp_session_add_fed_source, session, input, NULL, &error)
INPUT(hbbp_profile_set_kernel, empty, input, &error)
INPUT(hbbp_profile_set_source_options, empty, input, &error)
INPUT(hbbp_profile_set_estimator, empty, input, &error)
INPUT(hbbp_profile_resolve, empty, input, &error)

static void test_hbbp_session_create(void) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_SWBT;
  options.period = 12345;
  options.burst_branches = 100;
  options.slice_ns = HBBP_SHORTEST_SLICE_NS;
  test_input("hbbp_session_create", &options, sizeof(options), read_by_hbbp_session_create);
}

static void test_hbbp_session_create_fed(void) {
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_FED;
  options.command = "a command";
  options.slice_ns = HBBP_SHORTEST_SLICE_NS;
  test_input("hbbp_session_create_fed", &options, sizeof(options), read_by_hbbp_session_create_fed);
}

static void test_hbbp_session_add_code(void) {
  static const uint8_t code[] = {0xc3};
  HBBP_INIT(hbbp_code_region, region);
  region.address = 0x7000;
  region.size = sizeof(code);
  region.code = code;
  region.name = "f";
  require(hbbp_session_create(NULL, &own_session, &error), "hbbp_session_create");
  test_input("hbbp_session_add_code", &region, sizeof(region), read_by_hbbp_session_add_code);
  hbbp_session_destroy(own_session);
}

static void test_hbbp_session_add_fed_source(void) {
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_CYCLES;
  source.frequency_hz = 99;
  test_input("hbbp_session_add_fed_source", &source, sizeof(source),
             read_by_hbbp_session_add_fed_source);
}

static void test_hbbp_profile_import(void) {
  HBBP_INIT(hbbp_import_options, options);
  options.root = "";
  options.ebs_method = HBBP_EBS_PLAIN;
  test_input("hbbp_profile_import", &options, sizeof(options), read_by_hbbp_profile_import);
}

static void test_hbbp_profile_set_kernel(void) {
  HBBP_INIT(hbbp_kernel_files, files);
  test_input("hbbp_profile_set_kernel", &files, sizeof(files), read_by_hbbp_profile_set_kernel);
}

static void test_hbbp_profile_set_source_options(void) {
  HBBP_INIT(hbbp_source_options, options);
  options.debug_root = "";
  options.user = &options;
  test_input("hbbp_profile_set_source_options", &options, sizeof(options),
             read_by_hbbp_profile_set_source_options);
}

static void test_hbbp_profile_set_estimator(void) {
  HBBP_INIT(hbbp_estimator_options, options);
  options.estimator = HBBP_ESTIMATOR_TREE;
  options.tree = NULL;
  test_input("hbbp_profile_set_estimator", &options, sizeof(options),
             read_by_hbbp_profile_set_estimator);
}

static void test_hbbp_profile_resolve(void) {
  HBBP_INIT(hbbp_work_options, options);
  test_input("hbbp_profile_resolve", &options, sizeof(options), read_by_hbbp_profile_resolve);
}

static void test_hbbp_session_snapshot_with(void) {
  HBBP_INIT(hbbp_work_options, options);
  test_input("hbbp_session_snapshot_with", &options, sizeof(options),
             read_by_hbbp_session_snapshot_with);
}

static void test_hbbp_pivot_create(void) {
  HBBP_INIT(hbbp_pivot_query, query);
  query.rows = "function";
  query.sort = "key";
  query.top = 1;
  test_input("hbbp_pivot_create", &query, sizeof(query), read_by_hbbp_pivot_create);
}

/* Arrays that are read -------------------------------------------------------------------- */

typedef hbbp_status (*feed_function)(const void *input, size_t count, size_t size);

/* Their first version is their shortest one. */
static void test_input_array(const char *function, const void *example, size_t known, size_t first,
                             feed_function feed) {
  for (size_t size = first; size <= known + 64; size += 8) {
    unsigned char *elements = at_the_edge(2 * size);
    memset(elements, 0, 2 * size);
    const size_t common = size < known ? size : known;
    memcpy(elements, example, common);
    memcpy(elements + size, example, common);
    check(feed(elements, 2, size) == HBBP_OK, function, size, error.message);
    if (size <= known) continue;
    elements[2 * size - 1] = 1;
    check(feed(elements, 2, size) == HBBP_ERROR_VERSION, function, size,
          "takes what it does not know");
    check(strstr(error.message, "[1]") != NULL, function, size, error.message);
  }
  const size_t refused[] = {0, first - 8, first + 4, LARGEST + 8};
  for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); ++i) {
    check(feed(example, 1, refused[i]) == HBBP_ERROR_INVALID_ARGUMENT, function, refused[i],
          "not refused");
  }
}

static hbbp_status feed_by_hbbp_session_feed_samples(const void *input, size_t count, size_t size) {
  return hbbp_session_feed_samples(session, 0, input, count, size, &error);
}

static void test_hbbp_session_feed_samples(void) {
  const hbbp_feed_sample sample = {.ip = 0x7000, .pid = 7, .tid = 7};
  test_input_array("hbbp_session_feed_samples", &sample, sizeof(sample), 64,
                   feed_by_hbbp_session_feed_samples);
}

static hbbp_status feed_by_hbbp_session_feed_events(const void *input, size_t count, size_t size) {
  return hbbp_session_feed_events(session, input, count, size, &error);
}

static void test_hbbp_session_feed_events(void) {
  const hbbp_feed_event event = {.kind = HBBP_FEED_EXIT, .pid = 8};
  test_input_array("hbbp_session_feed_events", &event, sizeof(event), 112,
                   feed_by_hbbp_session_feed_events);
}

/* Source lines of this very program. -------------------------------------------------------- */

static hbbp_profile *of_this_program;
static uint32_t this_module;
static uint64_t this_address;
static hbbp_source_frame one_frame;

static hbbp_status fill_place(void *output) {
  return hbbp_profile_find_source(of_this_program, this_module, this_address, 1, sizeof(one_frame),
                                  &one_frame, output, &error);
}

static hbbp_status copy_frames(size_t count, size_t size, void *output, size_t *copied) {
  HBBP_INIT(hbbp_source_place, place);
  const hbbp_status status = hbbp_profile_find_source(of_this_program, this_module, this_address,
                                                      count, size, output, &place, &error);
  if (status == HBBP_OK) *copied = place.frame_count < count ? place.frame_count : count;
  return status;
}

static void test_hbbp_profile_find_source(void) {
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0) exit(1);
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = 1;
  hbbp_session *own = NULL;
  require(hbbp_session_create_fed(NULL, &own, &error), "hbbp_session_create_fed");
  require(hbbp_session_add_fed_source(own, &source, NULL, &error), "hbbp_session_add_fed_source");
  const hbbp_feed_event mapping = {
      .kind = HBBP_FEED_MAPPING, .pid = 7, .address = 0x10000000, .size = 0x10000000, .name = path};
  const hbbp_feed_sample sample = {.pid = 7, .tid = 7, .ip = 0x10000000};
  require(hbbp_session_feed_events(own, &mapping, 1, sizeof(mapping), &error), "mapping");
  require(hbbp_session_feed_samples(own, 0, &sample, 1, sizeof(sample), &error), "sample");
  require(hbbp_session_snapshot(own, &of_this_program, &error), "hbbp_session_snapshot");
  hbbp_session_destroy(own);
  HBBP_INIT(hbbp_module, module);
  do {
    require(hbbp_profile_module_at(of_this_program, this_module, &module, &error), path);
  } while (strcmp(module.path, path) != 0 && ++this_module);
  extern const char __executable_start[];
  this_address =
      (uint64_t)((uintptr_t)test_hbbp_profile_find_source - (uintptr_t)__executable_start);
  const hbbp_status status =
      hbbp_profile_find_source(of_this_program, this_module, this_address, 1, sizeof(one_frame),
                               &one_frame, &(hbbp_source_place){.struct_size = 24}, &error);
  if (status == HBBP_ERROR_UNSUPPORTED) {
    printf("no libdw: source lines are not tested\n");
  } else {
    test_output("hbbp_profile_find_source (place)", sizeof(hbbp_source_place), fill_place);
    test_output_array("hbbp_profile_find_source (frames)", sizeof(hbbp_source_frame), copy_frames);
  }
  hbbp_profile_destroy(of_this_program);
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

static uint32_t add_source(hbbp_source kind, hbbp_event event, hbbp_ibs_kind ibs) {
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = kind;
  source.event = event;
  source.ibs = ibs;
  source.period = 100;
  uint32_t index = 0;
  require(hbbp_session_add_fed_source(session, &source, &index, &error), "add_fed_source");
  return index;
}

static void make_objects(const char *path) {
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_FED;
  require(hbbp_capabilities_probe(&capabilities, &error), "hbbp_capabilities_probe");
  require(hbbp_profile_load(path, &loaded, &error), path);
  require(hbbp_session_create_fed(&options, &session, &error), "hbbp_session_create_fed");
  require(hbbp_session_snapshot(session, &empty, &error), "hbbp_session_snapshot");
  add_source(HBBP_SOURCE_EBS, HBBP_EVENT_INSTRUCTIONS, HBBP_IBS_NONE);
  const uint32_t lbr = add_source(HBBP_SOURCE_LBR, HBBP_EVENT_TAKEN_BRANCHES, HBBP_IBS_NONE);
  const uint32_t ibs = add_source(HBBP_SOURCE_IBS, HBBP_EVENT_OTHER, HBBP_IBS_OP);
  static const uint8_t loop[] = {0x90, 0xeb, 0xfd};
  const hbbp_feed_event code = {
      .kind = HBBP_FEED_CODE, .pid = 7, .address = 0x7000, .size = 3, .name = "f", .code = loop};
  require(hbbp_session_feed_events(session, &code, 1, sizeof(code), &error), "code");
  const hbbp_branch_entry branches[3] = {
      {0x7001, 0x7000, 0}, {0x7001, 0x7000, 0}, {0x7001, 0x7000, 0}};
  const hbbp_feed_sample stack = {.pid = 7, .tid = 7, .branches = branches, .branch_count = 3};
  require(hbbp_session_feed_samples(session, lbr, &stack, 1, sizeof(stack), &error), "stack");
  /* Of a load that missed the L1 cache. */
  const uint64_t registers[] = {0x2c30006186a, 0x7000, 0x10002550001, 0x13, 0x31960092, 0x1234, 0};
  const hbbp_feed_sample op = {.ip = 0x7000,
                               .pid = 7,
                               .tid = 7,
                               .ibs_registers = registers,
                               .ibs_register_count = 7,
                               .ibs_capabilities = 0x81bff};
  require(hbbp_session_feed_samples(session, ibs, &op, 1, sizeof(op), &error), "op");
  require(hbbp_session_snapshot(session, &fed, &error), "hbbp_session_snapshot");
  HBBP_INIT(hbbp_block, block);
  require(hbbp_profile_block_at(fed, 0, &block, &error), "hbbp_profile_block_at");
  code_module = block.module;
  HBBP_INIT(hbbp_pivot_query, query);
  require(hbbp_mix_create(fed, 0, &mix, &error), "hbbp_mix_create");
  require(hbbp_pivot_create(fed, &query, &pivot, &error), "hbbp_pivot_create");
  require(hbbp_ratios_create(fed, NULL, NULL, &ratios, &error), "hbbp_ratios_create");
}

static void destroy_objects(void) {
  hbbp_ratios_destroy(ratios);
  hbbp_pivot_destroy(pivot);
  hbbp_mix_destroy(mix);
  hbbp_profile_destroy(fed);
  hbbp_profile_destroy(loaded);
  hbbp_profile_destroy(empty);
  hbbp_session_destroy(session);
  hbbp_capabilities_destroy(capabilities);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: struct_sizes_test PROFILE PERF_SCRIPT\n");
    return 2;
  }
  script = argv[2];
  error.struct_size = sizeof(error);
  make_objects(argv[1]);
  test_hbbp_capabilities_at();
  test_hbbp_event_find();
  test_hbbp_session_get_info();
  test_hbbp_profile_get_estimator();
  test_hbbp_profile_get_info();
  test_hbbp_profile_source_at();
  test_hbbp_profile_unexplained_reason_at();
  test_hbbp_profile_counter_at();
  test_hbbp_profile_thread_at();
  test_hbbp_profile_module_at();
  test_hbbp_profile_slice_at();
  test_hbbp_profile_block_at();
  test_hbbp_profile_function_at();
  test_hbbp_profile_branch_at();
  test_hbbp_profile_find_block();
  test_hbbp_profile_decode();
  test_hbbp_profile_disassemble();
  test_hbbp_mix_row_at();
  test_hbbp_pivot_label_at();
  test_hbbp_pivot_cell_at();
  test_hbbp_ratios_at();
  test_hbbp_profile_copy_blocks();
  test_hbbp_profile_copy_loops();
  test_hbbp_profile_copy_ibs_sums();
  test_hbbp_profile_copy_ibs_buckets();
  test_hbbp_profile_copy_ibs_lines();
  test_hbbp_session_create();
  test_hbbp_session_create_fed();
  test_hbbp_session_add_fed_source();
  test_hbbp_session_add_code();
  test_hbbp_profile_import();
  test_hbbp_profile_set_kernel();
  test_hbbp_profile_set_source_options();
  test_hbbp_profile_set_estimator();
  test_hbbp_profile_resolve();
  test_hbbp_session_snapshot_with();
  test_hbbp_pivot_create();
  test_hbbp_session_feed_samples();
  test_hbbp_session_feed_events();
  test_hbbp_profile_find_source();
  test_hbbp_error();
  destroy_objects();
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}
