#include "options.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

// The arguments that main would pass.
struct Line {
  explicit Line(std::vector<std::string> given) : words(std::move(given)) {
    words.insert(words.begin(), "test");
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
  }
  int count() const { return static_cast<int>(words.size()); }

  std::vector<std::string> words;
  std::vector<char*> pointers;
};

struct Parsed {
  std::optional<int> status;
  bool flag = false;
  uint64_t number = 7;
  uint64_t top = 0;
  std::vector<std::string> keys;
  std::vector<std::string> rest;
};

Parsed Parse(const std::vector<std::string>& words, bool takes_command) {
  Parsed parsed;
  Options options("test", "A test");
  options.Flag("--flag", &parsed.flag, "a flag");
  options.Value("-n,--number", &parsed.number, "N", "a number");
  options.Count("--top", &parsed.top, "how many");
  options.Choices("--by", &parsed.keys, {"a", "b", "c"}, "keys");
  if (takes_command) {
    options.Command(&parsed.rest, "CMD ARG...", "the program");
  } else {
    options.Positionals("FILE", &parsed.rest, 1, 2, "files");
  }
  Line line(words);
  parsed.status = options.Parse(line.count(), line.pointers.data());
  return parsed;
}

using Words = std::vector<std::string>;

TEST_CASE("options: values keep their defaults and take what is given") {
  const Parsed parsed = Parse({"--flag", "f1", "--by", "a,c", "--by", "b"}, false);
  CHECK_FALSE(parsed.status.has_value());
  CHECK(parsed.flag);
  CHECK(parsed.number == 7);
  CHECK(parsed.keys == Words{"a", "c", "b"});
  CHECK(parsed.rest == Words{"f1"});
  CHECK(Parse({"-n", "12", "f"}, false).number == 12);
  CHECK(Parse({"-n", "0", "--top", "10", "f"}, false).number == 0);
  CHECK(Parse({"-n", "0", "--top", "10", "f"}, false).top == 10);
}

TEST_CASE("options: profiles are those that are named, else the default one") {
  for (const Words& words : {Words{}, Words{"a", "b"}}) {
    Words paths;
    Options options("test", "A test");
    options.Profiles(&paths, "profiles");
    Line line(words);
    CHECK_FALSE(options.Parse(line.count(), line.pointers.data()).has_value());
    CHECK(paths == (words.empty() ? Words{kDefaultProfile} : words));
  }
}

TEST_CASE("options: usage errors end with 2, help with 0") {
  CHECK(Parse({"--what", "f"}, false).status == 2);
  CHECK(Parse({}, false).status == 2);
  CHECK(Parse({"a", "b", "c"}, false).status == 2);
  CHECK(Parse({"--number", "x", "f"}, false).status == 2);
  CHECK(Parse({"--number", "-1", "f"}, false).status == 2);
  CHECK(Parse({"--number=1.5", "f"}, false).status == 2);
  CHECK(Parse({"--by", "z", "f"}, false).status == 2);
  CHECK(Parse({"--top", "0", "f"}, false).status == 2);
  CHECK(Parse({"--top=00", "f"}, false).status == 2);
  CHECK(Parse({"--top=-2", "f"}, false).status == 2);
  CHECK(Parse({"--help"}, false).status == 0);
}

TEST_CASE("options: a command keeps its own options") {
  CHECK(Parse({"-n", "1", "ls", "-l", "--flag"}, true).rest == Words{"ls", "-l", "--flag"});
  CHECK_FALSE(Parse({"ls", "--flag"}, true).flag);
  CHECK(Parse({"--flag", "--", "ls", "-n"}, true).rest == Words{"ls", "-n"});
  CHECK(Parse({"make", "--", "x"}, true).rest == Words{"make", "--", "x"});
  CHECK(Parse({"--", "a", "--", "b"}, true).rest == Words{"a", "--", "b"});
  CHECK(Parse({"--bogus", "ls"}, true).status == 2);
  CHECK(Parse({"--flag"}, true).status == 2);
  CHECK(Parse({"--"}, true).status == 2);
}

}  // namespace
}  // namespace hbbp::tools
