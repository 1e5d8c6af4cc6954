/* Tests the C ABI like a program uses it, compiled as C11 and as C++17. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <hbbp/hbbp.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

static int nearly(double a, double b) { return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)); }

static uint64_t cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void work(uint64_t for_ns) {
  volatile uint64_t work_done = 0;
  const uint64_t begin = cpu_ns();
  while (cpu_ns() - begin < for_ns) {
    for (int i = 0; i < 100000; ++i) work_done = work_done + 1;
  }
}

static void *work_in_thread(void *unused) {
  work(40000000);
  return unused;
}

static void test_versions(void) {
  char expected[64];
  snprintf(expected, sizeof(expected), "%d.%d.%d", HBBP_VERSION_MAJOR, HBBP_VERSION_MINOR,
           HBBP_VERSION_PATCH);
  CHECK(strcmp(hbbp_version_string(), expected) == 0);
  CHECK(strcmp(HBBP_VERSION_STRING, expected) == 0);
  CHECK(hbbp_version_number() ==
        HBBP_VERSION_MAJOR * 1000000u + HBBP_VERSION_MINOR * 1000u + HBBP_VERSION_PATCH);
  CHECK(hbbp_abi_version() == HBBP_ABI_VERSION);
}

static void test_features(void) {
  static const char *const features[] = {
      "ebs", "lbr", "ibs", "swbt", "import", "analysis", "debug-information", "probes"};
  for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); ++i) {
    CHECK(hbbp_feature(features[i]) == 1);
  }
  CHECK(hbbp_feature("EBS") == 0);
  CHECK(hbbp_feature("eb") == 0);
  CHECK(hbbp_feature("") == 0);
  CHECK(hbbp_feature(NULL) == 0);
}

static void test_status_names(void) {
  CHECK(strcmp(hbbp_status_name(HBBP_OK), "HBBP_OK") == 0);
#define CHECK_NAME(code, value) \
  CHECK((code) == (value));     \
  CHECK(strcmp(hbbp_status_name(value), #code) == 0)
  CHECK_NAME(HBBP_ERROR_INVALID_ARGUMENT, -1);
  CHECK_NAME(HBBP_ERROR_INVALID_STATE, -2);
  CHECK_NAME(HBBP_ERROR_NO_MEMORY, -3);
  CHECK_NAME(HBBP_ERROR_NOT_FOUND, -4);
  CHECK_NAME(HBBP_ERROR_IO, -5);
  CHECK_NAME(HBBP_ERROR_BAD_FORMAT, -6);
  CHECK_NAME(HBBP_ERROR_UNSUPPORTED, -7);
  CHECK_NAME(HBBP_ERROR_PERMISSION, -8);
  CHECK_NAME(HBBP_ERROR_BUSY, -9);
  CHECK_NAME(HBBP_ERROR_VERSION, -10);
  CHECK_NAME(HBBP_ERROR_MISMATCH, -11);
  CHECK_NAME(HBBP_ERROR_INTERNAL, -12);
  CHECK_NAME(HBBP_ERROR_CANCELLED, -13);
#undef CHECK_NAME
  CHECK(strcmp(hbbp_status_name(1), "unknown status") == 0);
  CHECK(strcmp(hbbp_status_name(-14), "unknown status") == 0);
  CHECK(strcmp(hbbp_status_name(INT32_MIN), "unknown status") == 0);
}

static void test_capabilities(void) {
  static const char *const names[] = {"perf_event_open",
                                      "task_clock",
                                      "cpu_clock",
                                      "hardware_instructions",
                                      "precise_instructions",
                                      "branch_stack",
                                      "ibs_op",
                                      "ibs_fetch",
                                      "breakpoint",
                                      "sigtrap",
                                      "inherit_thread",
                                      "kernel_sampling",
                                      "seccomp",
                                      "branch_tracing",
                                      "thread_timers",
                                      "native_stubs"};
  const size_t count = sizeof(names) / sizeof(names[0]);
  hbbp_capabilities *capabilities = NULL;
  CHECK_OK(hbbp_capabilities_probe(&capabilities, &error));
  CHECK(hbbp_capabilities_count(capabilities) == count);
  for (size_t i = 0; i < count; ++i) {
    HBBP_INIT(hbbp_capability, capability);
    CHECK_ELEMENT(hbbp_capabilities_copy, capabilities, i, &capability);
    CHECK(strcmp(capability.name, names[i]) == 0);
    CHECK(capability.state >= HBBP_CAPABILITY_UNKNOWN &&
          capability.state <= HBBP_CAPABILITY_DENIED);
    CHECK(capability.detail[0] != '\0');
    CHECK(capability.advice != NULL);
  }
  CHECK_LIST(hbbp_capability, hbbp_capabilities_count, hbbp_capabilities_copy, "capabilities",
             "elements", capabilities);
  hbbp_capabilities_destroy(capabilities);
}

static void test_demangle(void) {
  char name[64];
  CHECK(hbbp_demangle("_ZN1a1fEi", name, sizeof(name)) == 9);
  CHECK(strcmp(name, "a::f(int)") == 0);
  CHECK(hbbp_demangle("_RNvCs1234_7mycrate3foo", name, sizeof(name)) == 12);
  CHECK(strcmp(name, "mycrate::foo") == 0);
  CHECK(hbbp_demangle("main", name, sizeof(name)) == 4);
  CHECK(strcmp(name, "main") == 0);
  CHECK(hbbp_demangle("_ZN1a1fEi", name, 4) == 9);
  CHECK(strcmp(name, "a::") == 0);
  CHECK(hbbp_demangle("_ZN1a1fEi", NULL, 0) == 9);
  CHECK(hbbp_demangle(NULL, name, sizeof(name)) == 0);
  CHECK(name[0] == '\0');
}

static void count_progress(const char *module, uint64_t done, uint64_t total, void *user) {
  CHECK(module[0] != '\0');
  CHECK(done <= total);
  ++*(int *)user;
}

/* Reads lines of the hottest block of this program, which has debug information if it was built so.
 */
static void check_lines(const hbbp_profile *profile) {
  int calls = 0;
  HBBP_INIT(hbbp_debug_options, debug);
  debug.debug_root = "";
  debug.progress = count_progress;
  debug.user_data = &calls;
  HBBP_INIT(hbbp_analysis_options, options);
  options.debug = &debug;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, &options, NULL, &analysis, &error));
  HBBP_INIT(hbbp_error, failure);
  HBBP_INIT(hbbp_block, hottest);
  hottest.count = -1;
  for (size_t i = 0; i < hbbp_analysis_block_count(analysis); ++i) {
    HBBP_INIT(hbbp_block, block);
    HBBP_INIT(hbbp_module, module);
    CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, i, &block);
    CHECK_ELEMENT(hbbp_profile_copy_modules, profile, block.module, &module);
    if (strstr(module.path, "capi") != NULL && block.count > hottest.count) hottest = block;
  }
  CHECK(hottest.count > 0);
  HBBP_INIT(hbbp_disassembly, disassembly);
  uint64_t address = hottest.start;
  uint32_t instructions = 0;
  for (; address < hottest.end; address += disassembly.length, ++instructions) {
    CHECK_OK(hbbp_analysis_disassemble(analysis, hottest.module, address, &disassembly, &error));
    CHECK(disassembly.address == address);
    CHECK(disassembly.text[0] != '\0');
    HBBP_INIT(hbbp_instruction, decoded);
    CHECK_OK(hbbp_analysis_decode(analysis, hottest.module, address, &decoded, &error));
    CHECK(decoded.length == disassembly.length);
  }
  CHECK(instructions == hottest.instruction_count);
  CHECK(hbbp_analysis_disassemble(analysis, 9999, 0, &disassembly, &failure) ==
        HBBP_ERROR_NOT_FOUND);

  HBBP_INIT(hbbp_line_range, range);
  hbbp_line_frame frames[16];
  CHECK(hbbp_analysis_find_lines(analysis, 9999, 0, 16, sizeof(frames[0]), frames, &range,
                                 &failure) == HBBP_ERROR_NOT_FOUND);
  const hbbp_status status = hbbp_analysis_find_lines(analysis, hottest.module, hottest.start, 16,
                                                      sizeof(frames[0]), frames, &range, &failure);
  char problem[256];
  if (status != HBBP_OK) {
    CHECK(status == HBBP_ERROR_NOT_FOUND);
    CHECK(strstr(failure.message, "no debug information") != NULL);
    CHECK(hbbp_analysis_debug_problem(analysis, hottest.module, problem, sizeof(problem),
                                      &failure) == status);
    hbbp_analysis_destroy(analysis);
    return;
  }
  CHECK(calls > 0);
  CHECK(range.frame_count >= 1 && range.frame_count <= 16);
  CHECK(range.start <= hottest.start && hottest.start < range.end);
  CHECK(strstr(frames[range.frame_count - 1].file, ".c") != NULL);
  CHECK(frames[0].line > 0);
  CHECK(frames[range.frame_count - 1].function[0] != '\0');
  CHECK_OK(
      hbbp_analysis_debug_problem(analysis, hottest.module, problem, sizeof(problem), &failure));
  CHECK(problem[0] == '\0');
  /* Their number is reported even if there is no room for them. */
  const uint32_t number = range.frame_count;
  CHECK_OK(hbbp_analysis_find_lines(analysis, hottest.module, hottest.start, 0, sizeof(frames[0]),
                                    NULL, &range, &failure));
  CHECK(range.frame_count == number);
  CHECK(hbbp_analysis_find_lines(analysis, hottest.module, hottest.start, 1, 3, frames, &range,
                                 &failure) == HBBP_ERROR_INVALID_ARGUMENT);
  hbbp_analysis_destroy(analysis);
}

static int32_t append(const void *bytes, size_t size, void *user_data) {
  char *const text = (char *)user_data;
  const size_t used = strlen(text);
  if (used + size >= 4096) return 1;
  memcpy(text + used, bytes, size);
  text[used + size] = 0;
  return 0;
}

static int32_t refuse(const void *bytes, size_t size, void *user_data) {
  (void)bytes;
  (void)size;
  (void)user_data;
  return 1;
}

static void count_note(const char *note, void *user_data) {
  CHECK(note[0] != 0 && strchr(note, '\n') == NULL);
  ++*(int *)user_data;
}

