// Table: rows that are described once and printed in three formats.
//
//   Table table({{"mnemonic", "mnemonic", Column::kText}, {"share", "share", Column::kShare}});
//   table.AddRow({"add", 0.25});
//   table.AddField("total", 1234.0);           // of the whole; JSON only
//   table.AddSummary("2 of 9 rows");           // under the table only
//   table.AddNote("3 samples were lost");      // under the table; with CSV on stderr, also if the
//                                              // rows go to a file
//   return table.Print("mix", Format::kTable);
//
// A table is for people: numbers are rounded (those before a column of errors to what these allow),
// paths are cut to their last part where that is unique, names of functions are short
// (short_names.h), and control characters, which names of
// symbols may have, are not sent to a terminal. CSV and JSON have everything in full. JSON: {field:
// value, ..., "rows": [{key: value, ...}, ...], "notes": [...]}.
#ifndef HBBP_TOOLS_TABLE_H_
#define HBBP_TOOLS_TABLE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "format.h"
#include "options.h"
#include "short_names.h"

namespace hbbp::tools {

enum class Format { kTable, kCsv, kJson };

// The words of --format, and the meaning of one of them.
const std::vector<std::string>& FormatNames();
Format FormatFromName(std::string_view name);

// How a table shows the names of functions.
enum class NameStyle { kShort, kFull };

struct Column {
  enum Kind {
    kText,
    kPath,         // a table shows the last part only
    kFunction,     // a table shows the short name
    kCount,        // a number; a table separates thousands
    kError,        // like kCount, with +- in front in a table
    kShare,        // a fraction; a table shows percent
    kFactor,       // a table shows four significant digits
    kFactorError,  // like kFactor, with +- in front in a table
    kAddress,      // hexadecimal everywhere
  };

  std::string key;    // in CSV and JSON
  std::string title;  // in a table
  Kind kind = kText;
};

// What a table shows instead of the texts of a column.
class ShortTexts {
 public:
  ShortTexts(Column::Kind kind, NameStyle names, std::vector<std::string> texts);
  // Takes one of the texts.
  std::string Of(const std::string& text) const;

 private:
  Column::Kind kind_;
  ShortPaths paths_;
  ShortNames names_;
};

// std::monostate stands for unknown: empty in a table and in CSV, null in JSON.
using Cell = std::variant<std::monostate, std::string, uint64_t, double>;

// Returns the standard error of a share, for a column of kError: a table has percent.
Cell ShareErrorCell(double error, Format format);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Takes as many cells as there are columns.
  void AddRow(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  void AddField(std::string key, Cell value) {
    fields_.emplace_back(std::move(key), std::move(value));
  }
  void AddSummary(std::string summary) { summaries_.push_back(std::move(summary)); }
  void AddNote(std::string note) { notes_.push_back(std::move(note)); }

  std::string ToText(NameStyle names = NameStyle::kShort) const;
  std::string ToCsv() const;
  std::string ToJson() const;

  // Writes to the file, or to stdout if it is kStandardOutput, and returns the exit status of the
  // process.
  int Print(std::string_view command, Format format, NameStyle names = NameStyle::kShort,
            const std::string& output = kStandardOutput) const;
  // Writes the current rows and removes them, so that a long list takes little memory. Fields must
  // be added before; Print() writes the remaining rows. As a table, rows are kept until Print()
  // unless all rows were measured before.
  int PrintRows(std::string_view command, Format format);
  // Removes the current rows, once it is known how wide they and their texts are.
  void MeasureRows();
  // Call it after the last row was measured; then the same rows are added again, to be printed.
  void EndMeasuring(NameStyle names);

 private:
  // Of each column.
  struct Measured {
    std::vector<std::set<std::string>> texts;
    std::vector<size_t> widths;  // of numbers
  };
  struct Layout {
    std::vector<ShortTexts> texts;
    std::vector<size_t> widths;
  };

  std::vector<std::string> HumanCells(const std::vector<Cell>& row,
                                      const std::vector<ShortTexts>* texts) const;
  void Measure(Measured* measured) const;
  Layout MakeLayout(const Measured& measured, NameStyle names) const;
  // Returns the current rows as a table shows them, with the titles unless they were written.
  std::string Lines(const Layout& layout) const;
  // Start and end of a document in CSV or JSON.
  std::string Start(Format format) const;
  std::string Rows(Format format) const;
  std::string End(Format format) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<std::pair<std::string, Cell>> fields_;
  std::vector<std::string> summaries_;
  std::vector<std::string> notes_;
  Measured measured_;
  std::optional<Layout> layout_;
  // PrintRows() has written the start.
  bool has_start_ = false;
  bool has_rows_ = false;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TABLE_H_
