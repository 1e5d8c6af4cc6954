/* For test programs in C that have a `static hbbp_error error`: returns 1 from the function if the
 * condition does not hold, and prints it with the last error of the library. */
#ifndef HBBP_TESTS_SUPPORT_REQUIRE_H_
#define HBBP_TESTS_SUPPORT_REQUIRE_H_

#include <stdio.h>

#define REQUIRE(condition)                                                               \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, error.message); \
      return 1;                                                                          \
    }                                                                                    \
  } while (0)

#endif /* HBBP_TESTS_SUPPORT_REQUIRE_H_ */