static void check_exports(const hbbp_analysis *analysis) {
  const size_t count = hbbp_export_format_count();
  CHECK(count >= 3);
  for (size_t i = 0; i < count; ++i) {
    HBBP_INIT(hbbp_export_format, format);
    size_t copied = 0;
    CHECK_OK(hbbp_export_copy_formats(i, 1, sizeof(format), &format, &copied, &error));
    CHECK(copied == 1 && format.name[0] != 0 && format.summary[0] != 0);
  }
  char text[4096] = "";
  int notes = 0;
  HBBP_INIT(hbbp_export_options, options);
  options.note = count_note;
  options.user_data = &notes;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "analysis",
              hbbp_export(NULL, "profgen", &options, NULL, append, text, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "format",
              hbbp_export(analysis, NULL, &options, NULL, append, text, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "write",
              hbbp_export(analysis, "profgen", &options, NULL, NULL, text, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "autofdo",
              hbbp_export(analysis, "prof", &options, NULL, append, text, &error));
  CHECK_FAILS(HBBP_ERROR_IO, "refused",
              hbbp_export(analysis, "profgen", &options, NULL, refuse, NULL, &error));
  options.module = "no such module";
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "no such module",
              hbbp_export(analysis, "profgen", &options, NULL, append, text, &error));
}

#define CHECK_REFUSES(word, call) CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, word, call)

/* Every function of a session, an analysis, or its result refuses NULL. */
static void test_null_of_live_objects(hbbp_session *session, const hbbp_profile *empty) {
  hbbp_profile *out = NULL;
  hbbp_analysis *made = NULL;
  HBBP_INIT(hbbp_session_info, session_info);
  CHECK_REFUSES("capabilities", hbbp_capabilities_probe(NULL, &error));
  HBBP_INIT(hbbp_event_code, code);
  CHECK_REFUSES("name", hbbp_event_find(NULL, &code, &error));
  CHECK_REFUSES("code", hbbp_event_find("r20c4", NULL, &error));
  CHECK_REFUSES("session", hbbp_session_create(NULL, NULL, &error));
  CHECK_REFUSES("session", hbbp_session_start(NULL, &error));
  CHECK_REFUSES("session", hbbp_session_stop(NULL, &error));
  CHECK_REFUSES("session", hbbp_session_snapshot(NULL, NULL, &out, &error));
  CHECK_REFUSES("profile", hbbp_session_snapshot(session, NULL, NULL, &error));
  CHECK_REFUSES("session", hbbp_session_get_info(NULL, &session_info, &error));
  CHECK_REFUSES("info", hbbp_session_get_info(session, NULL, &error));
  CHECK_REFUSES("cancel", hbbp_cancel_create(NULL, &error));
  CHECK_REFUSES("profile", hbbp_analysis_create(NULL, NULL, NULL, &made, &error));
  CHECK_REFUSES("analysis", hbbp_analysis_create(empty, NULL, NULL, NULL, &error));
  CHECK(hbbp_session_start(NULL, NULL) == HBBP_ERROR_INVALID_ARGUMENT);
  CHECK(hbbp_analysis_profile(NULL) == NULL);
  CHECK(out == NULL && made == NULL);
  hbbp_cancel_set(NULL, 1);
  CHECK(hbbp_cancel_is_set(NULL) == 0);
}

static void test_null_of_imports(void) {
  hbbp_profile *out = NULL;
  CHECK_REFUSES("path", hbbp_profile_import(NULL, NULL, NULL, &out, &error));
  CHECK_REFUSES("profile", hbbp_profile_import("/none", NULL, NULL, NULL, &error));
  HBBP_INIT(hbbp_import_options, options);
#define CHECK_OPTION(word) \
  CHECK_REFUSES(word, hbbp_profile_import("/none", &options, NULL, &out, &error))
  options.struct_size = 1;
  CHECK_OPTION("struct_size");
  options.struct_size = sizeof options;
  options.moved_file_count = 1;
  CHECK_OPTION("moved_files");
  hbbp_moved_file moved = {"/bin/a", NULL};
  options.moved_files = &moved;
  CHECK_OPTION("moved_files[0]");
  options.moved_file_count = 0;
  options.ebs_method = 3;
  CHECK_OPTION("ebs_method");
  options.ebs_method = 0;
  options.slice_ns = HBBP_MIN_SLICE_NS - 1;
  CHECK_OPTION("slice_ns");
  options.slice_ns = HBBP_MAX_SLICE_NS + 1;
  CHECK_OPTION("slice_ns");
  options.slice_ns = 0;
  options.kept_burst_bytes = HBBP_MIN_KEPT_BURST_BYTES - 1;
  CHECK_OPTION("kept_burst_bytes");
  options.kept_burst_bytes = 0;
  options.reserved2 = 1;
  CHECK_OPTION("reserved2");
#undef CHECK_OPTION
  CHECK(out == NULL);
}

static void test_null_of_profiles(const hbbp_profile *empty) {
  char nothing_of_ours = 0;
  hbbp_profile *const untouched = (hbbp_profile *)&nothing_of_ours;
  hbbp_profile *out = untouched;
  CHECK_REFUSES("path", hbbp_profile_load(NULL, NULL, &out, &error));
  CHECK_REFUSES("profile", hbbp_profile_load("/none", NULL, NULL, &error));
  CHECK_REFUSES("profile", hbbp_profile_save(NULL, "/none", NULL, &error));
  CHECK_REFUSES("path", hbbp_profile_save(empty, NULL, NULL, &error));
  const hbbp_profile *const parts[2] = {empty, NULL};
  CHECK_REFUSES("profiles", hbbp_profile_merge(NULL, 1, NULL, &out, &error));
  CHECK_REFUSES("profiles", hbbp_profile_merge(parts, 2, NULL, &out, &error));
  CHECK_REFUSES("merged", hbbp_profile_merge(parts, 1, NULL, NULL, &error));
  CHECK_REFUSES("count", hbbp_profile_merge(parts, 0, NULL, &out, &error));
  CHECK_REFUSES("merger", hbbp_merger_create(NULL, NULL, &error));
  HBBP_INIT(hbbp_merger_options, merging);
  merging.dropped = 1u << 31;
  hbbp_merger *merger = NULL;
  CHECK_REFUSES("dropped", hbbp_merger_create(&merging, &merger, &error));
  CHECK(merger == NULL);
  CHECK_OK(hbbp_merger_create(NULL, &merger, &error));
  CHECK_REFUSES("merger", hbbp_merger_add(NULL, empty, NULL, &error));
  CHECK_REFUSES("profile", hbbp_merger_add(merger, NULL, NULL, &error));
  CHECK_REFUSES("merger", hbbp_merger_finish(NULL, NULL, &out, &error));
  CHECK_REFUSES("merged", hbbp_merger_finish(merger, NULL, NULL, &error));
  hbbp_merger_destroy(merger);
  HBBP_INIT(hbbp_selection, selection);
  CHECK_REFUSES("profile", hbbp_profile_select(NULL, &selection, NULL, &out, &error));
  CHECK_REFUSES("selection", hbbp_profile_select(empty, NULL, NULL, &out, &error));
  CHECK_REFUSES("selected", hbbp_profile_select(empty, &selection, NULL, NULL, &error));
  CHECK_REFUSES("parts", hbbp_profile_select(empty, &selection, NULL, &out, &error));
  selection.parts = HBBP_SELECT_THREAD | 1u << 31;
  CHECK_REFUSES("parts", hbbp_profile_select(empty, &selection, NULL, &out, &error));
  selection.parts = HBBP_SELECT_THREAD;
  selection.tid = 1;
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "thread 1",
              hbbp_profile_select(empty, &selection, NULL, &out, &error));
  selection.parts = HBBP_SELECT_SLICE;
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "index 0",
              hbbp_profile_select(empty, &selection, NULL, &out, &error));
  HBBP_INIT(hbbp_profile_info, info);
  CHECK_REFUSES("profile", hbbp_profile_get_info(NULL, &info, &error));
  CHECK_REFUSES("info", hbbp_profile_get_info(empty, NULL, &error));
  CHECK(out == untouched);

  CHECK_LIST(hbbp_source_info, hbbp_profile_source_count, hbbp_profile_copy_sources, "profile",
             "sources", empty);
  CHECK_LIST(hbbp_thread, hbbp_profile_thread_count, hbbp_profile_copy_threads, "profile",
             "threads", empty);
  CHECK_LIST(hbbp_module, hbbp_profile_module_count, hbbp_profile_copy_modules, "profile",
             "modules", empty);
  CHECK_LIST(hbbp_slice, hbbp_profile_slice_count, hbbp_profile_copy_slices, "profile", "slices",
             empty);
  CHECK_LIST(hbbp_ibs_bucket, hbbp_profile_ibs_bucket_count, hbbp_profile_copy_ibs_buckets,
             "profile", "buckets", empty);
  CHECK_LIST(hbbp_ibs_line, hbbp_profile_ibs_line_count, hbbp_profile_copy_ibs_lines, "profile",
             "lines", empty);
  /* A session that never ran has an empty profile. */
  CHECK(hbbp_profile_source_count(empty) == 0);
  CHECK(hbbp_profile_thread_count(empty) == 0);
  CHECK(hbbp_profile_module_count(empty) == 0);
  hbbp_counter counter;
  size_t copied = 12345;
  CHECK(hbbp_profile_counter_count(NULL, 0) == 0 && hbbp_profile_counter_count(empty, 0) == 0);
  CHECK_REFUSES("profile", hbbp_profile_copy_counters(NULL, 0, 0, 1, sizeof(counter), &counter,
                                                      &copied, &error));
  CHECK_REFUSES("source 0 of 0", hbbp_profile_copy_counters(empty, 0, 0, 1, sizeof(counter),
                                                            &counter, &copied, &error));
  CHECK(copied == 12345);
}

static void test_null_of_analyses(const hbbp_analysis *empty) {
  size_t copied = 12345;
  CHECK_LIST(hbbp_block, hbbp_analysis_block_count, hbbp_analysis_copy_blocks, "analysis", "blocks",
             empty);
  CHECK_LIST(hbbp_function, hbbp_analysis_function_count, hbbp_analysis_copy_functions, "analysis",
             "functions", empty);
  CHECK_LIST(hbbp_branch, hbbp_analysis_branch_count, hbbp_analysis_copy_branches, "analysis",
             "branches", empty);
  CHECK_LIST(hbbp_module_result, hbbp_analysis_module_count, hbbp_analysis_copy_modules, "analysis",
             "modules", empty);
  CHECK_LIST(hbbp_source_result, hbbp_analysis_source_count, hbbp_analysis_copy_sources, "analysis",
             "sources", empty);
  CHECK_LIST(hbbp_ip_sum, hbbp_analysis_ip_sum_count, hbbp_analysis_copy_ip_sums, "analysis",
             "sums", empty);
  CHECK_LIST(hbbp_ibs_sum, hbbp_analysis_ibs_sum_count, hbbp_analysis_copy_ibs_sums, "analysis",
             "sums", empty);
  CHECK_LIST(hbbp_ibs_latency, hbbp_analysis_ibs_latency_count, hbbp_analysis_copy_ibs_latencies,
             "analysis", "latencies", empty);
  CHECK_LIST(hbbp_ibs_object, hbbp_analysis_ibs_object_count, hbbp_analysis_copy_ibs_objects,
             "analysis", "objects", empty);
  CHECK(hbbp_analysis_block_count(empty) == 0 && hbbp_analysis_function_count(empty) == 0);
  CHECK(hbbp_analysis_branch_count(empty) == 0);
  hbbp_counter reason;
  CHECK(hbbp_analysis_unexplained_reason_count(NULL, 0) == 0);
  CHECK(hbbp_analysis_unexplained_reason_count(empty, 0) == 0);
  CHECK_REFUSES("analysis", hbbp_analysis_copy_unexplained_reasons(NULL, 0, 0, 1, sizeof(reason),
                                                                   &reason, &copied, &error));
  CHECK_REFUSES("source 0 of 0", hbbp_analysis_copy_unexplained_reasons(
                                     empty, 0, 0, 1, sizeof(reason), &reason, &copied, &error));
  double features[1];
  CHECK_REFUSES("analysis",
                hbbp_analysis_copy_block_features(NULL, 0, 1, features, &copied, &error));
  CHECK_REFUSES("values", hbbp_analysis_copy_block_features(empty, 0, 1, NULL, &copied, &error));
  CHECK_REFUSES("copied", hbbp_analysis_copy_block_features(empty, 0, 1, features, NULL, &error));
  CHECK(copied == 12345);
  CHECK_OK(hbbp_analysis_copy_block_features(empty, 0, 1, features, &copied, &error));
  CHECK(copied == 0);
  CHECK(hbbp_block_feature_count() >= 14 && strcmp(hbbp_block_feature_name(0), "length") == 0);
  CHECK(hbbp_block_feature_name(hbbp_block_feature_count()) == NULL);

  double low = -1, high = -1;
  hbbp_count_interval(100, 100, &low, &high);
  CHECK(low == 0 && high > 1214 && high < 1216);
  hbbp_count_interval(100, 0, &low, NULL);
  hbbp_count_interval(0, 7, NULL, &high);
  CHECK(low == 100 && high == 0);

  HBBP_INIT(hbbp_analysis_info, info);
  HBBP_INIT(hbbp_block, block);
  HBBP_INIT(hbbp_instruction, instruction);
  HBBP_INIT(hbbp_disassembly, disassembly);
  HBBP_INIT(hbbp_line_range, range);
  hbbp_line_frame frames[2];
  char text[8];
  CHECK_REFUSES("analysis", hbbp_analysis_get_info(NULL, &info, &error));
  CHECK_REFUSES("info", hbbp_analysis_get_info(empty, NULL, &error));
  CHECK_REFUSES("analysis", hbbp_analysis_find_block(NULL, 0, 0, &block, &error));
  CHECK_REFUSES("block", hbbp_analysis_find_block(empty, 0, 0, NULL, &error));
  CHECK_REFUSES("analysis", hbbp_analysis_decode(NULL, 0, 0, &instruction, &error));
  CHECK_REFUSES("instruction", hbbp_analysis_decode(empty, 0, 0, NULL, &error));
  CHECK_REFUSES("analysis", hbbp_analysis_disassemble(NULL, 0, 0, &disassembly, &error));
  CHECK_REFUSES("disassembly", hbbp_analysis_disassemble(empty, 0, 0, NULL, &error));
  CHECK_REFUSES("analysis",
                hbbp_analysis_find_lines(NULL, 0, 0, 2, sizeof(frames[0]), frames, &range, &error));
  CHECK_REFUSES("range",
                hbbp_analysis_find_lines(empty, 0, 0, 2, sizeof(frames[0]), frames, NULL, &error));
  CHECK_REFUSES("analysis", hbbp_analysis_debug_problem(NULL, 0, text, sizeof(text), &error));
  CHECK_REFUSES("buffer", hbbp_analysis_debug_problem(empty, 0, NULL, sizeof(text), &error));
  CHECK_REFUSES("buffer", hbbp_analysis_debug_problem(empty, 0, text, 0, &error));
}

