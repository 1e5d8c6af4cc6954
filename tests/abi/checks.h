/* Checks of programs that use the C ABI: a failure is told, and the program goes on.
 * main ends with `return end_of_checks();`. */
#ifndef HBBP_TESTS_ABI_CHECKS_H_
#define HBBP_TESTS_ABI_CHECKS_H_

#include <hbbp/hbbp.h>
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

/* The call fails with that status, says so in the error, and its one-line message names `word`. */
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

static int end_of_checks(void) {
  if (failures != 0) fprintf(stderr, "%d failures\n", failures);
  return failures != 0;
}

#endif /* HBBP_TESTS_ABI_CHECKS_H_ */
