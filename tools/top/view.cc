#include "top/view.h"

#include <algorithm>
#include <utility>

#include "format.h"

namespace hbbp::tools {
namespace {

// Narrower terminals show shares and names only.
constexpr size_t kWideColumns = 100;
// Notes take at most one of so many lines of a terminal.
constexpr size_t kLinesPerNote = 8;

Cell ErrorCell(double error) { return ShareErrorCell(error, Format::kTable); }

void AddCells(const Measured& share, std::vector<Cell>* row) {
  row->emplace_back(share.value);
  row->push_back(ErrorCell(share.error));
}

std::vector<Column> ShareColumns(bool has_counts) {
  std::vector<Column> columns = {{"share", "share", Column::kShare},
                                 {"share_error", "std. error", Column::kError}};
  if (!has_counts) return columns;
  columns.push_back({"instructions", "instructions", Column::kCount});
  columns.push_back({"standard_error", "std. error", Column::kError});
  return columns;
}

std::vector<Cell> ShareCells(const Measured& share, const Measured& instructions, bool has_counts) {
  std::vector<Cell> row;
  AddCells(share, &row);
  if (!has_counts) return row;
  row.emplace_back(instructions.value);
  row.emplace_back(instructions.error);
  return row;
}

Table FunctionTable(const View& view, size_t rows, bool is_wide) {
  const bool has_counts = view.has_counts && is_wide;
  std::vector<Column> columns = ShareColumns(has_counts);
  columns.push_back({"module", "module", Column::kPath});
  columns.push_back({"function", "function", Column::kFunction});
  Table table(std::move(columns));
  for (size_t i = 0; i < rows; ++i) {
    const FunctionShare& function = view.functions[i];
    std::vector<Cell> row = ShareCells(function.share, function.instructions, has_counts);
    row.emplace_back(function.module);
    row.emplace_back(function.name);
    table.AddRow(std::move(row));
  }
  return table;
}

Table LoopTable(const View& view, size_t rows, bool is_wide) {
  std::vector<Column> columns = ShareColumns(false);
  columns.push_back({"trip_count", "trip count", Column::kFactor});
  columns.push_back({"trip_count_error", "std. error", Column::kFactorError});
  if (is_wide) {
    columns.push_back({"trip_basis", "by"});
    columns.push_back({"module", "module", Column::kPath});
  }
  columns.push_back({"header", "loop", Column::kAddress});
  columns.push_back({"function", "function", Column::kFunction});
  Table table(std::move(columns));
  for (size_t i = 0; i < rows; ++i) {
    const LoopShare& loop = view.loops[i];
    std::vector<Cell> row;
    AddCells(loop.share, &row);
    row.resize(row.size() + 2);  // not known
    if (loop.trip_count.value > 0) {
      row.end()[-2] = loop.trip_count.value;
      row.end()[-1] = loop.trip_count.error;
    }
    if (is_wide) {
      row.emplace_back(loop.basis);
      row.emplace_back(loop.module);
    }
    row.emplace_back(loop.header);
    row.emplace_back(loop.function);
    table.AddRow(std::move(row));
  }
  return table;
}

Table ExtensionTable(const View& view, size_t rows, bool is_wide) {
  const bool has_counts = view.has_counts && is_wide;
  std::vector<Column> columns = ShareColumns(has_counts);
  columns.push_back({"extension", "extension"});
  Table table(std::move(columns));
  for (size_t i = 0; i < rows; ++i) {
    const ExtensionShare& extension = view.extensions[i];
    std::vector<Cell> row = ShareCells(extension.share, extension.instructions, has_counts);
    row.emplace_back(extension.name);
    table.AddRow(std::move(row));
  }
  return table;
}

void AddTable(const Table& table, bool follows_empty_line, std::vector<ViewLine>* lines) {
  if (follows_empty_line) lines->emplace_back();
  const std::string text = table.ToText();
  bool is_title = true;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines->push_back({text.substr(begin, end - begin), is_title});
    is_title = false;
    begin = end + 1;
  }
}

}  // namespace

SectionRows DivideLines(size_t lines, const SectionRows& wanted) {
  struct Section {
    size_t wanted;
    size_t weight;
    size_t rows;
  };
  Section functions = {wanted.functions, 2, 0};
  Section extensions = {wanted.extensions, 1, 0};
  Section loops = {wanted.loops, 1, 0};
  Section* const by_importance[] = {&functions, &extensions, &loops};
  for (Section* const section : by_importance) {
    if (section->wanted == 0 || lines <= kSectionHeadLines) continue;
    section->rows = 1;
    lines -= kSectionHeadLines + 1;
  }
  for (; lines > 0; --lines) {
    Section* next = nullptr;
    for (Section* const section : by_importance) {
      if (section->rows == 0 || section->rows == section->wanted) continue;
      const bool has_less =
          next == nullptr || section->rows * next->weight < next->rows * section->weight;
      if (has_less) next = section;
    }
    if (next == nullptr) break;
    ++next->rows;
  }
  return {functions.rows, loops.rows, extensions.rows};
}

std::vector<ViewLine> Render(const View& view, const ViewLimits& limits) {
  const bool is_wide = limits.width == 0 || limits.width >= kWideColumns;
  const bool is_screen = limits.height != 0;
  std::vector<ViewLine> lines;
  for (const std::string& line : view.header) lines.push_back({Printable(line)});
  SectionRows rows = {std::min(view.functions.size(), limits.rows),
                      std::min(view.loops.size(), limits.rows),
                      std::min(view.extensions.size(), limits.rows)};
  size_t notes = view.notes.size();
  if (is_screen) {
    notes = std::min(notes, limits.height / kLinesPerNote);
    const size_t taken = std::min(lines.size() + notes, limits.height);
    rows = DivideLines(limits.height - taken, rows);
  }
  // In a file, empty lines separate views.
  if (rows.functions > 0) AddTable(FunctionTable(view, rows.functions, is_wide), is_screen, &lines);
  if (rows.loops > 0) AddTable(LoopTable(view, rows.loops, is_wide), is_screen, &lines);
  if (rows.extensions > 0) {
    AddTable(ExtensionTable(view, rows.extensions, is_wide), is_screen, &lines);
  }
  for (size_t i = 0; i < notes; ++i) lines.push_back({"note: " + Printable(view.notes[i])});
  if (is_screen) lines.resize(std::min(lines.size(), limits.height));
  if (limits.width == 0) return lines;
  for (ViewLine& line : lines) line.text.resize(CutToWidth(line.text, limits.width).size());
  return lines;
}

std::string_view CutToWidth(std::string_view text, size_t width) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins_character = DisplayWidth(text.substr(i, 1)) == 1;
    if (begins_character && columns++ == width) return text.substr(0, i);
  }
  return text;
}

std::string Redraw(const std::vector<ViewLine>& lines) {
  constexpr char kHome[] = "\033[H";
  constexpr char kReversed[] = "\033[7m";
  constexpr char kPlain[] = "\033[m";
  constexpr char kClearLine[] = "\033[K";
  constexpr char kClearBelow[] = "\033[J";
  std::string text = kHome;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i != 0) text += "\r\n";
    text += lines[i].is_title ? kReversed + lines[i].text + kPlain : lines[i].text;
    text += kClearLine;
  }
  return text + kClearBelow;
}

}  // namespace hbbp::tools