static void test_null_of_results(const hbbp_analysis *empty) {
  hbbp_mix *mix = NULL;
  hbbp_pivot *pivot = NULL;
  hbbp_taxonomy *taxonomy = NULL;
  hbbp_ratios *ratios = NULL;
  hbbp_loops *loops = NULL;
  HBBP_INIT(hbbp_pivot_query, query);
  HBBP_INIT(hbbp_pivot_label, label);
  HBBP_INIT(hbbp_pivot_cell, cell);
  CHECK_REFUSES("analysis", hbbp_mix_create(NULL, 0, NULL, &mix, &error));
  CHECK_REFUSES("mix", hbbp_mix_create(empty, 0, NULL, NULL, &error));
  CHECK_REFUSES("analysis", hbbp_pivot_create(NULL, &query, NULL, &pivot, &error));
  CHECK_REFUSES("query", hbbp_pivot_create(empty, NULL, NULL, &pivot, &error));
  CHECK_REFUSES("pivot", hbbp_pivot_create(empty, &query, NULL, NULL, &error));
  CHECK_REFUSES("pivot", hbbp_pivot_get_label(NULL, HBBP_PIVOT_ROWS, 0, 0, &label, &error));
  CHECK_REFUSES("pivot", hbbp_pivot_get_cell(NULL, 0, 0, 0, &cell, &error));
  CHECK_REFUSES("taxonomy", hbbp_taxonomy_create(NULL, NULL, &error));
  CHECK_REFUSES("path", hbbp_taxonomy_load(NULL, &taxonomy, &error));
  CHECK_REFUSES("taxonomy", hbbp_taxonomy_load("/none", NULL, &error));
  CHECK_REFUSES("analysis", hbbp_ratios_create(NULL, NULL, NULL, NULL, &ratios, &error));
  CHECK_REFUSES("ratios", hbbp_ratios_create(empty, NULL, NULL, NULL, NULL, &error));
  CHECK_REFUSES("analysis", hbbp_loops_create(NULL, NULL, &loops, &error));
  CHECK_REFUSES("loops", hbbp_loops_create(empty, NULL, NULL, &error));
  CHECK(mix == NULL && pivot == NULL && taxonomy == NULL && ratios == NULL && loops == NULL);
  CHECK(hbbp_mix_total(NULL) == 0);
  CHECK(hbbp_pivot_line_count(NULL, HBBP_PIVOT_ROWS) == 0);
  CHECK(hbbp_pivot_line_count_in_all(NULL, HBBP_PIVOT_ROWS) == 0);
  CHECK(hbbp_pivot_key_count(NULL, HBBP_PIVOT_ROWS) == 0);
  CHECK(hbbp_pivot_value_count(NULL) == 0);
  CHECK(hbbp_taxonomy_count(NULL) == 0 && hbbp_taxonomy_name(NULL, 0) == NULL);
  CHECK(hbbp_taxonomy_group_count(NULL, 0) == 0);
  CHECK(hbbp_taxonomy_group_name(NULL, 0, 0) == NULL);
  hbbp_capabilities_destroy(NULL);
  hbbp_cancel_destroy(NULL);
  hbbp_session_destroy(NULL);
  hbbp_feed_destroy(NULL);
  hbbp_profile_destroy(NULL);
  hbbp_merger_destroy(NULL);
  hbbp_analysis_destroy(NULL);
  hbbp_mix_destroy(NULL);
  hbbp_pivot_destroy(NULL);
  hbbp_taxonomy_destroy(NULL);
  hbbp_ratios_destroy(NULL);
  hbbp_loops_destroy(NULL);

  CHECK_OK(hbbp_mix_create(empty, 0, NULL, &mix, &error));
  CHECK(hbbp_mix_row_count(mix) == 0 && hbbp_mix_total(mix) == 0);
  CHECK_LIST(hbbp_mix_row, hbbp_mix_row_count, hbbp_mix_copy_rows, "mix", "rows", mix);
  hbbp_mix_destroy(mix);
  CHECK_OK(hbbp_pivot_create(empty, &query, NULL, &pivot, &error));
  CHECK(hbbp_pivot_line_count(pivot, HBBP_PIVOT_ROWS) == 0);
  CHECK_REFUSES("label", hbbp_pivot_get_label(pivot, HBBP_PIVOT_ROWS, 0, 0, NULL, &error));
  CHECK_REFUSES("cell",
                hbbp_pivot_get_cell(pivot, HBBP_PIVOT_ALL, HBBP_PIVOT_ALL, 0, NULL, &error));
  CHECK_OK(hbbp_pivot_get_cell(pivot, HBBP_PIVOT_ALL, HBBP_PIVOT_ALL, 0, &cell, &error));
  CHECK(cell.value == 0 && cell.share == 0);
  hbbp_pivot_destroy(pivot);
  CHECK_OK(hbbp_ratios_create(empty, NULL, NULL, NULL, &ratios, &error));
  CHECK_LIST(hbbp_ratio, hbbp_ratios_count, hbbp_ratios_copy, "ratios", "elements", ratios);
  hbbp_ratios_destroy(ratios);

  uint32_t index = 0;
  size_t copied = 12345;
  CHECK_OK(hbbp_loops_create(empty, NULL, &loops, &error));
  CHECK_LIST(hbbp_loop, hbbp_loops_count, hbbp_loops_copy, "loops", "elements", loops);
  CHECK_REFUSES("loops", hbbp_loops_copy_of_blocks(NULL, 0, 1, &index, &copied, &error));
  CHECK_REFUSES("indices", hbbp_loops_copy_of_blocks(loops, 0, 1, NULL, &copied, &error));
  CHECK_REFUSES("copied", hbbp_loops_copy_of_blocks(loops, 0, 1, &index, NULL, &error));
  CHECK(copied == 12345);
  CHECK_OK(hbbp_loops_copy_of_blocks(loops, 0, 1, &index, &copied, &error));
  CHECK(copied == 0);
  hbbp_loops_destroy(loops);
}

static hbbp_status estimator_of(const hbbp_profile *profile, hbbp_estimator estimator,
                                const char *tree, hbbp_analysis_info *info, hbbp_error *error) {
  HBBP_INIT(hbbp_analysis_options, options);
  options.estimator = estimator;
  options.tree = tree;
  hbbp_analysis *analysis = NULL;
  const hbbp_status status = hbbp_analysis_create(profile, &options, NULL, &analysis, error);
  CHECK((status == HBBP_OK) == (analysis != NULL));
  if (status == HBBP_OK) CHECK(hbbp_analysis_get_info(analysis, info, error) == HBBP_OK);
  hbbp_analysis_destroy(analysis);
  return status;
}

static void test_analysis_options(const hbbp_profile *empty) {
  HBBP_INIT(hbbp_analysis_info, info);
  CHECK_REFUSES("tree", estimator_of(empty, HBBP_ESTIMATOR_AUTO, "{}", &info, &error));
  CHECK_REFUSES("-1", estimator_of(empty, -1, NULL, &info, &error));
  CHECK_REFUSES("1000", estimator_of(empty, 1000, NULL, &info, &error));
  CHECK_FAILS(HBBP_ERROR_BAD_FORMAT, "hbbp-tree",
              estimator_of(empty, HBBP_ESTIMATOR_TREE, "{}", &info, &error));
  CHECK_OK(estimator_of(empty, HBBP_ESTIMATOR_AUTO, NULL, &info, &error));
  CHECK(info.estimator == HBBP_ESTIMATOR_STREAMS);
  CHECK(info.ebs_scale == 1 && info.streams_scale == 1 && info.is_one_scale == 1);
  for (hbbp_estimator each = HBBP_ESTIMATOR_EBS; each <= HBBP_ESTIMATOR_FLOW; ++each) {
    CHECK_OK(estimator_of(empty, each, NULL, &info, &error));
    CHECK(info.estimator == each);
  }

  hbbp_analysis *analysis = NULL;
  HBBP_INIT(hbbp_analysis_options, options);
  HBBP_INIT(hbbp_kernel_files, kernel);
  HBBP_INIT(hbbp_debug_options, debug);
#define CHECK_OPTION(expected, word) \
  CHECK_FAILS(expected, word, hbbp_analysis_create(empty, &options, NULL, &analysis, &error))
  options.kernel = &kernel;
  kernel.struct_size = 1;
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "hbbp_kernel_files.struct_size");
  kernel.struct_size = sizeof kernel;
  kernel.reserved = 1;
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "hbbp_kernel_files.reserved");
  kernel.reserved = 0;
  CHECK_OK(hbbp_analysis_create(empty, &options, NULL, &analysis, &error));
  hbbp_analysis_destroy(analysis);
  analysis = NULL;
  kernel.kcore = "/nonexistent/kcore";
  CHECK_OPTION(HBBP_ERROR_NOT_FOUND, "/nonexistent/kcore");
  options.kernel = NULL;
  options.debug = &debug;
  debug.flags = 1u << 31;
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "hbbp_debug_options.flags");
  debug.struct_size = 1;
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "hbbp_debug_options.struct_size");
  options.struct_size = 1;
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "hbbp_analysis_options.struct_size");
#undef CHECK_OPTION
  CHECK(analysis == NULL);
}

static void test_null(void) {
  hbbp_session *session = NULL;
  hbbp_profile *empty = NULL;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_session_create(NULL, &session, &error));
  CHECK_OK(hbbp_session_snapshot(session, NULL, &empty, &error));
  CHECK_OK(hbbp_analysis_create(empty, NULL, NULL, &analysis, &error));
  test_null_of_live_objects(session, empty);
  test_null_of_imports();
  test_null_of_profiles(empty);
  test_null_of_analyses(analysis);
  test_null_of_results(analysis);
  test_analysis_options(empty);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(empty);
  hbbp_session_destroy(session);
}

