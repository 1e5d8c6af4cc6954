#include "annotate/jump_arrows.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace hbbp::tools {
namespace {

constexpr size_t kMaxColumns = 8;

// All jumps to one line.
struct Arrow {
  size_t to = 0;
  size_t first = 0;  // the range of lines that it spans
  size_t last = 0;
  std::vector<size_t> from;
};

// In order of their lengths.
std::vector<Arrow> ArrowsOf(const std::vector<Jump>& jumps) {
  std::map<size_t, Arrow> by_target;
  for (const Jump& jump : jumps) {
    if (jump.from == jump.to) continue;
    const auto [known, is_new] = by_target.try_emplace(jump.to);
    Arrow& arrow = known->second;
    if (is_new) arrow = {jump.to, jump.to, jump.to, {}};
    arrow.first = std::min(arrow.first, jump.from);
    arrow.last = std::max(arrow.last, jump.from);
    arrow.from.push_back(jump.from);
  }
  std::vector<Arrow> arrows;
  for (auto& [target, arrow] : by_target) arrows.push_back(std::move(arrow));
  std::stable_sort(arrows.begin(), arrows.end(), [](const Arrow& a, const Arrow& b) {
    return a.last - a.first < b.last - b.first;
  });
  return arrows;
}

enum Glyph : uint8_t { kSpace, kDown, kAcross, kCrossing, kTop, kBottom, kSide, kHead };

constexpr const char* kGlyphs[] = {" ", "│", "─", "┼", "╭", "╰", "├", "→"};

// Glyphs by line and column; column 0 is next to the code.
class Canvas {
 public:
  explicit Canvas(size_t lines)
      : lines_(lines, std::vector<Glyph>(kMaxColumns, kSpace)), ends_(lines, kSpace) {}

  // Leaves the arrow out if no column is free along it.
  void Add(const Arrow& arrow) {
    size_t column = 0;
    while (column < kMaxColumns && !IsFree(arrow, column)) ++column;
    if (column == kMaxColumns) return;
    columns_ = std::max(columns_, column + 1);
    for (size_t line = arrow.first; line <= arrow.last; ++line) {
      Glyph& there = lines_[line][column];
      there = there == kAcross ? kCrossing : kDown;
    }
    for (const size_t line : arrow.from) Connect(arrow, column, line);
    Connect(arrow, column, arrow.to);
    ends_[arrow.to] = kHead;
  }

  std::vector<std::string> Text() const {
    std::vector<std::string> text(lines_.size());
    if (columns_ == 0) return text;
    for (size_t line = 0; line < lines_.size(); ++line) {
      for (size_t column = columns_; column-- > 0;) text[line] += kGlyphs[lines_[line][column]];
      text[line] += kGlyphs[ends_[line]];
    }
    return text;
  }

 private:
  bool IsFree(const Arrow& arrow, size_t column) const {
    for (size_t line = arrow.first; line <= arrow.last; ++line) {
      const Glyph there = lines_[line][column];
      if (there != kSpace && there != kAcross) return false;
    }
    // A corner would break another arrow's line across it.
    const auto is_space = [&](size_t line) { return lines_[line][column] == kSpace; };
    return is_space(arrow.to) && std::all_of(arrow.from.begin(), arrow.from.end(), is_space);
  }

  // Draws a corner, and the line from there to the code.
  void Connect(const Arrow& arrow, size_t column, size_t line) {
    lines_[line][column] = line == arrow.first ? kTop : line == arrow.last ? kBottom : kSide;
    for (size_t inner = 0; inner < column; ++inner) {
      Glyph& there = lines_[line][inner];
      if (there == kSpace) there = kAcross;
      if (there == kDown) there = kCrossing;
    }
    if (ends_[line] == kSpace) ends_[line] = kAcross;
  }

  std::vector<std::vector<Glyph>> lines_;
  std::vector<Glyph> ends_;  // what leads to the code
  size_t columns_ = 0;
};

}  // namespace

std::vector<std::string> DrawJumps(const std::vector<Jump>& jumps, size_t lines) {
  Canvas canvas(lines);
  for (const Arrow& arrow : ArrowsOf(jumps)) canvas.Add(arrow);
  return canvas.Text();
}

}  // namespace hbbp::tools
