#include "export/export_sink.h"

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("numbers and text come out in order") {
  std::string all;
  ExportSink sink([&all](std::string_view piece) {
    all += piece;
    return OkStatus();
  });
  sink.WriteHex(0xdeadbeef);
  sink.Write(":");
  sink.WriteNumber(UINT64_MAX);
  sink.Print(" %d-%s", -7, "x");
  CHECK(all.empty());
  REQUIRE(sink.Finish().ok());
  CHECK(all == "deadbeef:18446744073709551615 -7-x");
}

TEST_CASE("much is handed over in pieces, and nothing after an error") {
  size_t pieces = 0;
  ExportSink sink([&pieces](std::string_view) {
    return ++pieces < 3 ? OkStatus() : Status(StatusCode::kIo, "full");
  });
  for (int i = 0; i < 100'000; ++i) sink.Write("0123456789");
  const Status status = sink.Finish();
  CHECK(status.code() == StatusCode::kIo);
  CHECK(status.message() == "full");
  CHECK(pieces == 3);
}

TEST_CASE("counts are whole, and 0 only for what never ran") {
  CHECK(WholeCount(0) == 0);
  CHECK(WholeCount(-1) == 0);
  CHECK(WholeCount(std::nan("")) == 0);
  CHECK(WholeCount(1e-9) == 1);
  CHECK(WholeCount(2.5) == 3);
  CHECK(WholeCount(1e30) == 9'000'000'000'000'000'000);
}

}  // namespace
}  // namespace hbbp