/* Every function that may take long is cancelled, and reports progress. */
static void test_work(const char *path, const char *directory) {
  hbbp_session *session = NULL;
  hbbp_feed *feed = NULL;
  hbbp_profile *made = NULL;
  CHECK_OK(hbbp_session_create(NULL, &session, &error));
  CHECK_OK(hbbp_feed_create(NULL, &feed, &error));
  CHECK_WORK(made, hbbp_profile_destroy, hbbp_session_snapshot(session, work, &made, &error));
  CHECK_WORK(made, hbbp_profile_destroy, hbbp_feed_snapshot(feed, work, &made, &error));
  hbbp_feed_destroy(feed);
  hbbp_session_destroy(session);

  hbbp_profile *profile = NULL;
  CHECK_WORK(made, hbbp_profile_destroy, hbbp_profile_load(path, work, &made, &error));
  CHECK_OK(hbbp_profile_load(path, NULL, &profile, &error));
  const hbbp_profile *const parts[2] = {profile, profile};
  CHECK_WORK(made, hbbp_profile_destroy, hbbp_profile_merge(parts, 2, work, &made, &error));
  HBBP_INIT(hbbp_thread, thread);
  CHECK_ELEMENT(hbbp_profile_copy_threads, profile, 0, &thread);
  HBBP_INIT(hbbp_selection, selection);
  selection.parts = HBBP_SELECT_THREAD;
  selection.tid = thread.tid;
  CHECK_WORK(made, hbbp_profile_destroy,
             hbbp_profile_select(profile, &selection, work, &made, &error));

  hbbp_analysis *analysis = NULL;
  CHECK_WORK(analysis, hbbp_analysis_destroy,
             hbbp_analysis_create(profile, NULL, work, &analysis, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  hbbp_mix *mix = NULL;
  hbbp_pivot *pivot = NULL;
  hbbp_ratios *ratios = NULL;
  hbbp_loops *loops = NULL;
  HBBP_INIT(hbbp_pivot_query, query);
  CHECK_WORK(mix, hbbp_mix_destroy, hbbp_mix_create(analysis, 0, work, &mix, &error));
  CHECK_WORK(pivot, hbbp_pivot_destroy, hbbp_pivot_create(analysis, &query, work, &pivot, &error));
  CHECK_WORK(ratios, hbbp_ratios_destroy,
             hbbp_ratios_create(analysis, NULL, NULL, work, &ratios, &error));
  CHECK_WORK(loops, hbbp_loops_destroy, hbbp_loops_create(analysis, work, &loops, &error));
  hbbp_analysis_destroy(analysis);

  /* What is saved has no handle. */
  char copy[512];
  snprintf(copy, sizeof(copy), "%s/copy", directory);
  hbbp_cancel *cancel = NULL;
  uint64_t calls = 0;
  CHECK_OK(hbbp_cancel_create(&cancel, &error));
  HBBP_INIT(hbbp_work_options, options);
  options.progress = count_progress_calls;
  options.user_data = &calls;
  options.cancel = cancel;
  hbbp_cancel_set(cancel, 1);
  CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel",
              hbbp_profile_save(profile, copy, &options, &error));
  CHECK(access(copy, F_OK) != 0);
  hbbp_cancel_set(cancel, 0);
  CHECK_OK(hbbp_profile_save(profile, copy, &options, &error));
  CHECK(calls > 0 && unlink(copy) == 0);
  hbbp_cancel_destroy(cancel);
  hbbp_profile_destroy(profile);
}

/* Tests the only import, with a text of its own. */
static void test_work_of_import(const char *directory) {
  char path[512];
  snprintf(path, sizeof(path), "%s/script", directory);
  FILE *const file = fopen(path, "w");
  CHECK(file != NULL);
  if (file == NULL) return;
  fputs("PERF_RECORD_MMAP2 7/7: [0x400000(0x40000000) @ 0 08:01 42 1]: r-xp /no/such\n", file);
  for (int i = 0; i < 1000; ++i) fputs(" 400000 0x400040/0x400010/P/-/-/0\n", file);
  CHECK(fclose(file) == 0);
  hbbp_profile *made = NULL;
  CHECK_WORK(made, hbbp_profile_destroy, hbbp_profile_import(path, NULL, work, &made, &error));
  CHECK(unlink(path) == 0);
}

/* Results outlive their inputs, in any order of destruction. */
static void test_ownership(const char *path) {
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  hbbp_analysis *other = NULL;
  CHECK_OK(hbbp_profile_load(path, NULL, &profile, &error));
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  HBBP_INIT(hbbp_profile_info, before);
  CHECK_OK(hbbp_profile_get_info(profile, &before, &error));
  const size_t sources = hbbp_profile_source_count(profile);
  hbbp_profile_destroy(profile);

  /* The analysis has a profile of its own, of which another analysis may be made. */
  const hbbp_profile *const own = hbbp_analysis_profile(analysis);
  CHECK(own != NULL && hbbp_profile_source_count(own) == sources);
  CHECK(hbbp_analysis_source_count(analysis) == sources);
  CHECK(hbbp_analysis_module_count(analysis) == hbbp_profile_module_count(own));
  HBBP_INIT(hbbp_profile_info, after);
  CHECK_OK(hbbp_profile_get_info(own, &after, &error));
  CHECK(after.samples == before.samples && after.pid == before.pid);
  CHECK_OK(hbbp_analysis_create(own, NULL, NULL, &other, &error));
  const size_t blocks = hbbp_analysis_block_count(analysis);
  CHECK(blocks > 0);
  check_exports(analysis);

  hbbp_mix *mix = NULL;
  hbbp_pivot *pivot = NULL;
  hbbp_ratios *ratios = NULL;
  hbbp_loops *loops = NULL;
  HBBP_INIT(hbbp_pivot_query, query);
  CHECK_OK(hbbp_mix_create(analysis, 0, NULL, &mix, &error));
  CHECK_OK(hbbp_pivot_create(analysis, &query, NULL, &pivot, &error));
  CHECK_OK(hbbp_ratios_create(analysis, NULL, NULL, NULL, &ratios, &error));
  CHECK_OK(hbbp_loops_create(analysis, NULL, &loops, &error));
  hbbp_analysis_destroy(analysis);
  CHECK(hbbp_analysis_block_count(other) == blocks);
  hbbp_analysis_destroy(other);

  HBBP_INIT(hbbp_mix_row, row);
  CHECK_ELEMENT(hbbp_mix_copy_rows, mix, 0, &row);
  CHECK(row.mnemonic[0] != '\0' && row.instructions > 0);
  HBBP_INIT(hbbp_pivot_label, label);
  CHECK_OK(hbbp_pivot_get_label(pivot, HBBP_PIVOT_ROWS, 0, 0, &label, &error));
  CHECK(strcmp(label.text, row.mnemonic) == 0);
  HBBP_INIT(hbbp_ratio, ratio);
  CHECK_ELEMENT(hbbp_ratios_copy, ratios, 0, &ratio);
  CHECK(nearly(ratio.value, hbbp_mix_total(mix)));
  uint32_t *const indices = (uint32_t *)calloc(blocks + 1, sizeof(*indices));
  size_t copied = 0;
  CHECK_OK(hbbp_loops_copy_of_blocks(loops, 0, blocks + 1, indices, &copied, &error));
  CHECK(copied == blocks);
  for (size_t i = 0; i < blocks; ++i) {
    CHECK(indices[i] == HBBP_NO_INDEX || indices[i] < hbbp_loops_count(loops));
  }
  CHECK_OK(hbbp_loops_copy_of_blocks(loops, blocks, 1, indices, &copied, &error));
  CHECK(copied == 0);
  free(indices);
  hbbp_loops_destroy(loops);
  hbbp_ratios_destroy(ratios);
  hbbp_pivot_destroy(pivot);
  hbbp_mix_destroy(mix);
}

#undef CHECK_REFUSES

/* Creates a session with the options, and destroys it. */
static hbbp_status create(const hbbp_session_options *options, hbbp_error *error) {
  char nothing_of_ours = 0;
  hbbp_session *const untouched = (hbbp_session *)&nothing_of_ours;
  hbbp_session *session = untouched;
  const hbbp_status status = hbbp_session_create(options, &session, error);
  CHECK((status == HBBP_OK) == (session != untouched));
  if (session != untouched) hbbp_session_destroy(session);
  return status;
}

static void test_options(void) {
#define CHECK_OPTION(expected, word, assignment)           \
  do {                                                     \
    HBBP_INIT(hbbp_session_options, options);              \
    options.assignment;                                    \
    CHECK_FAILS(expected, word, create(&options, &error)); \
  } while (0)
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "source", source = -1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "source", source = HBBP_SOURCE_TRUTH);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "source", source = HBBP_SOURCE_COMBINED);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "source", source = 1000);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "imprecise", imprecise = 2);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "ebs_method", ebs_method = -1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "slice_ns", slice_ns = 1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "slice_ns", slice_ns = UINT64_MAX);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "kept_burst_bytes", kept_burst_bytes = 1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "keep_accesses", keep_accesses = 1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "keep_values", keep_values = HBBP_VALUE_RDX);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "keep_values", keep_values = HBBP_VALUE_R9 << 1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "enable_on_exec", enable_on_exec = 1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "pid", pid = UINT64_MAX);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "branch_period", branch_period = UINT64_MAX);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "event", event = -1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "event", event = HBBP_EVENT_CYCLES + 1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "period_mode", period_mode = -1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "period_mode", period_mode = HBBP_PERIOD_RANDOM + 1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "period", period = UINT64_MAX);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "frequency_hz", frequency_hz = 1000001);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "include_kernel", include_kernel = 2);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "buffer_bytes", buffer_bytes = (1u << 30) + 1);
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, "not both", period = options.frequency_hz = 1000);
#define CHECK_OPTION_OF(kind, word, assignment) \
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, word, source = (kind); options.assignment)
  CHECK_OPTION_OF(HBBP_SOURCE_PERF, "burst_branches", burst_branches = 256);
  CHECK_OPTION_OF(HBBP_SOURCE_EBS, "trace_mode", trace_mode = HBBP_TRACE_VERIFY);
  CHECK_OPTION_OF(HBBP_SOURCE_EBS, "branch_period", branch_period = 1000);
  CHECK_OPTION_OF(HBBP_SOURCE_SWBT, "branch_period", branch_period = 1000);
  CHECK_OPTION_OF(HBBP_SOURCE_SWBT, "imprecise", imprecise = 1);
  CHECK_OPTION_OF(HBBP_SOURCE_IBS, "ebs_method", ebs_method = HBBP_EBS_IP_PLUS_ONE);
  CHECK_OPTION_OF(HBBP_SOURCE_SWBT, "expected_seconds", expected_seconds = 10);
  CHECK_OPTION_OF(HBBP_SOURCE_IBS, "event", event = HBBP_EVENT_CYCLES);
  CHECK_OPTION_OF(HBBP_SOURCE_IBS, "event", event_name = "r20c4");
  CHECK_OPTION_OF(HBBP_SOURCE_IBS, "event", event_name = "ibs_op";
                  options.event = HBBP_EVENT_CYCLES);
  CHECK_OPTION_OF(HBBP_SOURCE_EBS, "event_name", event_name = "ibs_op");
  CHECK_OPTION_OF(HBBP_SOURCE_EBS, "period_mode", period_mode = HBBP_PERIOD_RANDOM;
                  options.frequency_hz = 1000);
#undef CHECK_OPTION_OF
#define CHECK_TRACE_OPTION(word, assignment) \
  CHECK_OPTION(HBBP_ERROR_INVALID_ARGUMENT, word, source = HBBP_SOURCE_SWBT; options.assignment)
  CHECK_TRACE_OPTION("trace_mode", trace_mode = -1);
  CHECK_TRACE_OPTION("trace_mode", trace_mode = HBBP_TRACE_VERIFY + 1);
  CHECK_TRACE_OPTION("65536", burst_branches = HBBP_MAX_BURST_BRANCHES + 1);
  CHECK_TRACE_OPTION("burst_branches", burst_branches = UINT32_MAX);
  CHECK_TRACE_OPTION("burst_branches", burst_branches = 1);
  CHECK_TRACE_OPTION("include_kernel", include_kernel = 1);
#undef CHECK_TRACE_OPTION
#undef CHECK_OPTION

  HBBP_INIT(hbbp_session_options, traced);
  traced.source = HBBP_SOURCE_SWBT;
  traced.trace_mode = HBBP_TRACE_VERIFY;
  traced.burst_branches = HBBP_MAX_BURST_BRANCHES;
  CHECK_OK(create(&traced, &error));
  traced.source = HBBP_SOURCE_EBS_AND_SWBT;
  CHECK_OK(create(&traced, &error));
  traced.pid = 1;
  CHECK_OK(create(&traced, &error));
  traced.source = HBBP_SOURCE_AUTO; /* which traces branches if options of that are given */
  CHECK_OK(create(&traced, &error));
  traced.source = HBBP_SOURCE_NONE; /* the same */
  CHECK_OK(create(&traced, &error));
  traced.trace_mode = 0;
  CHECK_OK(create(&traced, &error));
  traced.burst_branches = 0;
  CHECK_OK(create(&traced, &error));

  HBBP_INIT(hbbp_session_options, all);
  all.source = HBBP_SOURCE_EBS;
  all.event = HBBP_EVENT_CYCLES;
  all.period_mode = HBBP_PERIOD_RANDOM;
  all.period = INT64_MAX;
  all.include_kernel = 1;
  all.buffer_bytes = 1u << 30;
  CHECK_OK(create(&all, &error));
  const struct {
    hbbp_source_kind source;
    uint32_t enable_on_exec;
    hbbp_status status;
  } waiting[] = {{HBBP_SOURCE_EBS, 1, HBBP_OK},
                 {HBBP_SOURCE_AUTO, 1, HBBP_OK},
                 {HBBP_SOURCE_EBS, 2, HBBP_ERROR_INVALID_ARGUMENT},
                 {HBBP_SOURCE_SWBT, 1, HBBP_OK},
                 {HBBP_SOURCE_EBS_AND_SWBT, 1, HBBP_OK},
                 {HBBP_SOURCE_EXTERNAL, 1, HBBP_ERROR_INVALID_ARGUMENT}};
  for (size_t i = 0; i < sizeof(waiting) / sizeof(waiting[0]); ++i) {
    HBBP_INIT(hbbp_session_options, options);
    options.pid = (uint64_t)getpid();
    options.source = waiting[i].source;
    options.enable_on_exec = waiting[i].enable_on_exec;
    hbbp_session *session = NULL;
    CHECK(hbbp_session_create(&options, &session, NULL) == waiting[i].status);
    hbbp_session_destroy(session);
  }
}

