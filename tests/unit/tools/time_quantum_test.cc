#include "time_quantum.h"

#include <string>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

TEST_CASE("time quantum: numbers with a unit") {
  const auto ns = [](const std::string& text) { return ParseTimeQuantum(text).value(); };
  CHECK(ns("") == 0);
  CHECK(ns("1ms") == 1'000'000);
  CHECK(ns("0.5s") == 500'000'000);
  CHECK(ns("1000us") == 1'000'000);
  CHECK(ns("1000000ns") == 1'000'000);
  CHECK(ns("100ms") == 100'000'000);
}

TEST_CASE("time quantum: anything else is refused with what was given") {
  for (const std::string text : {"5", "ms", "10us", "0s", "-1s", "1h", "1e3ms", "1 ms", "1ms ",
                                 "nan", "inf", "99999999999999s"}) {
    const auto parsed = ParseTimeQuantum(text);
    CAPTURE(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.status().message().find("--time-quantum " + text + ":") != std::string::npos);
  }
}

}  // namespace
}  // namespace hbbp::tools
