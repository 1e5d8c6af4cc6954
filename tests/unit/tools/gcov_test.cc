#include "truth/gcov.h"

#include <string>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

std::string Failure(const std::string& text) {
  const auto lines = ParseGcov(text, "x.json");
  REQUIRE_FALSE(lines.ok());
  CHECK(lines.status().code() == StatusCode::kBadFormat);
  return lines.status().message();
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Returns a file of JSON with one line, whose count is `count`.
std::string Json(const std::string& count, const std::string& line = "2") {
  return R"({"gcc_version": "12.2.0", "files": [{"lines": [{"branches": [], "count": )" + count +
         R"(, "line_number": )" + line +
         R"(, "function_name": "f"}], "file": "../x.c"}], "format_version": "1",)" +
         R"( "current_working_directory": "/src/build", "data_file": "x.gcda"})" + "\n";
}

TEST_CASE("gcov: lines of JSON, one text after another") {
  const auto lines = ParseGcov(Json("1000") + Json("7", "3"), "x.json");
  INFO(lines.status().message());
  REQUIRE(lines.ok());
  CHECK(*lines == std::vector<GcovLine>{{"/src/x.c", "f", 2, 1000}, {"/src/x.c", "f", 3, 7}});
}

TEST_CASE("gcov: the end of a function runs as often as the function, if no line says else") {
  const auto read = [](const std::string& end_line, const std::string& count) {
    return ParseGcov(R"({"files": [{"lines": [{"count": 5, "line_number": 2, "function_name": )"
                     R"("f"}], "functions": [{"name": "f", "end_line": )" +
                         end_line + R"(, "execution_count": )" + count +
                         R"(}], "file": "/x.c"}], )" + R"("format_version": "1"})",
                     "x.json");
  };
  const auto lines = read("9", "4");
  REQUIRE(lines.ok());
  CHECK(*lines == std::vector<GcovLine>{{"/x.c", "f", 2, 5}, {"/x.c", "f", 9, 4}});
  const auto one_line = read("2", "4");
  REQUIRE(one_line.ok());
  CHECK(*one_line == std::vector<GcovLine>{{"/x.c", "f", 2, 5}});
  CHECK(Contains(read("9", "-4").status().message(), "execution_count is negative"));
}

TEST_CASE("gcov: the intermediate format of old compilers") {
  const auto lines = ParseGcov(
      "version:8.3.0\nfile:/src/x.c\nfunction:2,9,1000,f\nlcount:2,1000,0\nbranch:2,taken\n"
      "lcount:3,0,1\n",
      "x.gcov");
  REQUIRE(lines.ok());
  CHECK(*lines == std::vector<GcovLine>{{"/src/x.c", "", 2, 1000}, {"/src/x.c", "", 3, 0}});
}

TEST_CASE("gcov: absurd counts are named with their line") {
  CHECK(Contains(Failure(Json("1") + Json("-4")), "x.json: line 2: /src/x.c: count is negative"));
  CHECK(Contains(Failure(Json("1.5")), "count is not a whole number"));
  CHECK(Contains(Failure(Json("1e30")), "count is not a whole number"));
  CHECK(Contains(Failure(Json("NaN")), "not JSON"));
  CHECK(Contains(Failure(Json("9223372036854775809")), "count is above"));
  CHECK(Contains(Failure(Json("9223372036854775807") + Json("9223372036854775807")),
                 "line 2: /src/x.c: counts above 2^63 in total"));
  CHECK(Contains(Failure(Json("1", "-2")), "line_number is negative"));
  CHECK(Contains(Failure("file:x\nlcount:2,-1\n"), "line 2: a negative count"));
  CHECK(Contains(Failure("file:x\nlcount:2\n"), "without a count"));
  CHECK(Contains(Failure("lcount:2,1\n"), "before its file"));
}

TEST_CASE("gcov: other files are refused") {
  CHECK(Contains(Failure("{}\n"), "no format_version of gcov"));
  CHECK(Contains(Failure("{\"format_version\": \"1\"}\n"), "no list of files"));
  CHECK(Contains(Failure("{\"format_version\": \"1\", \"files\": [3]}\n"), "not an object"));
  CHECK(Contains(Failure(std::string(200000, '{') + "\n"), "not JSON"));
  CHECK(Contains(Failure("hello\n"), "neither JSON of gcov"));
  CHECK(Contains(Failure("\x1f\x8b\x08"), "gunzip"));
}

}  // namespace
}  // namespace hbbp::tools