/* Options as a program passes them that was compiled against another version of the library. */
struct other_options {
  hbbp_session_options known;
  unsigned char added[64];
};

static void test_input_sizes(void) {
  struct other_options other;
  memset(&other, 0, sizeof(other));
  const uint32_t full = (uint32_t)sizeof(hbbp_session_options);
  const uint32_t refused[] = {0, 1, 4, 7, 4097, UINT32_MAX};
  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); ++i) {
    other.known.struct_size = refused[i];
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "struct_size", create(&other.known, &error));
  }

  /* An older program's struct ends earlier: memory after it is not read. */
  other.known.struct_size = (uint32_t)offsetof(hbbp_session_options, period);
  other.known.period = UINT64_MAX;
  other.known.include_kernel = 77;
  CHECK_OK(create(&other.known, &error));
  other.known.struct_size = (uint32_t)offsetof(hbbp_session_options, frequency_hz);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "period", create(&other.known, &error));
  memset(&other, 0, sizeof(other));

  other.known.struct_size = (uint32_t)sizeof(other);
  CHECK_OK(create(&other.known, &error));
  for (size_t i = 0; i < sizeof(other.added); ++i) {
    other.added[i] = 1;
    other.known.struct_size = (uint32_t)sizeof(other);
    CHECK_FAILS(HBBP_ERROR_VERSION, "hbbp_session_options", create(&other.known, &error));
    other.known.struct_size = full + (uint32_t)i;
    CHECK_OK(create(&other.known, &error));
    other.added[i] = 0;
  }
}

/* Calls `call` with outputs of all sizes; `call` fills the struct at `output`. */
#define CHECK_OUTPUT_SIZES(type, call)                                                           \
  do {                                                                                           \
    union {                                                                                      \
      type value;                                                                                \
      unsigned char bytes[sizeof(type) + 64];                                                    \
    } whole, part;                                                                               \
    type *output = &whole.value;                                                                 \
    memset(&whole, 0xaa, sizeof(whole));                                                         \
    whole.value.struct_size = (uint32_t)sizeof(type);                                            \
    CHECK_OK(call);                                                                              \
    for (size_t i = sizeof(type); i < sizeof(whole); ++i) CHECK(whole.bytes[i] == 0xaa);         \
    output = &part.value;                                                                        \
    for (uint32_t size = 0; size <= sizeof(part); ++size) {                                      \
      memset(&part, 0xaa, sizeof(part));                                                         \
      part.value.struct_size = size;                                                             \
      if (size < 8) {                                                                            \
        CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "struct_size", call);                           \
        for (size_t i = 4; i < sizeof(part); ++i) CHECK(part.bytes[i] == 0xaa);                  \
        continue;                                                                                \
      }                                                                                          \
      CHECK_OK(call);                                                                            \
      CHECK(part.value.struct_size == size);                                                     \
      for (size_t i = 4; i < sizeof(part); ++i) {                                                \
        const unsigned char expected = i >= size ? 0xaa : i < sizeof(type) ? whole.bytes[i] : 0; \
        if (part.bytes[i] != expected) {                                                         \
          report(__FILE__, __LINE__, "byte of a " #type " of another size");                     \
          break;                                                                                 \
        }                                                                                        \
      }                                                                                          \
    }                                                                                            \
  } while (0)

static void test_error_sizes(void) {
  HBBP_INIT(hbbp_error, whole);
  CHECK(hbbp_session_start(NULL, &whole) == HBBP_ERROR_INVALID_ARGUMENT);
  const size_t length = strlen(whole.message);
  CHECK(length > 10);
  for (size_t room = 0; room <= length + 1; ++room) {
    hbbp_error cut;
    memset(&cut, 0x55, sizeof(cut));
    cut.struct_size = (uint32_t)(offsetof(hbbp_error, message) + room);
    CHECK(hbbp_session_start(NULL, &cut) == HBBP_ERROR_INVALID_ARGUMENT);
    if (room == 0) {
      CHECK(cut.status == 0x55555555);
      continue;
    }
    CHECK(cut.status == HBBP_ERROR_INVALID_ARGUMENT);
    CHECK(strlen(cut.message) == room - 1);
    CHECK(strncmp(cut.message, whole.message, room - 1) == 0);
    for (size_t i = room; i < sizeof(cut.message); ++i) CHECK(cut.message[i] == 0x55);
  }
  hbbp_error unset;
  memset(&unset, 0, sizeof(unset));
  CHECK(hbbp_session_start(NULL, &unset) == HBBP_ERROR_INVALID_ARGUMENT);
  CHECK(unset.status == 0 && unset.message[0] == '\0');
}

static void test_files(const char *directory) {
  char path[512];
  hbbp_profile *profile = NULL;
  snprintf(path, sizeof(path), "%s/none", directory);
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, path, hbbp_profile_load(path, NULL, &profile, &error));
  CHECK_FAILS(HBBP_ERROR_IO, directory, hbbp_profile_load(directory, NULL, &profile, &error));
  snprintf(path, sizeof(path), "%s/text", directory);
  FILE *const file = fopen(path, "w");
  CHECK(file != NULL);
  if (file == NULL) return;
  CHECK(fputs("not a profile\n", file) >= 0);
  CHECK(fclose(file) == 0);
  CHECK_FAILS(HBBP_ERROR_BAD_FORMAT, path, hbbp_profile_load(path, NULL, &profile, &error));
  CHECK(profile == NULL);
  CHECK(unlink(path) == 0);
}

static uint64_t reason_of(const hbbp_analysis *analysis, size_t source, const char *name) {
  for (size_t i = 0; i < hbbp_analysis_unexplained_reason_count(analysis, source); ++i) {
    HBBP_INIT(hbbp_counter, reason);
    CHECK_ELEMENT_OF_SOURCE(hbbp_analysis_copy_unexplained_reasons, analysis, source, i, &reason);
    if (strcmp(reason.name, name) == 0) return reason.value;
  }
  CHECK(0);
  return UINT64_MAX;
}

static void check_stream_source(const hbbp_profile *profile, const hbbp_analysis *analysis) {
  const size_t index = 2;
  HBBP_INIT(hbbp_source_info, source);
  CHECK_ELEMENT(hbbp_profile_copy_sources, profile, index, &source);
  CHECK(source.kind == HBBP_SOURCE_SWBT);
  CHECK(source.samples == 3);
  CHECK(source.unmapped == 1);
  CHECK(source.bursts == 31);
  CHECK(source.taken_branches == 32);
  CHECK(source.breakpoints == 33);
  CHECK(source.lookahead_instructions == 34);
  CHECK(source.decoded_instructions == 35);
  CHECK(source.handler_ns == 36);
  CHECK(source.verified_branches == 37);
  CHECK(source.disagreements == 38);
  CHECK(strcmp(source.mode, "lookahead") == 0);
  CHECK(strcmp(source.method, "timers: no perf events here") == 0);

  CHECK(hbbp_profile_counter_count(profile, 0) == 0);
  CHECK(hbbp_profile_counter_count(profile, index) == 2);
  HBBP_INIT(hbbp_counter, counter);
  CHECK_ELEMENT_OF_SOURCE(hbbp_profile_copy_counters, profile, index, 1, &counter);
  CHECK(strcmp(counter.name, "unreadable-memory") == 0 && counter.value == 42);
  hbbp_counter counters[3];
  size_t copied = 0;
  CHECK_OK(
      hbbp_profile_copy_counters(profile, index, 0, 3, sizeof(counter), counters, &copied, &error));
  CHECK(copied == 2 && counters[1].value == 42 && counters[1].struct_size == sizeof(counter));
  CHECK_OK(
      hbbp_profile_copy_counters(profile, index, 2, 1, sizeof(counter), counters, &copied, &error));
  CHECK(copied == 0);
  CHECK_OK(hbbp_profile_copy_counters(profile, index, SIZE_MAX, SIZE_MAX, sizeof(counter), counters,
                                      &copied, &error));
  CHECK(copied == 0);
  const size_t sources = hbbp_profile_source_count(profile);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "source",
              hbbp_profile_copy_counters(profile, sources, 0, 1, sizeof(counter), counters, &copied,
                                         &error));
  CHECK_FAILS(
      HBBP_ERROR_INVALID_ARGUMENT, "counters",
      hbbp_profile_copy_counters(profile, index, 0, 1, sizeof(counter), NULL, &copied, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "size",
              hbbp_profile_copy_counters(profile, index, 0, 1, 4, counters, &copied, &error));
  CHECK_FAILS(
      HBBP_ERROR_INVALID_ARGUMENT, "copied",
      hbbp_profile_copy_counters(profile, index, 0, 1, sizeof(counter), counters, NULL, &error));

  HBBP_INIT(hbbp_source_result, result);
  CHECK_ELEMENT(hbbp_analysis_copy_sources, analysis, index, &result);
  CHECK(result.unexplained == 6 && result.superseded == 0);
  CHECK(hbbp_analysis_unexplained_reason_count(analysis, SIZE_MAX) == 0);
  CHECK(hbbp_analysis_unexplained_reason_count(analysis, index) == 7);
  CHECK_OK(hbbp_analysis_copy_unexplained_reasons(analysis, index, 7, 1, sizeof(counter), counters,
                                                  &copied, &error));
  CHECK(copied == 0);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "source",
              hbbp_analysis_copy_unexplained_reasons(analysis, sources, 0, 1, sizeof(counter),
                                                     counters, &copied, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "reasons",
              hbbp_analysis_copy_unexplained_reasons(analysis, index, 0, 1, sizeof(counter), NULL,
                                                     &copied, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "copied",
              hbbp_analysis_copy_unexplained_reasons(analysis, index, 0, 1, sizeof(counter),
                                                     counters, NULL, &error));
  CHECK(reason_of(analysis, index, "no-code") == 1);
  CHECK(reason_of(analysis, index, "undecodable") == 1);
  CHECK(reason_of(analysis, index, "leaves-module") == 1);
  CHECK(reason_of(analysis, index, "backwards") == 1);
  CHECK(reason_of(analysis, index, "passes-branch") == 1);
  CHECK(reason_of(analysis, index, "not-a-branch") == 1);
  CHECK(reason_of(analysis, index, "too-long") == 0);
}

/* Reads the file that is made for the fuzzers: an EBS source, one of IBS, one of SWBT. */
/* Of a profile without slices. */
static void test_merger(const hbbp_profile *profile) {
  HBBP_INIT(hbbp_profile_info, one);
  HBBP_INIT(hbbp_profile_info, both);
  CHECK_OK(hbbp_profile_get_info(profile, &one, &error));
  CHECK(one.recordings == 1);
  hbbp_merger *merger = NULL;
  hbbp_profile *merged = NULL;
  CHECK_OK(hbbp_merger_create(NULL, &merger, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "no profile",
              hbbp_merger_finish(merger, NULL, &merged, &error));
  CHECK_OK(hbbp_merger_add(merger, profile, NULL, &error));
  CHECK_OK(hbbp_merger_add(merger, profile, NULL, &error));
  CHECK_OK(hbbp_merger_finish(merger, NULL, &merged, &error));
  CHECK_OK(hbbp_profile_get_info(merged, &both, &error));
  CHECK(both.recordings == 2);
  CHECK(both.samples == 2 * one.samples);
  CHECK(hbbp_profile_thread_count(merged) == hbbp_profile_thread_count(profile));
  hbbp_profile *const untouched = merged;
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "finished",
              hbbp_merger_finish(merger, NULL, &merged, &error));
  CHECK(merged == untouched);
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "finished", hbbp_merger_add(merger, profile, NULL, &error));
  hbbp_merger_destroy(merger);

  HBBP_INIT(hbbp_merger_options, options);
  options.dropped = HBBP_MERGER_DROP_THREADS | HBBP_MERGER_DROP_SLICES;
  hbbp_profile *dropped = NULL;
  CHECK_OK(hbbp_merger_create(&options, &merger, &error));
  CHECK_OK(hbbp_merger_add(merger, merged, NULL, &error));
  CHECK_OK(hbbp_merger_finish(merger, NULL, &dropped, &error));
  CHECK(hbbp_profile_thread_count(dropped) == 1);
  CHECK_OK(hbbp_profile_get_info(dropped, &both, &error));
  CHECK(both.samples == 2 * one.samples);
  CHECK(both.recordings == 2);
  hbbp_merger_destroy(merger);
  hbbp_profile_destroy(dropped);
  hbbp_profile_destroy(merged);

  hbbp_cancel *cancel = NULL;
  CHECK_OK(hbbp_cancel_create(&cancel, &error));
  hbbp_cancel_set(cancel, 1);
  HBBP_INIT(hbbp_work_options, work);
  work.cancel = cancel;
  CHECK_OK(hbbp_merger_create(NULL, &merger, &error));
  CHECK_FAILS(HBBP_ERROR_CANCELLED, "cancelled", hbbp_merger_add(merger, profile, &work, &error));
  hbbp_merger_destroy(merger);
  hbbp_cancel_destroy(cancel);
}

