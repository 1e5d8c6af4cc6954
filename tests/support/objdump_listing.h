// Lists the instructions of a file by objdump.
#ifndef HBBP_TESTS_SUPPORT_OBJDUMP_LISTING_H_
#define HBBP_TESTS_SUPPORT_OBJDUMP_LISTING_H_

#include <stdio_ext.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"

namespace hbbp {

// A line of the listing: `address: bytes [prefixes] name operands`, without its comment.
struct ListedInstruction {
  uint64_t address = 0;
  std::vector<uint8_t> code;
  std::string_view prefixes;
  std::string_view name;
  std::string_view operands;
  std::string_view text;  // prefixes, name and operands

  bool HasPrefix(std::string_view start) const {
    return prefixes.starts_with(start) || prefixes.find(" " + std::string(start)) != prefixes.npos;
  }
};

inline bool IsListedPrefix(std::string_view word) {
  static constexpr std::string_view kWords[] = {
      "addr32",  "bnd", "cs",    "data16", "ds", "es",       "fs",       "gs",     "lock",
      "notrack", "rep", "repnz", "repz",   "ss", "xacquire", "xrelease", "{evex}", "{vex}"};
  return word.starts_with("rex") || std::ranges::find(kWords, word) != std::end(kWords);
}

inline std::optional<ListedInstruction> ParseListedInstruction(std::string_view line) {
  const size_t colon = line.find(":\t");
  if (colon == line.npos) return std::nullopt;
  ListedInstruction listed;
  const size_t digits = line.find_first_not_of(' ');
  if (std::from_chars(line.data() + digits, line.data() + colon, listed.address, 16).ptr !=
      line.data() + colon) {
    return std::nullopt;
  }
  const size_t tab = line.find('\t', colon + 2);
  if (tab == line.npos) return std::nullopt;
  for (size_t at = colon + 2; at + 1 < tab && line[at] != ' '; at += 3) {
    uint8_t byte = 0;
    std::from_chars(line.data() + at, line.data() + at + 2, byte, 16);
    listed.code.push_back(byte);
  }
  std::string_view text = line.substr(tab + 1);
  text = text.substr(0, text.find(" #"));
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  listed.text = text;
  size_t position = 0;
  for (;;) {
    const size_t end = std::min(text.find(' ', position), text.size());
    const std::string_view word = text.substr(position, end - position);
    const size_t next = std::min(text.find_first_not_of(' ', end), text.size());
    if (!IsListedPrefix(word) || next == text.size()) {
      listed.prefixes = text.substr(0, position);
      listed.name = word;
      listed.operands = text.substr(next);
      return listed;
    }
    position = next;
  }
}

// Calls `visit` for each. `options` are further ones of objdump.
template <typename Visit>
void ForEachListedInstruction(const std::string& path, const std::string& options,
                              const Visit& visit) {
  const std::string command =
      "LC_ALL=C exec objdump -d -w -z -M intel --insn-width=16 " + options + " '" + path + "'";
  FILE* const listing = popen(command.c_str(), "r");
  REQUIRE(listing != nullptr);
  __fsetlocking(listing, FSETLOCKING_BYCALLER);
  char* line = nullptr;
  size_t capacity = 0;
  ssize_t size;
  while ((size = getline(&line, &capacity, listing)) > 0) {
    std::string_view text(line, static_cast<size_t>(size));
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (const auto listed = ParseListedInstruction(text)) visit(*listed);
  }
  std::free(line);
  CHECK(pclose(listing) == 0);
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_OBJDUMP_LISTING_H_
