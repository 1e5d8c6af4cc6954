#include "symbols/generated_lines.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hbbp {

void GeneratedLines::Add(ModuleAddress start, uint64_t bytes, std::string function,
                         CodeLines lines) {
  pieces_.try_emplace(start, Piece{start + bytes, std::move(function), std::move(lines)});
}

SourcePlace GeneratedLines::Find(ModuleAddress address) const {
  SourcePlace place;
  place.range = {{0}, {UINT64_MAX}};
  const auto next = pieces_.upper_bound(address);
  if (next != pieces_.end()) place.range.end = next->first;
  if (next == pieces_.begin()) return place;
  const auto& [start, piece] = *std::prev(next);
  if (address >= piece.end) {
    place.range.start = piece.end;
    return place;
  }
  place.range = {start, std::min(piece.end, place.range.end)};
  const std::vector<CodeLine>& rows = piece.lines.rows;
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), address - start,
                       [](uint64_t offset, const CodeLine& row) { return offset < row.offset; });
  if (after != rows.end()) place.range.end = std::min(place.range.end, start + after->offset);
  SourceFrame frame;
  frame.function = piece.function;
  if (after != rows.begin()) {
    const CodeLine& row = *std::prev(after);
    place.range.start = start + row.offset;
    frame.file = piece.lines.files[row.file];
    frame.line = row.line;
  }
  place.frames.push_back(frame);
  return place;
}

}  // namespace hbbp