static void test_streams(const char *path) {
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_profile_load(path, NULL, &profile, &error));
  if (profile == NULL) return;
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  check_stream_source(profile, analysis);

  CHECK(hbbp_analysis_block_count(analysis) > 0);
  for (size_t i = 0; i < hbbp_analysis_block_count(analysis); ++i) {
    HBBP_INIT(hbbp_block, block);
    CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, i, &block);
    CHECK(block.source == HBBP_SOURCE_SWBT);
    CHECK(block.samples > 0 && block.standard_error > 0);
    /* 7 streams of the weight 250, and one more. */
    if (block.start == 0x7004) CHECK(block.samples == 8 && block.count == 2000);
  }
  uint64_t observed = 0;
  double executed = 0;
  for (size_t i = 0; i < hbbp_analysis_branch_count(analysis); ++i) {
    HBBP_INIT(hbbp_branch, branch);
    CHECK_ELEMENT(hbbp_analysis_copy_branches, analysis, i, &branch);
    const int is_mapped = branch.from_module == 0;
    CHECK(branch.from == (is_mapped ? 0x700a : HBBP_NO_ADDRESS));
    CHECK(branch.to_module == (is_mapped ? 0 : HBBP_NO_INDEX));
    observed += branch.samples;
    executed += branch.count;
  }
  CHECK(observed == 20);
  CHECK(executed == 17 * 250);
  CHECK_LIST(hbbp_branch, hbbp_analysis_branch_count, hbbp_analysis_copy_branches, "analysis",
             "branches", analysis);

  const hbbp_profile *const twice[2] = {profile, profile};
  hbbp_profile *merged = NULL;
  CHECK_OK(hbbp_profile_merge(twice, 2, NULL, &merged, &error));
  HBBP_INIT(hbbp_source_info, source);
  CHECK_ELEMENT(hbbp_profile_copy_sources, merged, 2, &source);
  CHECK(source.bursts == 62 && source.samples == 6);
  CHECK(strcmp(source.mode, "lookahead") == 0);
  hbbp_profile_destroy(merged);
  test_merger(profile);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
}

static void check_out_of_range(const hbbp_profile *profile, const hbbp_analysis *analysis) {
  HBBP_INIT(hbbp_block, block);
  HBBP_INIT(hbbp_instruction, instruction);
  HBBP_INIT(hbbp_disassembly, disassembly);
  hbbp_profile *selected = NULL;
  const uint32_t modules = (uint32_t)hbbp_profile_module_count(profile);
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "module",
              hbbp_analysis_find_block(analysis, modules, 0, &block, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "module",
              hbbp_analysis_decode(analysis, UINT32_MAX, 0, &instruction, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "module",
              hbbp_analysis_disassemble(analysis, modules, 0, &disassembly, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "0x",
              hbbp_analysis_find_block(analysis, 0, UINT64_MAX, &block, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "0x",
              hbbp_analysis_decode(analysis, 0, UINT64_MAX, &instruction, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "0x",
              hbbp_analysis_disassemble(analysis, 0, UINT64_MAX, &disassembly, &error));
  HBBP_INIT(hbbp_selection, selection);
  selection.parts = HBBP_SELECT_THREAD;
  selection.tid = UINT32_MAX;
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "4294967295",
              hbbp_profile_select(profile, &selection, NULL, &selected, &error));
  CHECK(selected == NULL);
}

/* Checks lists that are not empty. */
static void check_lists(const hbbp_profile *profile, const hbbp_analysis *analysis) {
  CHECK_LIST(hbbp_source_info, hbbp_profile_source_count, hbbp_profile_copy_sources, "profile",
             "sources", profile);
  CHECK_LIST(hbbp_thread, hbbp_profile_thread_count, hbbp_profile_copy_threads, "profile",
             "threads", profile);
  CHECK_LIST(hbbp_module, hbbp_profile_module_count, hbbp_profile_copy_modules, "profile",
             "modules", profile);
  CHECK_LIST(hbbp_block, hbbp_analysis_block_count, hbbp_analysis_copy_blocks, "analysis", "blocks",
             analysis);
  CHECK_LIST(hbbp_function, hbbp_analysis_function_count, hbbp_analysis_copy_functions, "analysis",
             "functions", analysis);
  CHECK_LIST(hbbp_module_result, hbbp_analysis_module_count, hbbp_analysis_copy_modules, "analysis",
             "modules", analysis);
  CHECK_LIST(hbbp_source_result, hbbp_analysis_source_count, hbbp_analysis_copy_sources, "analysis",
             "sources", analysis);
  CHECK(hbbp_analysis_module_count(analysis) == hbbp_profile_module_count(profile));
  CHECK(hbbp_analysis_source_count(analysis) == hbbp_profile_source_count(profile));
}

static void check_block(const hbbp_analysis *analysis, const hbbp_block *block) {
  HBBP_INIT(hbbp_block, found);
  CHECK_OK(hbbp_analysis_find_block(analysis, block->module, block->end - 1, &found, &error));
  CHECK(memcmp(&found, block, sizeof(found)) == 0);
  uint64_t address = block->start;
  for (uint32_t i = 0; i < block->instruction_count; ++i) {
    HBBP_INIT(hbbp_instruction, instruction);
    CHECK_OK(hbbp_analysis_decode(analysis, block->module, address, &instruction, &error));
    CHECK(instruction.address == address);
    CHECK(instruction.length >= 1 && instruction.length <= 15);
    CHECK(instruction.mnemonic[0] != '\0');
    address += instruction.length;
  }
  CHECK(address == block->end);
  CHECK(block->count > 0 && block->standard_error > 0 && block->samples > 0);
  CHECK(block->source == HBBP_SOURCE_EBS);
}

/* Checks everything that must be consistent in any profile of one source. Returns the instructions
 * executed. */
static double check_consistency(const hbbp_profile *profile) {
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  HBBP_INIT(hbbp_profile_info, info);
  CHECK_OK(hbbp_profile_get_info(profile, &info, &error));
  uint64_t samples = 0;
  uint64_t unexplained = 0;
  for (size_t i = 0; i < hbbp_profile_source_count(profile); ++i) {
    HBBP_INIT(hbbp_source_info, source);
    HBBP_INIT(hbbp_source_result, result);
    CHECK_ELEMENT(hbbp_profile_copy_sources, profile, i, &source);
    CHECK_ELEMENT(hbbp_analysis_copy_sources, analysis, i, &result);
    CHECK(source.kind == HBBP_SOURCE_EBS && result.superseded == 0);
    CHECK(source.event == HBBP_EVENT_TASK_CLOCK);
    CHECK(source.unit == HBBP_UNIT_NANOSECONDS);
    CHECK(source.note != NULL);
    samples += source.samples;
    unexplained += result.unexplained;
  }
  CHECK(samples == info.samples);

  uint64_t in_threads = 0;
  for (size_t i = 0; i < hbbp_profile_thread_count(profile); ++i) {
    HBBP_INIT(hbbp_thread, thread);
    CHECK_ELEMENT(hbbp_profile_copy_threads, profile, i, &thread);
    CHECK(thread.pid == info.pid && thread.tid != 0 && thread.samples > 0);
    in_threads += thread.samples;
  }
  CHECK(in_threads + info.unmapped == info.samples);

  uint64_t in_modules = 0;
  for (size_t i = 0; i < hbbp_profile_module_count(profile); ++i) {
    HBBP_INIT(hbbp_module, module);
    CHECK_ELEMENT(hbbp_profile_copy_modules, profile, i, &module);
    HBBP_INIT(hbbp_module_result, result);
    CHECK_ELEMENT(hbbp_analysis_copy_modules, analysis, i, &result);
    CHECK(module.path[0] != '\0');
    CHECK((module.samples == 0) == (result.code == HBBP_CODE_NOT_SOUGHT));
    const int is_missing = result.code == HBBP_CODE_MISSING || result.code == HBBP_CODE_MISMATCH;
    CHECK((result.problem[0] != '\0') == is_missing);
    in_modules += module.samples;
  }
  CHECK(in_modules == in_threads);

  const size_t block_count = hbbp_analysis_block_count(analysis);
  const size_t function_count = hbbp_analysis_function_count(analysis);
  double *const of_function = (double *)calloc(function_count + 1, sizeof(double));
  double instructions = 0;
  uint64_t in_blocks = 0;
  hbbp_block previous;
  memset(&previous, 0, sizeof(previous));
  for (size_t i = 0; i < block_count; ++i) {
    HBBP_INIT(hbbp_block, block);
    CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, i, &block);
    CHECK(block.function < function_count);
    CHECK(i == 0 || block.module > previous.module || block.start >= previous.end);
    check_block(analysis, &block);
    of_function[block.function] += block.count * block.instruction_count;
    instructions += block.count * block.instruction_count;
    in_blocks += block.samples;
    previous = block;
  }
  CHECK(in_blocks + unexplained == in_threads);
  for (size_t i = 0; i < function_count; ++i) {
    HBBP_INIT(hbbp_function, function);
    CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, i, &function);
    CHECK(nearly(function.instructions, of_function[i]));
    CHECK(function.name[0] != '\0');
    CHECK(function.start < function.end);
  }
  free(of_function);
  hbbp_analysis_destroy(analysis);
  return instructions;
}

static void check_mixes(const hbbp_analysis *analysis, double instructions) {
  hbbp_mix *mix = NULL;
  for (hbbp_mix_keys keys = 0; keys < 16; ++keys) {
    CHECK_OK(hbbp_mix_create(analysis, keys, NULL, &mix, &error));
    const double total = hbbp_mix_total(mix);
    CHECK(nearly(total, instructions));
    double sum = 0;
    double shares = 0;
    const hbbp_mix_keys used = keys == 0 ? (hbbp_mix_keys)HBBP_MIX_BY_MNEMONIC : keys;
    for (size_t i = 0; i < hbbp_mix_row_count(mix); ++i) {
      HBBP_INIT(hbbp_mix_row, row);
      CHECK_ELEMENT(hbbp_mix_copy_rows, mix, i, &row);
      CHECK((row.mnemonic[0] != '\0') == ((used & HBBP_MIX_BY_MNEMONIC) != 0));
      CHECK((row.module != HBBP_NO_INDEX) == ((used & HBBP_MIX_BY_MODULE) != 0));
      CHECK((row.function != HBBP_NO_INDEX) == ((used & HBBP_MIX_BY_FUNCTION) != 0));
      CHECK((row.thread != HBBP_NO_INDEX) == ((used & HBBP_MIX_BY_THREAD) != 0));
      CHECK(row.instructions > 0 && row.standard_error > 0);
      CHECK(nearly(row.share, row.instructions / total));
      sum += row.instructions;
      shares += row.share;
    }
    CHECK(sum == total);
    CHECK(nearly(shares, 1));
    CHECK_LIST(hbbp_mix_row, hbbp_mix_row_count, hbbp_mix_copy_rows, "mix", "rows", mix);
    hbbp_mix_destroy(mix);
  }
  mix = NULL;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "keys",
              hbbp_mix_create(analysis, 1u << 20, NULL, &mix, &error));
  CHECK(mix == NULL);
}

