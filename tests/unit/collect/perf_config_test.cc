#include "collect/perf_config.h"

#include <catch2/catch.hpp>

namespace hbbp {
namespace {

std::optional<std::string> Directory(std::string_view text) {
  return FindPerfSetting(text, "buildid", "dir");
}

TEST_CASE("a setting is found in its section") {
  CHECK(Directory("[buildid]\n\tdir = /cache\n") == "/cache");
  CHECK(Directory("[core]\ndir = /a\n[ BuildID ]\nDIR=/b\n[report]\ndir = /c") == "/b");
  CHECK(Directory("[buildid] dir = /cache") == "/cache");
  CHECK(Directory("[buildid]\ndir = /a\n[x]\n[buildid]\ndir = /b\r\n") == "/b");
}

TEST_CASE("comments and quotes are left out of a value") {
  CHECK(Directory("# [buildid]\n[buildid]\n; dir = /a\ndir = /b # c\n") == "/b");
  CHECK(Directory("[buildid]\ndir = \"/with #1 and ; \"  ; a comment") == "/with #1 and ; ");
  CHECK(Directory("[buildid]\ndir = \"/a\\\"b\\\\c\"") == "/a\"b\\c");
  CHECK(Directory("[buildid]\ndir =\n") == "");
}

TEST_CASE("what is not there is not found") {
  for (const char* text : {"", "dir = /a", "[buildid", "[buildid]", "[buildid]\ndir", "[", "]",
                           "[buildid \"dir\"]\ndir = /a", "[buildid]\ndirs = /a"}) {
    CHECK(!Directory(text));
  }
}

}  // namespace
}  // namespace hbbp
