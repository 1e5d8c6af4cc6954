// What hbbp top shows of an interval, and its lines, which depend on the size of the terminal.
#ifndef HBBP_TOOLS_TOP_VIEW_H_
#define HBBP_TOOLS_TOP_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table.h"

namespace hbbp::tools {

// A number and its standard error.
struct Measured {
  double value = 0;
  double error = 0;
};

struct FunctionShare {
  Measured share;
  Measured instructions;
  std::string module;  // path
  std::string name;
};

struct LoopShare {
  Measured share;
  Measured trip_count;  // value 0: not known
  std::string basis;    // of the trip count
  std::string module;   // path
  uint64_t header = 0;
  std::string function;
};

struct ExtensionShare {
  Measured share;
  Measured instructions;
  std::string name;
};

// The lists are in order of shares.
struct View {
  std::vector<std::string> header;
  bool has_counts = false;  // instructions are numbers of executions
  std::vector<FunctionShare> functions;
  std::vector<LoopShare> loops;
  std::vector<ExtensionShare> extensions;
  std::vector<std::string> notes;
};

struct SectionRows {
  size_t functions = 0;
  size_t loops = 0;
  size_t extensions = 0;
  bool operator==(const SectionRows&) const = default;
};

// Each section that has rows takes as many lines besides: an empty one, and titles.
inline constexpr size_t kSectionHeadLines = 2;

// Divides lines among the sections, of which functions get twice as many as each of the others as
// long as all want more. Where there is little room loops are left out first, then extensions.
SectionRows DivideLines(size_t lines, const SectionRows& wanted);

// What fits.
struct ViewLimits {
  size_t rows = 0;    // of each section
  size_t width = 0;   // 0: any
  size_t height = 0;  // 0: any
};

struct ViewLine {
  std::string text;
  bool is_title = false;
};

// The lines have no control characters.
std::vector<ViewLine> Render(const View& view, const ViewLimits& limits);

// Returns the first columns of a line.
std::string_view CutToWidth(std::string_view text, size_t width);

// Returns what writes the lines over those that are on the terminal, at the same locations, so
// that nothing flickers. There must not be more lines than fit. They must be shorter than the
// terminal is wide: behind a full line, the cursor is still on its last character, which would be
// cleared with the rest of the line.
std::string Redraw(const std::vector<ViewLine>& lines);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TOP_VIEW_H_