static void check_copies(const hbbp_analysis *analysis) {
  const size_t count = hbbp_analysis_block_count(analysis);
  size_t copied = 12345;
  hbbp_block *const blocks = (hbbp_block *)calloc(count + 1, sizeof(hbbp_block));
  struct longer_block {
    hbbp_block known;
    uint64_t added;
  };
  struct longer_block *const longer =
      (struct longer_block *)calloc(count + 1, sizeof(struct longer_block));
  CHECK_OK(hbbp_analysis_copy_blocks(analysis, 0, count + 1, sizeof(hbbp_block), blocks, &copied,
                                     &error));
  CHECK(copied == count);
  for (size_t i = 0; i < count; ++i) longer[i].added = 1;
  CHECK_OK(hbbp_analysis_copy_blocks(analysis, 0, count, sizeof(struct longer_block),
                                     &longer[0].known, &copied, &error));
  CHECK(copied == count);
  for (size_t i = 0; i < count; ++i) {
    HBBP_INIT(hbbp_block, block);
    CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, i, &block);
    CHECK(memcmp(&block, &blocks[i], sizeof(block)) == 0);
    CHECK(longer[i].known.struct_size == sizeof(struct longer_block));
    CHECK(longer[i].known.start == block.start && longer[i].known.count == block.count);
    CHECK(longer[i].added == 0);
  }
  CHECK(blocks[count].struct_size == 0);
  memset(blocks, 0, sizeof(hbbp_block));
  CHECK_OK(hbbp_analysis_copy_blocks(analysis, count - 1, 5, sizeof(hbbp_block), blocks, &copied,
                                     &error));
  CHECK(copied == 1);
  CHECK(blocks[0].start == longer[count - 1].known.start);
  CHECK_OK(
      hbbp_analysis_copy_blocks(analysis, count, 5, sizeof(hbbp_block), blocks, &copied, &error));
  CHECK(copied == 0);
  CHECK_OK(hbbp_analysis_copy_blocks(analysis, SIZE_MAX, SIZE_MAX, sizeof(hbbp_block), blocks,
                                     &copied, &error));
  CHECK(copied == 0);
  free(blocks);
  free(longer);
}

static void test_taxonomies(void) {
  hbbp_taxonomy *taxonomy = NULL;
  CHECK_OK(hbbp_taxonomy_create(NULL, &taxonomy, &error));
  CHECK(hbbp_taxonomy_count(taxonomy) > 0);
  CHECK(strcmp(hbbp_taxonomy_name(taxonomy, 0), "groups") == 0);
  hbbp_taxonomy_destroy(taxonomy);
  CHECK_OK(hbbp_taxonomy_create("[mine]\nslow: category = divide\nfast: category = logic\n",
                                &taxonomy, &error));
  CHECK(hbbp_taxonomy_count(taxonomy) == 1);
  CHECK(strcmp(hbbp_taxonomy_name(taxonomy, 0), "mine") == 0);
  CHECK(hbbp_taxonomy_name(taxonomy, 1) == NULL);
  CHECK(hbbp_taxonomy_group_count(taxonomy, 0) == 2);
  CHECK(hbbp_taxonomy_group_count(taxonomy, 1) == 0);
  CHECK(strcmp(hbbp_taxonomy_group_name(taxonomy, 0, 1), "fast") == 0);
  CHECK(hbbp_taxonomy_group_name(taxonomy, 0, 2) == NULL);
  hbbp_taxonomy_destroy(taxonomy);
  taxonomy = NULL;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "did you mean 'category'",
              hbbp_taxonomy_create("slow: categry = divide\n", &taxonomy, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "taxonomy 'slice'",
              hbbp_taxonomy_create("[slice]\nslow: category = divide\n", &taxonomy, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "/none", hbbp_taxonomy_load("/none", &taxonomy, &error));
  CHECK(taxonomy == NULL);
}

static void check_pivot_errors(const hbbp_analysis *analysis) {
  hbbp_pivot *pivot = NULL;
#define CHECK_QUERY(word, assignment)                                       \
  do {                                                                      \
    HBBP_INIT(hbbp_pivot_query, query);                                     \
    query.assignment;                                                       \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, word,                          \
                hbbp_pivot_create(analysis, &query, NULL, &pivot, &error)); \
  } while (0)
  CHECK_QUERY("did you mean 'mnemonic'", rows = "mnemnic");
  CHECK_QUERY("did you mean 'extension'", columns = "extention");
  CHECK_QUERY("did you mean 'groups'", columns = "group");
  CHECK_QUERY("did you mean 'flops'", values = "flop");
  CHECK_QUERY("twice", rows = "module,module");
  CHECK_QUERY("twice", values = "bytes,bytes");
  CHECK_QUERY("no key is called ''", rows = "module,");
  CHECK_QUERY("no key is called ''", rows = ",module");
  CHECK_QUERY("no key is called ''", columns = "module, ");
  CHECK_QUERY("no value is called ''", values = "bytes,");
  CHECK_QUERY("value", values = "");
  CHECK_QUERY("sort", sort = "bytes");
  CHECK_QUERY("column 1", where = "modul = x");
  CHECK_QUERY("column 10", where = "packing =");
  CHECK_QUERY("struct_size", struct_size = 0);
  CHECK_QUERY("join_names", join_names = 2);
#undef CHECK_QUERY
  CHECK(pivot == NULL);
}

