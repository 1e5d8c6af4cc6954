#include "base/quantity.h"

#include <string>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("numbers may have a multiple, an exponent or the base 16") {
  const auto number = [](const std::string& text) { return ParseNumber(text).value(); };
  CHECK(number("0") == 0);
  CHECK(number("18446744073709551615") == UINT64_MAX);
  CHECK(number("250k") == 250'000);
  CHECK(number("250K") == 250'000);
  CHECK(number("1M") == 1'000'000);
  CHECK(number("2.5M") == 2'500'000);
  CHECK(number("1.005k") == 1005);
  CHECK(number("2.000003M") == 2'000'003);
  CHECK(number("3G") == 3'000'000'000);
  CHECK(number("1T") == 1'000'000'000'000);
  CHECK(number("1e6") == 1'000'000);
  CHECK(number("0x3d090") == 250'000);
}

TEST_CASE("what is not a whole number is refused with what was given") {
  for (const std::string text : {"", "M", "1.5", "0.0001k", "1m", "1 M", "1MB", "-1", "nan", "inf",
                                 "1e20", "0x", "0xfg", "18446744073709551616", "0x1M"}) {
    CAPTURE(text);
    const auto parsed = ParseNumber(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.status().message().starts_with(text + " is not a whole number"));
  }
}

TEST_CASE("times may have a unit, and are seconds without one") {
  const auto seconds = [](const std::string& text) { return ParseSeconds(text).value(); };
  CHECK(seconds("10") == 10);
  CHECK(seconds("0.5") == 0.5);
  CHECK(seconds("10s") == 10);
  CHECK(seconds("500ms") == 0.5);
  CHECK(seconds("5m") == 300);
  CHECK(seconds("2min") == 120);
  CHECK(seconds("1.5h") == 5400);
  CHECK(seconds("1e3us") == 1e-3);
  for (const std::string text : {"", "s", "5x", "-1", "1 s", "nan", "inf"}) {
    CAPTURE(text);
    const auto parsed = ParseSeconds(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.status().message().starts_with(text + " is not a time"));
  }
}

TEST_CASE("shares may be percent") {
  const auto share = [](const std::string& text) { return ParseShare(text).value(); };
  CHECK(share("0.02") == 0.02);
  CHECK(share("2%") == 0.02);
  CHECK(share("7 %") == 0.07);
  CHECK(share("150%") == 1.5);
  CHECK(share("0") == 0);
  for (const char* text : {"", "%", "x", "2x", "-1%", "-1", "2%%", "nan", "inf%", "2k"}) {
    INFO(text);
    const auto parsed = ParseShare(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.status().message() == std::string(text) + " is not a share, such as 1% or 0.01");
  }
}

}  // namespace
}  // namespace hbbp
