// Tests compression by what gzip makes of it.
#include "export/gzip_writer.h"

#include <fstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/tiny_library.h"

namespace hbbp {
namespace {

TEST_CASE("gzip decompresses what was written") {
  const TemporaryFolder directory;
  const std::string packed = directory.File("out.gz"), plain = directory.File("out");
  std::string all, compressed;
  for (int i = 0; i < 200'000; ++i) all += std::to_string(i * 7919);
  for (const std::string& text : {std::string(), std::string("x"), all}) {
    compressed.clear();
    ExportSink sink([&compressed](std::string_view piece) {
      compressed += piece;
      return OkStatus();
    });
    GzipWriter writer(&sink);
    REQUIRE(writer.compresses());
    for (size_t i = 0; i < text.size(); i += 1000) {
      writer.Write(std::string_view(text).substr(i, 1000));
    }
    writer.Finish();
    REQUIRE(sink.Finish().ok());
    std::ofstream(packed, std::ios::binary) << compressed;
    REQUIRE(RunCommand("gzip -dc " + packed + " > " + plain));
    const std::vector<uint8_t> bytes = BytesOfFile(plain);
    CHECK(std::string(bytes.begin(), bytes.end()) == text);
  }
  CHECK(compressed.size() < all.size() / 2);
}

}  // namespace
}  // namespace hbbp
