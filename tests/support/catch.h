// Includes Catch2, version 2 or 3, and defines a skip that works in both.
#ifndef HBBP_TESTS_SUPPORT_CATCH_H_
#define HBBP_TESTS_SUPPORT_CATCH_H_

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <iostream>

// Ends the test case; ctest lists it as skipped, with the reason in its output.
#define HBBP_SKIP(reason)                              \
  do {                                                 \
    std::cout << "SKIPPED: " << (reason) << std::endl; \
    SUCCEED("skipped");                                \
    return;                                            \
  } while (false)

#endif  // HBBP_TESTS_SUPPORT_CATCH_H_
