#include "unit/symbols/program_lines.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "support/catch.h"

namespace hbbp::test {
namespace {

std::string Normal(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

}  // namespace

const std::string_view kNested = R"(
#include <cstdio>
static inline int Innermost(int value) {
  return value * 7 + 3;
}
static inline int Middle(int value) {
  int sum = 0;
  for (int i = 0; i < value; ++i)
    sum += Innermost(i ^ sum);
  return sum;
}
[[gnu::noinline]] int Outer(int value) {
  int sum = Middle(value);
  if (sum & 1)
    sum -= Middle(value + 3);
  return sum;
}
namespace shapes {
template <typename T>
struct Box {
  T value;
  [[gnu::noinline]] T Get(int by) const { return value * by + Innermost(by); }
};
}
int main(int argc, char** argv) {
  (void)argv;
  shapes::Box<long> box{argc};
  std::printf("%d %ld\n", Outer(argc), box.Get(argc));
}
)";

Module OpenModule(const std::string& path) {
  Module module;
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path, {.debug_root = ""});
  REQUIRE(image.ok());
  module.image = *std::move(image);
  module.fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  module.target = {path, module.fd.get(), module.image->build_id()};
  return module;
}

StatusOr<std::unique_ptr<LineTable>> OpenLines(const std::string& path,
                                               const std::string& debug_root) {
  const Module module = OpenModule(path);
  DebugInfoOptions options;
  options.search.debug_root = debug_root;
  return LineTable::Open(module.target, options);
}

std::vector<uint64_t> SomeAddresses(const std::string& path, size_t limit) {
  const Module module = OpenModule(path);
  std::vector<uint64_t> addresses;
  for (const AddressRange& function : module.image->AllFunctions()) {
    for (uint64_t at = function.start.value; at < function.end.value; at += 3) {
      addresses.push_back(at);
    }
  }
  std::mt19937_64 random(1);
  std::shuffle(addresses.begin(), addresses.end(), random);
  if (addresses.size() > limit) addresses.resize(limit);
  return addresses;
}

std::optional<Answers> Ask(const std::string& command, const std::vector<uint64_t>& addresses,
                           const TemporaryDirectory& directory) {
  std::ofstream input(directory.File("addresses"));
  for (const uint64_t address : addresses) input << "0x" << std::hex << address << '\n';
  input.close();
  const auto lines = RunCommand(command + " < " + directory.File("addresses"));
  if (!lines) return std::nullopt;
  Answers answers;
  bool is_function = true;
  for (std::string line : *lines) {
    if (line.empty()) continue;
    if (line.starts_with("0x") && is_function) {
      answers.emplace_back();
      continue;
    }
    if (is_function) {
      answers.back().push_back({line, "", 0});
    } else {
      line = line.substr(0, line.find(" (discriminator"));
      const size_t colon = line.rfind(':');
      answers.back().back().file = Normal(line.substr(0, colon));
      answers.back().back().line = std::strtoull(line.c_str() + colon + 1, nullptr, 10);
    }
    is_function = !is_function;
  }
  return answers;
}

std::string Text(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    text += line.function + "@" + line.file + ":" + std::to_string(line.line) + "; ";
  }
  return text;
}

std::vector<Line> Found(const LineTable& table, uint64_t address) {
  std::vector<Line> found;
  for (const LineFrame& frame : table.Find({address}).frames) {
    found.push_back({std::string(frame.function), Normal(std::string(frame.file)), frame.line});
  }
  return found;
}

Agreement Compare(const LineTable& table, const std::vector<uint64_t>& addresses,
                  const Answers& expected, Trust trust) {
  Agreement agreement;
  REQUIRE(expected.size() == addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    std::vector<Line> found = Found(table, addresses[i]);
    std::vector<Line> wanted = expected[i];
    const bool is_known = !wanted.empty() && wanted.front().line != 0;
    if (!is_known && (found.empty() || found.front().line == 0)) continue;
    ++agreement.known;
    if (found.size() > 1) ++agreement.inlined;
    for (auto* side : {&found, &wanted}) {
      for (size_t j = 0; j < side->size(); ++j) {
        if (trust == Trust::kLines || j + 1 == side->size()) (*side)[j].function.clear();
        if (trust == Trust::kLines && j == 0) (*side)[j].file.clear();
      }
    }
    if (Text(found) == Text(wanted)) {
      ++agreement.same;
    } else if (agreement.first_difference.empty()) {
      char text[32];
      std::snprintf(text, sizeof(text), "0x%lx", static_cast<unsigned long>(addresses[i]));
      agreement.first_difference = std::string(text) + ": " + Text(found) + "but " + Text(wanted);
    }
  }
  return agreement;
}

void ExpectAs(const std::string& tool, const LineTable& table, const std::string& debug_file,
              const std::string& module, const TemporaryDirectory& directory) {
  const std::vector<uint64_t> addresses = SomeAddresses(module, 2000);
  const auto expected = Ask(tool + debug_file, addresses, directory);
  if (!expected) HBBP_SKIP("no " + tool);
  const Agreement agreement =
      Compare(table, addresses, *expected, tool == kAddr2line ? Trust::kLines : Trust::kAll);
  INFO(tool << agreement.first_difference);
  CHECK(agreement.same == agreement.known);
  CHECK(agreement.known > 30);
  CHECK(agreement.inlined > 10);
}

bool BuildProgram(const TemporaryDirectory& directory, const std::string& compiler,
                  const std::string& flags, const std::string& output, std::string_view source) {
  const std::string path = directory.File("nested.cc");
  std::ofstream(path) << source;
  return RunCommand(compiler + " " + flags + " " + path + " -o " + output).has_value();
}

}  // namespace hbbp::test
