#include <string>
#include <vector>

#include "format.h"
#include "support/catch.h"
#include "top/process_status.h"
#include "top/view.h"

namespace hbbp::tools {
namespace {

View FilledView(size_t functions, size_t loops, size_t extensions) {
  View view;
  view.header = {"4711 (perl)", "ebs: 800 samples"};
  for (size_t i = 0; i < functions; ++i) {
    view.functions.push_back({{0.1, 0.01}, {1000, 50}, "/bin/perl", "Run" + std::to_string(i)});
  }
  for (size_t i = 0; i < loops; ++i) {
    view.loops.push_back({{0.1, 0.01}, {12.5, 0.5}, "branches", "/bin/perl", 0x401000, "Run"});
  }
  for (size_t i = 0; i < extensions; ++i) view.extensions.push_back({{0.5, 0.02}, {10, 1}, "sse2"});
  return view;
}

std::string TextOf(const std::vector<ViewLine>& lines) {
  std::string text;
  for (const ViewLine& line : lines) text += line.text + '\n';
  return text;
}

size_t CountTitles(const std::vector<ViewLine>& lines) {
  size_t count = 0;
  for (const ViewLine& line : lines) count += line.is_title;
  return count;
}

}  // namespace

TEST_CASE("top: lines are divided by importance") {
  const SectionRows many = {100, 100, 100};
  CHECK(DivideLines(0, many) == SectionRows{0, 0, 0});
  CHECK(DivideLines(kSectionHeadLines, many) == SectionRows{0, 0, 0});
  CHECK(DivideLines(kSectionHeadLines + 1, many) == SectionRows{1, 0, 0});
  CHECK(DivideLines(2 * (kSectionHeadLines + 1), many) == SectionRows{1, 0, 1});
  const SectionRows rows = DivideLines(3 * kSectionHeadLines + 40, many);
  CHECK(rows == SectionRows{20, 10, 10});
}

TEST_CASE("top: lines that a section does not need go to the others") {
  CHECK(DivideLines(100, {3, 2, 1}) == SectionRows{3, 2, 1});
  CHECK(DivideLines(2 * kSectionHeadLines + 20, {5, 100, 0}) == SectionRows{5, 15, 0});
  CHECK(DivideLines(100, {}) == SectionRows{});
}

TEST_CASE("top: a view in a file has all rows that were asked for, and no empty lines") {
  const std::vector<ViewLine> lines = Render(FilledView(20, 3, 2), {4});
  CHECK(lines.size() == 2 + (1 + 4) + (1 + 3) + (1 + 2));
  CHECK(CountTitles(lines) == 3);
  for (const ViewLine& line : lines) CHECK_FALSE(line.text.empty());
  CHECK(TextOf(lines).find("Run3\n") != std::string::npos);
  CHECK(TextOf(lines).find("Run4\n") == std::string::npos);
}

TEST_CASE("top: a view fits the terminal, whatever its size") {
  View view = FilledView(50, 50, 50);
  view.notes = {"one", "two", "three"};
  for (const size_t height : {1, 2, 5, 8, 12, 24, 60}) {
    for (const size_t width : {1, 20, 79, 200}) {
      const std::vector<ViewLine> lines = Render(view, {1000, width, height});
      INFO(height << " lines of " << width);
      CHECK(lines.size() <= height);
      if (height >= 24) CHECK(lines.size() == height);
      for (const ViewLine& line : lines) CHECK(DisplayWidth(line.text) <= width);
    }
  }
}

TEST_CASE("top: a trip count that is not known is not shown as 0") {
  View view = FilledView(0, 1, 0);
  CHECK(TextOf(Render(view, {10})).find(" 12.5 ") != std::string::npos);
  view.loops[0].trip_count = {};
  const std::string text = TextOf(Render(view, {10}));
  // Only the share has an error.
  CHECK(text.find("±") == text.rfind("±"));
  CHECK(text.find("branches") != std::string::npos);
}

TEST_CASE("top: names cannot write to the terminal") {
  View view = FilledView(1, 0, 0);
  view.header = {"\033[2J"};
  view.functions[0].name = "a\033]0;title\007b";
  view.notes = {"\r\n"};
  for (const ViewLine& line : Render(view, {10})) {
    for (const char byte : line.text) CHECK(static_cast<unsigned char>(byte) >= ' ');
  }
}

TEST_CASE("top: a line is cut between characters") {
  CHECK(CutToWidth("abc", 2) == "ab");
  CHECK(CutToWidth("abc", 5) == "abc");
  CHECK(CutToWidth("", 5).empty());
  CHECK(CutToWidth("\xc3\xa4\xc3\xb6\xc3\xbc", 2) == "\xc3\xa4\xc3\xb6");
  CHECK(CutToWidth("a\xc2\xb1", 0).empty());
}

TEST_CASE("top: lines are written over what is there") {
  CHECK(Redraw({{"a", false}, {"b", true}}) == "\033[Ha\033[K\r\n\033[7mb\033[m\033[K\033[J");
}

TEST_CASE("top: the status of a process") {
  const ProcessStatus status = ParseProcessStatus(
      "Name:\ta (b) c\nState:\tR (running)\nTgid:\t42\nVmSize:\t  100 kB\nThreads:\t3\n");
  CHECK(status.name == "a (b) c");
  CHECK(status.state == 'R');
  CHECK(status.process == 42);
  CHECK(status.threads == 3);
  CHECK(status.has_memory);
  CHECK_FALSE(ParseProcessStatus("").has_memory);
  CHECK(ParseProcessStatus("State:\nThreads:\tx\n").threads == 0);
}

TEST_CASE("top: what has no code of a user is refused, with its reason") {
  const auto check = [](pid_t process, char state, uint64_t threads, bool has_memory,
                        bool is_of_kernel = false) {
    return CheckHasUserCode(42, {"name", process, state, threads, has_memory, is_of_kernel})
        .message();
  };
  CHECK(check(42, 'S', 1, true).empty());
  CHECK(check(7, 'S', 1, true).find("thread of process 7") != std::string::npos);
  CHECK(check(42, 'Z', 1, false).find("zombie") != std::string::npos);
  CHECK(check(42, 'Z', 3, false).empty());
  CHECK(check(42, 'S', 1, false, true).find("kernel") != std::string::npos);
  CHECK(check(42, 'R', 1, false).find("ends just now") != std::string::npos);
}

}  // namespace hbbp::tools
