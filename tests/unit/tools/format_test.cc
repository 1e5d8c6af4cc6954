#include "format.h"

#include <limits>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

TEST_CASE("format: counts") {
  CHECK(FormatCount(uint64_t{0}) == "0");
  CHECK(FormatCount(uint64_t{999}) == "999");
  CHECK(FormatCount(uint64_t{1000}) == "1,000");
  CHECK(FormatCount(UINT64_MAX) == "18,446,744,073,709,551,615");
  CHECK(FormatCount(1234567.5) == "1,234,568");
  CHECK(Plural(0, "sample", "samples") == "0 samples");
  CHECK(Plural(1, "sample", "samples") == "1 sample");
  CHECK(Plural(1000, "sample", "samples") == "1,000 samples");
  CHECK(FormatCount(-1234.0) == "-1,234");
  CHECK(FormatCount(-123.0) == "-123");
  CHECK(FormatCount(std::numeric_limits<double>::infinity()) == "-");
  CHECK(FormatCount(std::numeric_limits<double>::max()).size() == 309 + 102);
}

TEST_CASE("format: shares, durations, addresses") {
  CHECK(FormatShare(0.12345) == "12.35 %");
  CHECK(FormatShare(std::numeric_limits<double>::quiet_NaN()) == "-");
  CHECK(FormatDuration(12) == "12 ns");
  CHECK(FormatDuration(45'000) == "45 us");
  CHECK(FormatDuration(12'300'000) == "12.3 ms");
  CHECK(FormatDuration(1'234'000'000) == "1.234 s");
  CHECK(FormatAddress(0) == "0x0");
  CHECK(FormatAddress(UINT64_MAX) == "0xffffffffffffffff");
  const uint8_t bytes[] = {0x0a, 0xb1};
  CHECK(FormatHex(bytes, 2) == "0ab1");
  CHECK(FormatHex(nullptr, 0).empty());
  CHECK(FormatExact(0.1) == "0.1");
  CHECK(FormatFactor(2.17142) == "2.171");
}

TEST_CASE("format: names") {
  CHECK(Demangle("_ZN4hbbp3FooEv") == "hbbp::Foo()");
  CHECK(Demangle("main") == "main");
  CHECK(Demangle("i") == "i");
  CHECK(Demangle("_Zbad") == "_Zbad");
  CHECK(Demangle("0x1234") == "0x1234");
  CHECK(BaseName("/usr/lib/libc.so.6") == "libc.so.6");
  CHECK(BaseName("/tmp/a.out (deleted)") == "a.out");
  CHECK(BaseName("[vdso]") == "[vdso]");
  CHECK(BaseName("") == "");
}

TEST_CASE("format: nothing that a terminal would obey is printed") {
  CHECK(Printable("\033]0;title\007\033[2J") == "?]0;title??[2J");
  CHECK(Printable("a\xc2\x9b"
                  "31m") == "a?31m");
  CHECK(Printable("line\nline\rline\b\x7f") == "line?line line??");
  CHECK(Printable("größe, \xc2\xa9 2026") == "größe, \xc2\xa9 2026");
  CHECK(Printable("cut off: \xc2") == "cut off: \xc2");
}

TEST_CASE("format: paths are short where that is unique") {
  ShortPaths names;
  CHECK(names.Of("/never/added.c") == "added.c");
  for (const char* path : {"/a/util.c", "/b/util.c", "/a/main.c", "/a/main.c", "unknown", ""}) {
    names.Add(path);
  }
  CHECK(names.Of("/a/util.c") == "/a/util.c");
  CHECK(names.Of("/b/util.c") == "/b/util.c");
  CHECK(names.Of("/a/main.c") == "main.c");
  CHECK(names.Of("unknown") == "unknown");
  CHECK(names.Of("") == "");
  // A file that was deleted is not the file at its path.
  ShortPaths deleted;
  deleted.Add("/lib/x.so");
  CHECK(deleted.Of("/lib/x.so (deleted)") == "x.so");
  deleted.Add("/lib/x.so (deleted)");
  CHECK(deleted.Of("/lib/x.so (deleted)") == "/lib/x.so (deleted)");
}

TEST_CASE("format: numbers have the digits that their errors allow") {
  const auto measured = [](double value, double error) {
    const MeasuredText text = FormatMeasured(value, error);
    return text.value + " ± " + text.error;
  };
  CHECK(measured(163'612'345, 3'712'345) == "163.6 M ± 3.7 M");
  CHECK(measured(142.8e9, 1.2e9) == "142.8 G ± 1.2 G");
  CHECK(measured(34'599'621, 25'313'591) == "35 M ± 25 M");
  CHECK(measured(5250, 30) == "5.250 k ± 0.030 k");
  CHECK(measured(123'456, 1) == "123.456 k ± 0.001 k");
  CHECK(measured(0, 4200) == "0.0 k ± 4.2 k");
  CHECK(measured(-1500, 120) == "-1.50 k ± 0.12 k");
  CHECK(measured(250, 12) == "250 ± 12");
  CHECK(measured(999'960, 9'000) == "999,960 ± 9,000");
  CHECK(measured(1'234'567, 0) == "1,234,567 ± 0");
}

}  // namespace
}  // namespace hbbp::tools
