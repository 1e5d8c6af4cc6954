#include "perf_data/jit_debug_info.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"

namespace hbbp {
namespace {

constexpr size_t kPrefixBytes = 16;
constexpr uint64_t kElfHeaderBytes = 64;
// Records end at multiples of 8.
constexpr size_t kMaxPadding = 7;
// An entry with this name has that of the entry before it.
constexpr std::string_view kSameFile = "\xff";

struct Entry {
  uint64_t offset = 0;  // from the address of the function
  uint32_t line = 0;
  std::string_view file;
};

// Reads up to the final 0, which is taken away as well.
bool ReadName(std::span<const uint8_t> record, ByteCursor* cursor, std::string_view* name) {
  const auto rest = record.subspan(cursor->position());
  const auto end = std::find(rest.begin(), rest.end(), 0);
  if (end == rest.end()) return false;
  *name = {reinterpret_cast<const char*>(rest.data()), static_cast<size_t>(end - rest.begin())};
  return cursor->Skip(name->size() + 1);
}

// Returns no entries if any of them cannot be.
std::vector<Entry> ReadEntries(std::span<const uint8_t> record) {
  ByteCursor cursor(record);
  uint64_t address = 0, number = 0;
  if (!cursor.Skip(kPrefixBytes) || !cursor.Read(&address) || !cursor.Read(&number)) return {};
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < number; ++i) {
    Entry entry;
    uint64_t at = 0;
    uint32_t discriminator = 0;
    if (!cursor.Read(&at) || !cursor.Read(&entry.line) || !cursor.Read(&discriminator) ||
        !ReadName(record, &cursor, &entry.file)) {
      return {};
    }
    if (entry.file == kSameFile) {
      if (entries.empty()) return {};
      entry.file = entries.back().file;
    }
    entry.offset = at - address;
    const bool is_behind = entries.empty() || entries.back().offset <= entry.offset;
    if (at < address || !is_behind || entry.line > INT32_MAX) return {};
    entries.push_back(entry);
  }
  return record.size() - cursor.position() <= kMaxPadding ? entries : std::vector<Entry>();
}

}  // namespace

std::optional<uint64_t> AddressOfJitDebugInfo(std::span<const uint8_t> record) {
  ByteCursor cursor(record);
  uint64_t address = 0;
  if (!cursor.Skip(kPrefixBytes) || !cursor.Read(&address)) return std::nullopt;
  return address;
}

CodeLines ReadJitDebugInfo(std::span<const uint8_t> record, uint64_t code_bytes) {
  const std::vector<Entry> entries = ReadEntries(record);
  if (entries.empty()) return {};
  const uint64_t shift = entries.front().offset >= kElfHeaderBytes ? kElfHeaderBytes : 0;
  if (entries.back().offset - shift > code_bytes) return {};
  CodeLines lines;
  std::map<std::string_view, uint32_t> numbers;  // of files
  for (const Entry& entry : entries) {
    const auto [file, is_new] =
        numbers.try_emplace(entry.file, static_cast<uint32_t>(lines.files.size()));
    if (is_new) lines.files.emplace_back(entry.file);
    lines.rows.push_back({static_cast<uint32_t>(entry.offset - shift), file->second, entry.line});
  }
  return lines;
}

}  // namespace hbbp
