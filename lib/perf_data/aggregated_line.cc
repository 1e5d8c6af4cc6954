#include "perf_data/aggregated_line.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "perf_data/text_words.h"

namespace hbbp {
namespace {

// Marks of BOLT in place of an address.
constexpr uint64_t kNoneMark = UINT64_MAX;
constexpr uint64_t kExternalReturnMark = UINT64_MAX - 2;
// Sums of larger numbers are not exact.
constexpr uint64_t kMaxCount = uint64_t{1} << 53;
constexpr size_t kMaxWords = 5;  // behind the kind

bool IsBuildId(std::string_view text) {
  return text.size() % 2 == 0 &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// Returns false if the word is not a location. One that is marked as unknown stays empty.
bool ParseLocation(std::string_view word, std::optional<AggregatedLocation>* location) {
  AggregatedLocation parsed;
  const size_t colon = word.find(':');
  if (colon != std::string_view::npos) {
    parsed.is_external = word.substr(0, colon) == "X";
    if (!parsed.is_external) parsed.build_id = word.substr(0, colon);
    if (!parsed.is_external && !IsBuildId(parsed.build_id)) return false;
    word.remove_prefix(colon + 1);
  }
  const std::optional<uint64_t> address = ParseHex(word);
  if (!address) return false;
  if (*address == kNoneMark) return true;
  const bool is_mark = *address >= kExternalReturnMark;
  parsed.is_external |= is_mark;
  if (!is_mark) parsed.address = *address;
  *location = parsed;
  return true;
}

// Parses one location for each of `locations`, and the count and how many numbers may follow.
bool ParseFields(std::span<const std::string_view> words,
                 std::span<std::optional<AggregatedLocation>* const> locations, size_t more,
                 AggregatedLine* line) {
  const size_t needed = locations.size() + 1;
  if (words.size() < needed || words.size() > needed + more) return false;
  for (size_t i = 0; i < locations.size(); ++i) {
    if (!ParseLocation(words[i], locations[i])) return false;
  }
  for (const std::string_view number : words.subspan(locations.size())) {
    const std::optional<uint64_t> count = ParseWhole<uint64_t>(number, 10);
    if (!count || *count > kMaxCount) return false;
  }
  line->count = *ParseWhole<uint64_t>(words[locations.size()], 10);
  return true;
}

}  // namespace

std::optional<AggregatedLine> ParseAggregatedLine(std::string_view line) {
  const std::string_view kind = NextWord(&line);
  if (kind.size() != 1) return std::nullopt;
  std::array<std::string_view, kMaxWords + 1> all;
  size_t size = 0;
  for (std::string_view word = NextWord(&line); !word.empty(); word = NextWord(&line)) {
    if (size == all.size()) return std::nullopt;
    all[size++] = word;
  }
  const auto words = std::span<const std::string_view>(all).first(size);
  AggregatedLine parsed;
  const auto parse = [&](std::initializer_list<std::optional<AggregatedLocation>*> locations,
                         size_t more) {
    return ParseFields(words, {locations.begin(), locations.size()}, more, &parsed);
  };
  bool is_valid = false;
  switch (kind.front()) {
    case 'E':
      is_valid = words.size() == 1;
      if (is_valid) parsed.event = words.front();
      break;
    case 'S':
      is_valid = parse({&parsed.ip}, 0) && parsed.ip;
      break;
    case 'B':
      is_valid = parse({&parsed.from, &parsed.to}, 1) && parsed.from && parsed.to;
      break;
    case 'F':
    case 'f':
    case 'r':
      is_valid = parse({&parsed.to, &parsed.end}, 0) && parsed.to && parsed.end;
      break;
    case 'T':
    case 'R':
      is_valid = parse({&parsed.from, &parsed.to, &parsed.end}, 1) && parsed.to &&
                 (parsed.from || parsed.end);
      break;
    default:
      break;
  }
  return is_valid ? std::optional(parsed) : std::nullopt;
}

bool IsAggregatedText(std::string_view beginning) {
  while (!beginning.empty()) {
    const size_t end = std::min(beginning.find('\n'), beginning.size());
    std::string_view line = beginning.substr(0, end);
    beginning.remove_prefix(std::min(end + 1, beginning.size()));
    std::string_view words = line;
    const std::string_view first = NextWord(&words);
    if (!first.empty() && !first.starts_with('#')) return ParseAggregatedLine(line).has_value();
  }
  return false;
}

}  // namespace hbbp
