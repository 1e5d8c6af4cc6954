#include "perf_data/perf_map.h"

#include <charconv>
#include <system_error>

namespace hbbp {
namespace {

// Reads the number in front of a space, and takes both away.
bool TakeNumber(std::string_view* line, uint64_t* number) {
  if (line->starts_with("0x")) line->remove_prefix(2);
  const char* const end = line->data() + line->size();
  const auto [stop, error] = std::from_chars(line->data(), end, *number, 16);
  if (error != std::errc() || stop == end || *stop != ' ') return false;
  line->remove_prefix(static_cast<size_t>(stop - line->data()) + 1);
  return true;
}

}  // namespace

std::vector<JitSymbol> ParsePerfMap(std::string_view text, CancelCheck* check) {
  std::vector<JitSymbol> symbols;
  while (!text.empty()) {
    if (check != nullptr) check->Step();
    const size_t end = text.find('\n');
    // The JIT is writing the rest of this one.
    if (end == std::string_view::npos) break;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    JitSymbol symbol;
    if (!TakeNumber(&line, &symbol.address) || !TakeNumber(&line, &symbol.size)) continue;
    if (symbol.size == 0 || symbol.address + symbol.size < symbol.address || line.empty()) continue;
    symbol.name = line;
    symbols.push_back(symbol);
  }
  return symbols;
}

}  // namespace hbbp
