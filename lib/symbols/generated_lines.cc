#include "symbols/generated_lines.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hbbp {

void GeneratedLines::Add(ModuleAddress start, uint64_t bytes, std::string function,
                         CodeLines lines) {
  pieces_.try_emplace(start, Piece{start + bytes, std::move(function), std::move(lines)});
}

LineRange GeneratedLines::Find(ModuleAddress address) const {
  LineRange found;
  found.range = {{0}, {UINT64_MAX}};
  const auto next = pieces_.upper_bound(address);
  if (next != pieces_.end()) found.range.end = next->first;
  if (next == pieces_.begin()) return found;
  const auto& [start, piece] = *std::prev(next);
  if (address >= piece.end) {
    found.range.start = piece.end;
    return found;
  }
  found.range = {start, std::min(piece.end, found.range.end)};
  const std::vector<CodeLine>& rows = piece.lines.rows;
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), address - start,
                       [](uint64_t offset, const CodeLine& row) { return offset < row.offset; });
  if (after != rows.end()) found.range.end = std::min(found.range.end, start + after->offset);
  LineFrame frame;
  frame.function = piece.function;
  if (after != rows.begin()) {
    const CodeLine& row = *std::prev(after);
    found.range.start = start + row.offset;
    frame.file = piece.lines.files[row.file];
    frame.line = row.line;
  }
  found.frames.push_back(frame);
  return found;
}

}  // namespace hbbp
