/* Checks of programs that use the C ABI: a failure is reported, and the program continues.
 * main ends with `return end_of_checks();`. */
#ifndef HBBP_TESTS_ABI_CHECKS_H_
#define HBBP_TESTS_ABI_CHECKS_H_

#include <hbbp/hbbp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void report(const char *file, int line, const char *what) {
  fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
  ++failures;
}

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) report(__FILE__, __LINE__, #condition); \
  } while (0)

/* The call fails with that status, the error contains it, and its one-line message names `word`. */
#define CHECK_FAILS(expected, word, call)                                             \
  do {                                                                                \
    HBBP_INIT(hbbp_error, error);                                                     \
    const hbbp_status check_status = (call);                                          \
    if (check_status != (expected)) report(__FILE__, __LINE__, "status of " #call);   \
    if (error.status != (expected)) report(__FILE__, __LINE__, "error of " #call);    \
    if (strstr(error.message, word) == NULL || strchr(error.message, '\n') != NULL) { \
      report(__FILE__, __LINE__, error.message);                                      \
    }                                                                                 \
  } while (0)

#define CHECK_OK(call)                                                \
  do {                                                                \
    HBBP_INIT(hbbp_error, error);                                     \
    if ((call) != HBBP_OK) report(__FILE__, __LINE__, error.message); \
    if (error.status != 0 || error.message[0] != '\0') {              \
      report(__FILE__, __LINE__, "error was touched by " #call);      \
    }                                                                 \
  } while (0)

/* Copies element `index` of a list, which must exist. */
#define CHECK_ELEMENT(copy, handle, index, output)                                      \
  do {                                                                                  \
    size_t check_copied = 0;                                                            \
    CHECK_OK(copy(handle, index, 1, sizeof(*(output)), output, &check_copied, &error)); \
    if (check_copied != 1) report(__FILE__, __LINE__, #copy " has no element " #index); \
  } while (0)

/* Copies element `index` of a list that each source has. */
#define CHECK_ELEMENT_OF_SOURCE(copy, handle, source, index, output)                            \
  do {                                                                                          \
    size_t check_copied = 0;                                                                    \
    CHECK_OK(copy(handle, source, index, 1, sizeof(*(output)), output, &check_copied, &error)); \
    if (check_copied != 1) report(__FILE__, __LINE__, #copy " has no element " #index);         \
  } while (0)

/* Checks the promises of api.h for every list. */
#define CHECK_LIST(type, count_of, copy, handle_name, array_name, handle)                         \
  do {                                                                                            \
    type check_array[2];                                                                          \
    size_t check_copied = 12345;                                                                  \
    memset(check_array, 0x55, sizeof(check_array));                                               \
    CHECK(count_of(NULL) == 0);                                                                   \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, handle_name,                                         \
                copy(NULL, 0, 1, sizeof(type), check_array, &check_copied, &error));              \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, array_name,                                          \
                copy(handle, 0, 1, sizeof(type), NULL, &check_copied, &error));                   \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "copied",                                            \
                copy(handle, 0, 1, sizeof(type), check_array, NULL, &error));                     \
    const size_t check_sizes[] = {0, 4, 7, sizeof(type) + 4, 4104, SIZE_MAX};                     \
    for (size_t check_i = 0; check_i < sizeof(check_sizes) / sizeof(check_sizes[0]); ++check_i) { \
      CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "size",                                            \
                  copy(handle, 0, 1, check_sizes[check_i], check_array, &check_copied, &error));  \
    }                                                                                             \
    CHECK(check_copied == 12345);                                                                 \
    CHECK_OK(copy(handle, 0, 0, sizeof(type), NULL, &check_copied, &error));                      \
    CHECK(check_copied == 0);                                                                     \
    const size_t check_end = count_of(handle);                                                    \
    check_copied = 12345;                                                                         \
    CHECK_OK(copy(handle, check_end, 2, sizeof(type), check_array, &check_copied, &error));       \
    CHECK(check_copied == 0);                                                                     \
    check_copied = 12345;                                                                         \
    CHECK_OK(copy(handle, SIZE_MAX, SIZE_MAX, sizeof(type), check_array, &check_copied, &error)); \
    CHECK(check_copied == 0);                                                                     \
    for (size_t check_i = 0; check_i < sizeof(check_array); ++check_i) {                          \
      CHECK(((const unsigned char *)check_array)[check_i] == 0x55);                               \
    }                                                                                             \
    if (check_end == 0) break;                                                                    \
    CHECK_OK(copy(handle, check_end - 1, 2, sizeof(type), check_array, &check_copied, &error));   \
    CHECK(check_copied == 1 && check_array[0].struct_size == sizeof(type));                       \
    CHECK(check_array[1].struct_size == 0x55555555);                                              \
  } while (0)

/* With a set flag, `call` fails and does not change `output`, a pointer to a handle; with a flag
 * that is not set it makes one, reports progress, and `destroy` frees it. `call` gets `work`. */
#define CHECK_WORK(output, destroy, call)                                         \
  do {                                                                            \
    hbbp_cancel *check_cancel = NULL;                                             \
    uint64_t check_calls = 0;                                                     \
    CHECK_OK(hbbp_cancel_create(&check_cancel, &error));                          \
    HBBP_INIT(hbbp_work_options, check_options);                                  \
    const hbbp_work_options *const work = &check_options;                         \
    check_options.progress = count_progress_calls;                                \
    check_options.user_data = &check_calls;                                       \
    check_options.cancel = check_cancel;                                          \
    (output) = NULL;                                                              \
    hbbp_cancel_set(check_cancel, 1);                                             \
    CHECK_FAILS(HBBP_ERROR_CANCELLED, "hbbp_cancel", call);                       \
    CHECK((output) == NULL);                                                      \
    check_options.reserved = 1;                                                   \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "hbbp_work_options.reserved", call); \
    check_options.reserved = 0;                                                   \
    check_options.struct_size = 4;                                                \
    CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "struct_size", call);                \
    CHECK((output) == NULL);                                                      \
    check_options.struct_size = (uint32_t)sizeof(check_options);                  \
    hbbp_cancel_set(check_cancel, 0);                                             \
    check_calls = 0;                                                              \
    CHECK_OK(call);                                                               \
    CHECK((output) != NULL && check_calls > 0);                                   \
    destroy(output);                                                              \
    (output) = NULL;                                                              \
    hbbp_cancel_destroy(check_cancel);                                            \
  } while (0)

static inline void count_progress_calls(uint64_t done, uint64_t all, void *user_data) {
  if (all != 0 && done > all) report(__FILE__, __LINE__, "more was done than there is");
  ++*(uint64_t *)user_data;
}

static int end_of_checks(void) {
  if (failures != 0) fprintf(stderr, "%d failures\n", failures);
  return failures != 0;
}

#endif /* HBBP_TESTS_ABI_CHECKS_H_ */
