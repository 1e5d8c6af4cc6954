#include "perf_data/text_lines.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace hbbp {
namespace {

std::vector<std::string> LinesIn(const std::string& text) {
  MemorySource source({reinterpret_cast<const uint8_t*>(text.data()), text.size()},
                      MemorySource::Kind::kPipe);
  std::vector<std::string> lines;
  CHECK(ReadLines(&source, {}, [&](std::string_view line) { lines.emplace_back(line); }).ok());
  return lines;
}

TEST_CASE("lines are read with and without an end of the last one") {
  CHECK(LinesIn("").empty());
  CHECK(LinesIn("a\n\nb\n") == std::vector<std::string>{"a", "", "b"});
  CHECK(LinesIn("a\nb") == std::vector<std::string>{"a", "b"});
}

TEST_CASE("lines across the ends of blocks are whole") {
  const std::vector<std::string> expected(100'000, "a line of thirty-one characters");
  std::string text;
  for (const std::string& line : expected) text += line + "\n";
  CHECK(LinesIn(text) == expected);
}

TEST_CASE("lines are not read any more when the work is cancelled") {
  const std::string text = "a\n";
  MemorySource source({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  CancelFlag cancel;
  cancel.Set(true);
  Work work;
  work.cancel = &cancel;
  CHECK(ReadLines(&source, work, [](std::string_view) {}).code() == StatusCode::kCancelled);
}

}  // namespace
}  // namespace hbbp