/* Reads every cell, by two keys, with a condition and without. */
static void check_pivots(const hbbp_analysis *analysis, double instructions) {
  check_pivot_errors(analysis);
  HBBP_INIT(hbbp_pivot_query, query);
  query.rows = "module, function";
  query.columns = "memory";
  query.values = "instructions,executions,bytes,read-bytes,written-bytes,flops";
  query.sort = "bytes";
  hbbp_pivot *pivot = NULL;
  CHECK_OK(hbbp_pivot_create(analysis, &query, NULL, &pivot, &error));
  CHECK(hbbp_pivot_key_count(pivot, HBBP_PIVOT_ROWS) == 2);
  CHECK(hbbp_pivot_key_count(pivot, HBBP_PIVOT_COLUMNS) == 1);
  CHECK(hbbp_pivot_key_count(pivot, 7) == 0);
  CHECK(hbbp_pivot_value_count(pivot) == 6);
  const size_t rows = hbbp_pivot_line_count(pivot, HBBP_PIVOT_ROWS);
  const size_t columns = hbbp_pivot_line_count(pivot, HBBP_PIVOT_COLUMNS);
  CHECK(rows > 0 && rows == hbbp_pivot_line_count_in_all(pivot, HBBP_PIVOT_ROWS));
  CHECK(columns > 0 && hbbp_pivot_line_count(pivot, 7) == 0);
  double sum = 0;
  double shares = 0;
  double last_bytes = 0;
  for (size_t row = 0; row < rows; ++row) {
    HBBP_INIT(hbbp_pivot_label, label);
    CHECK_OK(hbbp_pivot_get_label(pivot, HBBP_PIVOT_ROWS, row, 1, &label, &error));
    HBBP_INIT(hbbp_function, function);
    CHECK_ELEMENT(hbbp_analysis_copy_functions, analysis, label.index, &function);
    CHECK(strcmp(function.name, label.text) == 0 && label.kind == HBBP_LABEL_TEXT);
    CHECK(label.number == 0);
    HBBP_INIT(hbbp_pivot_cell, whole_row);
    CHECK_OK(hbbp_pivot_get_cell(pivot, row, HBBP_PIVOT_ALL, 0, &whole_row, &error));
    CHECK(nearly(whole_row.value, function.instructions));
    double in_row = 0;
    for (size_t column = 0; column < columns; ++column) {
      HBBP_INIT(hbbp_pivot_cell, cell);
      CHECK_OK(hbbp_pivot_get_cell(pivot, row, column, 0, &cell, &error));
      CHECK(cell.value >= 0 && cell.standard_error >= 0 && cell.share_error >= 0);
      in_row += cell.value;
      shares += cell.share;
    }
    CHECK(nearly(in_row, whole_row.value));
    sum += in_row;
    HBBP_INIT(hbbp_pivot_cell, bytes);
    CHECK_OK(hbbp_pivot_get_cell(pivot, row, HBBP_PIVOT_ALL, 2, &bytes, &error));
    CHECK(row == 0 || bytes.value <= last_bytes);
    CHECK(bytes.value >= whole_row.value);
    last_bytes = bytes.value;
  }
  CHECK(nearly(sum, instructions) && nearly(shares, 1));
  HBBP_INIT(hbbp_pivot_label, label);
  HBBP_INIT(hbbp_pivot_cell, cell);
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "index",
              hbbp_pivot_get_label(pivot, HBBP_PIVOT_ROWS, rows, 0, &label, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "index",
              hbbp_pivot_get_label(pivot, HBBP_PIVOT_ROWS, 0, 2, &label, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "axis",
              hbbp_pivot_get_label(pivot, 7, 0, 0, &label, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "index", hbbp_pivot_get_cell(pivot, rows, 0, 0, &cell, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "index",
              hbbp_pivot_get_cell(pivot, 0, columns, 0, &cell, &error));
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, "index", hbbp_pivot_get_cell(pivot, 0, 0, 6, &cell, &error));
  CHECK_OUTPUT_SIZES(hbbp_pivot_label,
                     hbbp_pivot_get_label(pivot, HBBP_PIVOT_ROWS, 0, 0, output, &error));
  CHECK_OUTPUT_SIZES(hbbp_pivot_cell, hbbp_pivot_get_cell(pivot, 0, 0, 0, output, &error));
  hbbp_pivot_destroy(pivot);

  /* A condition and its opposite together keep everything. */
  double halves = 0;
  const char *const conditions[] = {"memory != none", "not memory != none"};
  for (size_t i = 0; i < 2; ++i) {
    HBBP_INIT(hbbp_pivot_query, half);
    half.where = conditions[i];
    half.rows = "";
    half.top = 1;
    CHECK_OK(hbbp_pivot_create(analysis, &half, NULL, &pivot, &error));
    CHECK_OK(hbbp_pivot_get_cell(pivot, HBBP_PIVOT_ALL, HBBP_PIVOT_ALL, 0, &cell, &error));
    halves += cell.value;
    hbbp_pivot_destroy(pivot);
  }
  CHECK(nearly(halves, instructions));

  HBBP_INIT(hbbp_pivot_query, by_mnemonic);
  CHECK_OK(hbbp_pivot_create(analysis, &by_mnemonic, NULL, &pivot, &error));
  CHECK_OK(hbbp_pivot_get_label(pivot, HBBP_PIVOT_ROWS, 0, 0, &label, &error));
  CHECK(label.kind == HBBP_LABEL_TEXT && label.index == HBBP_NO_INDEX && label.number == 0);
  hbbp_pivot_destroy(pivot);

  hbbp_ratios *ratios = NULL;
  CHECK_OK(hbbp_ratios_create(analysis, NULL, NULL, NULL, &ratios, &error));
  HBBP_INIT(hbbp_ratio, ratio);
  CHECK_ELEMENT(hbbp_ratios_copy, ratios, 0, &ratio);
  CHECK(ratio.is_known == 1 && strcmp(ratio.name, "instructions") == 0);
  CHECK(nearly(ratio.value, instructions) && ratio.standard_error > 0);
  CHECK_LIST(hbbp_ratio, hbbp_ratios_count, hbbp_ratios_copy, "ratios", "elements", ratios);
  hbbp_ratios_destroy(ratios);
}

static void check_key_names(void) {
  CHECK(strcmp(hbbp_pivot_key_name(0), "process") == 0);
  for (size_t i = 0; i < hbbp_pivot_key_name_count(); ++i) {
    CHECK(strlen(hbbp_pivot_key_name(i)) > 0);
  }
  CHECK(hbbp_pivot_key_name(hbbp_pivot_key_name_count()) == NULL);
  CHECK(strcmp(hbbp_pivot_value_name(0), "instructions") == 0);
  CHECK(hbbp_pivot_value_name(hbbp_pivot_value_name_count()) == NULL);
}

static void check_output_sizes(hbbp_session *session, const hbbp_profile *profile,
                               const hbbp_analysis *analysis) {
  HBBP_INIT(hbbp_block, block);
  CHECK_ELEMENT(hbbp_analysis_copy_blocks, analysis, 0, &block);
  CHECK_OUTPUT_SIZES(hbbp_session_info, hbbp_session_get_info(session, output, &error));
  CHECK_OUTPUT_SIZES(hbbp_profile_info, hbbp_profile_get_info(profile, output, &error));
  CHECK_OUTPUT_SIZES(hbbp_analysis_info, hbbp_analysis_get_info(analysis, output, &error));
  CHECK_OUTPUT_SIZES(hbbp_block,
                     hbbp_analysis_find_block(analysis, block.module, block.start, output, &error));
  CHECK_OUTPUT_SIZES(hbbp_instruction,
                     hbbp_analysis_decode(analysis, block.module, block.start, output, &error));
  CHECK_OUTPUT_SIZES(hbbp_disassembly, hbbp_analysis_disassemble(analysis, block.module,
                                                                 block.start, output, &error));
}

/* Returns all executed instructions. */
static double total_of(const hbbp_profile *profile) {
  hbbp_analysis *analysis = NULL;
  hbbp_mix *mix = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  CHECK_OK(hbbp_mix_create(analysis, 0, NULL, &mix, &error));
  const double total = hbbp_mix_total(mix);
  hbbp_mix_destroy(mix);
  hbbp_analysis_destroy(analysis);
  return total;
}

static size_t blocks_of(const hbbp_profile *profile) {
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  const size_t blocks = hbbp_analysis_block_count(analysis);
  hbbp_analysis_destroy(analysis);
  return blocks;
}

static void check_threads_add_up(const hbbp_profile *profile, double instructions) {
  enum { kMaxThreads = 64 };
  hbbp_profile *parts[kMaxThreads];
  const size_t count = hbbp_profile_thread_count(profile);
  CHECK(count >= 2 && count <= kMaxThreads);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    HBBP_INIT(hbbp_thread, thread);
    HBBP_INIT(hbbp_selection, selection);
    CHECK_ELEMENT(hbbp_profile_copy_threads, profile, i, &thread);
    selection.parts = HBBP_SELECT_THREAD;
    selection.tid = thread.tid;
    CHECK_OK(hbbp_profile_select(profile, &selection, NULL, &parts[i], &error));
    CHECK(hbbp_profile_thread_count(parts[i]) == 1);
    sum += total_of(parts[i]);
  }
  CHECK(nearly(sum, instructions));
  hbbp_profile *merged = NULL;
  CHECK_OK(hbbp_profile_merge((const hbbp_profile *const *)parts, count, NULL, &merged, &error));
  CHECK(blocks_of(merged) == blocks_of(profile));
  CHECK(nearly(total_of(merged), instructions));
  hbbp_profile_destroy(merged);
  for (size_t i = 0; i < count; ++i) hbbp_profile_destroy(parts[i]);
}

struct reader {
  const hbbp_analysis *analysis;
  double instructions;
  pthread_t thread;
};

/* Calls all functions of an analysis whose results it may cache. It does not report failures
 * itself, since only one thread may. */
static void *read_analysis(void *argument) {
  struct reader *const reader = (struct reader *)argument;
  const hbbp_analysis *const analysis = reader->analysis;
  const size_t count = hbbp_analysis_block_count(analysis);
  for (size_t i = 0; i < count; ++i) {
    HBBP_INIT(hbbp_block, block);
    HBBP_INIT(hbbp_block, found);
    HBBP_INIT(hbbp_module, module);
    HBBP_INIT(hbbp_instruction, instruction);
    size_t copied = 0;
    if (hbbp_analysis_copy_blocks(analysis, i, 1, sizeof(block), &block, &copied, NULL) !=
            HBBP_OK ||
        hbbp_analysis_find_block(analysis, block.module, block.start, &found, NULL) != HBBP_OK ||
        hbbp_profile_copy_modules(hbbp_analysis_profile(analysis), block.module, 1, sizeof(module),
                                  &module, &copied, NULL) != HBBP_OK ||
        hbbp_analysis_decode(analysis, block.module, block.start, &instruction, NULL) != HBBP_OK) {
      return NULL;
    }
  }
  hbbp_loops *loops = NULL;
  hbbp_pivot *pivot = NULL;
  hbbp_mix *mix = NULL;
  HBBP_INIT(hbbp_pivot_query, query);
  query.rows = "loop,mnemonic";
  if (hbbp_loops_create(analysis, NULL, &loops, NULL) == HBBP_OK &&
      hbbp_pivot_create(analysis, &query, NULL, &pivot, NULL) == HBBP_OK &&
      hbbp_mix_create(analysis, 0, NULL, &mix, NULL) == HBBP_OK) {
    reader->instructions = hbbp_mix_total(mix);
  }
  hbbp_loops_destroy(loops);
  hbbp_pivot_destroy(pivot);
  hbbp_mix_destroy(mix);
  return NULL;
}

static void check_concurrent_readers(const hbbp_analysis *analysis, double instructions) {
  struct reader readers[4];
  for (int i = 0; i < 4; ++i) {
    readers[i].analysis = analysis;
    readers[i].instructions = -1;
    CHECK(pthread_create(&readers[i].thread, NULL, read_analysis, &readers[i]) == 0);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(readers[i].thread, NULL);
    CHECK(nearly(readers[i].instructions, instructions));
  }
}

/* Returns 77 if this machine does not allow sampling. */
static int test_session(const char *directory) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_PERF;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 500000;
  hbbp_session *session = NULL;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "not running", hbbp_session_stop(session, &error));

  HBBP_INIT(hbbp_error, refusal);
  const hbbp_status started = hbbp_session_start(session, &refusal);
  if (started == HBBP_ERROR_PERMISSION) {
    printf("SKIPPED: %s\n", refusal.message);
    hbbp_session_destroy(session);
    return 77;
  }
  CHECK(started == HBBP_OK);
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "running", hbbp_session_start(session, &error));
  HBBP_INIT(hbbp_session_info, info);
  CHECK_OK(hbbp_session_get_info(session, &info, &error));
  CHECK(info.running == 1);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work_in_thread, NULL) == 0);
  work(40000000);
  pthread_join(thread, NULL);
  hbbp_profile *early = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &early, &error));
  work(20000000);
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "not running", hbbp_session_stop(session, &error));
  CHECK_OK(hbbp_session_get_info(session, &info, &error));
  CHECK(info.running == 0);
  CHECK(info.samples > 50);
  CHECK(info.duration_ns > 0);
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  HBBP_INIT(hbbp_profile_info, profile_info);
  CHECK_OK(hbbp_profile_get_info(profile, &profile_info, &error));
  CHECK(profile_info.pid == (uint32_t)getpid());
  CHECK(profile_info.samples == info.samples);
  CHECK(profile_info.duration_ns == info.duration_ns);
  CHECK(strstr(profile_info.command, "capi") != NULL);
  CHECK(strncmp(profile_info.host, "Linux ", 6) == 0);

  const double instructions = check_consistency(profile);
  CHECK(instructions > 0);
  hbbp_analysis *analysis = NULL;
  CHECK_OK(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error));
  check_mixes(analysis, instructions);
  check_pivots(analysis, instructions);
  check_copies(analysis);
  check_lists(profile, analysis);
  check_output_sizes(session, profile, analysis);
  check_out_of_range(profile, analysis);
  check_lines(profile);
  check_threads_add_up(profile, instructions);

  char path[512];
  snprintf(path, sizeof(path), "%s/profile", directory);
  CHECK_OK(hbbp_profile_save(profile, path, NULL, &error));
  hbbp_session_destroy(session);
  /* Snapshots outlive their session. */
  CHECK(check_consistency(early) > 0);
  hbbp_profile_destroy(early);

  hbbp_profile *loaded = NULL;
  CHECK_OK(hbbp_profile_load(path, NULL, &loaded, &error));
  hbbp_analysis_destroy(analysis);
  CHECK_OK(hbbp_analysis_create(loaded, NULL, NULL, &analysis, &error));
  check_concurrent_readers(analysis, instructions);
  CHECK(hbbp_analysis_block_count(analysis) == blocks_of(profile));
  hbbp_analysis_destroy(analysis);
  CHECK(nearly(check_consistency(loaded), instructions));
  char nowhere[600];
  snprintf(nowhere, sizeof(nowhere), "%s/none/profile", directory);
  CHECK_FAILS(HBBP_ERROR_NOT_FOUND, nowhere, hbbp_profile_save(loaded, nowhere, NULL, &error));
  hbbp_profile_destroy(profile);
  hbbp_profile_destroy(loaded);
  CHECK(unlink(path) == 0);
  return 0;
}

static hbbp_status start_with_event(const char *name, hbbp_source_kind source, uint64_t period,
                                    hbbp_session **session, hbbp_error *refusal) {
  HBBP_INIT(hbbp_event_code, code);
  CHECK_OK(hbbp_event_find(name, &code, &error));
  HBBP_INIT(hbbp_session_options, options);
  options.source = source;
  options.event = code.event;
  options.event_name = name;
  options.event_type = code.type;
  options.event_config = code.config;
  options.period = period;
  CHECK_OK(hbbp_session_create(&options, session, &error));
  return hbbp_session_start(*session, refusal);
}

/* Whoever leaves the choice of the source gets the event that he names, or the reason why not. */
static void test_events_by_name(void) {
  enum { PAGES = 2000, PAGE = 4096, PERIOD = 53 };
  HBBP_INIT(hbbp_error, refusal);
  hbbp_session *session = NULL;
  CHECK(start_with_event("page-faults", HBBP_SOURCE_AUTO, PERIOD, &session, &refusal) == HBBP_OK);
  char *const memory = (char *)malloc((size_t)PAGES * PAGE);
  CHECK(memory != NULL);
  for (int i = 0; i < PAGES; ++i) ((volatile char *)memory)[(size_t)i * PAGE] = 1;
  free(memory);
  CHECK_OK(hbbp_session_stop(session, &error));
  hbbp_profile *profile = NULL;
  CHECK_OK(hbbp_session_snapshot(session, NULL, &profile, &error));
  HBBP_INIT(hbbp_source_info, source);
  CHECK_ELEMENT(hbbp_profile_copy_sources, profile, 0, &source);
  CHECK(source.event == HBBP_EVENT_OTHER && source.unit == HBBP_UNIT_EVENTS);
  CHECK(strcmp(source.event_name, "page-faults:u") == 0);
  CHECK(source.period == PERIOD);
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);

  const hbbp_status refused =
      start_with_event("context-switches", HBBP_SOURCE_AUTO, PERIOD, &session, &refusal);
  CHECK(refused == HBBP_ERROR_UNSUPPORTED && strstr(refusal.message, "context-switches") != NULL);
  hbbp_session_destroy(session);
  const hbbp_status started =
      start_with_event("cache-misses", HBBP_SOURCE_AUTO, 100003, &session, &refusal);
  const int is_refused = started == HBBP_ERROR_UNSUPPORTED || started == HBBP_ERROR_PERMISSION;
  CHECK(started == HBBP_OK || (is_refused && strstr(refusal.message, "cache-misses") != NULL));
  hbbp_session_destroy(session);
}

/* The argument is a profile with streams. */
int main(int argc, char **argv) {
  const char *const temporary = getenv("TMPDIR");
  char directory[256];
  snprintf(directory, sizeof(directory), "%s/hbbp-capi-XXXXXX",
           temporary != NULL ? temporary : "/tmp");
  if (mkdtemp(directory) == NULL) {
    perror(directory);
    return 1;
  }
  test_versions();
  test_features();
  test_status_names();
  test_capabilities();
  test_null();
  test_demangle();
  test_taxonomies();
  check_key_names();
  test_options();
  test_input_sizes();
  test_error_sizes();
  test_files(directory);
  test_work_of_import(directory);
  if (argc > 1) {
    test_streams(argv[1]);
    test_work(argv[1], directory);
    test_ownership(argv[1]);
  }
  const int skipped = test_session(directory);
  if (skipped == 0) test_events_by_name();
  CHECK(rmdir(directory) == 0);
  return failures == 0 ? skipped : end_of_checks();
}
