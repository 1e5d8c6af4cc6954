// Prints a table as text for people, CSV or JSON, in pieces (Start, Rows, End), so that long lists
// can be written as they are made. Text for people needs a Layout, which is known after all rows
// were measured: those of long lists are made a second time to be printed.
#include "table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "command.h"
#include "format.h"

namespace hbbp::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string HumanCell(const Cell& cell, Column::Kind kind) {
  if (const auto* number = std::get_if<uint64_t>(&cell)) {
    if (kind == Column::kAddress) return FormatAddress(*number);
    return kind == Column::kText ? std::to_string(*number) : FormatCount(*number);
  }
  if (const auto* number = std::get_if<double>(&cell)) {
    if (kind == Column::kShare) return FormatShare(*number);
    if (kind == Column::kFactor) return FormatFactor(*number);
    if (kind == Column::kFactorError) return "± " + FormatFactor(*number);
    return kind == Column::kError ? "± " + FormatCount(*number) : FormatCount(*number);
  }
  return "";
}

// Rounds each count that is followed by its error.
void RoundToErrors(const std::vector<Cell>& row, const std::vector<Column>& columns,
                   std::vector<std::string>* texts) {
  for (size_t i = 0; i + 1 < row.size(); ++i) {
    const auto* const value = std::get_if<double>(&row[i]);
    const auto* const error = std::get_if<double>(&row[i + 1]);
    const bool is_pair = columns[i].kind == Column::kCount && columns[i + 1].kind == Column::kError;
    if (!is_pair || value == nullptr || error == nullptr) continue;
    const MeasuredText measured = FormatMeasured(*value, *error);
    (*texts)[i] = measured.value;
    (*texts)[i + 1] = "± " + measured.error;
  }
}

std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string CsvCell(const Cell& cell, Column::Kind kind) {
  if (const auto* text = std::get_if<std::string>(&cell)) return CsvText(*text);
  if (const auto* number = std::get_if<uint64_t>(&cell)) {
    return kind == Column::kAddress ? FormatAddress(*number) : std::to_string(*number);
  }
  if (const auto* number = std::get_if<double>(&cell)) return FormatExact(*number);
  return "";
}

std::string JsonText(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string JsonCell(const Cell& cell, Column::Kind kind) {
  if (const auto* text = std::get_if<std::string>(&cell)) return JsonText(*text);
  if (const auto* number = std::get_if<uint64_t>(&cell)) {
    return kind == Column::kAddress ? JsonText(FormatAddress(*number)) : std::to_string(*number);
  }
  if (const auto* number = std::get_if<double>(&cell)) return JsonText(*number);
  return "null";
}

// The last column of text is not padded, because function names are long.
void AppendLine(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                const std::vector<size_t>& widths, std::string* out) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i != 0) line += "  ";
    const std::string padding(widths[i] - DisplayWidth(cells[i]), ' ');
    const Column::Kind kind = columns[i].kind;
    const bool is_left =
        kind == Column::kText || kind == Column::kPath || kind == Column::kFunction;
    line += is_left ? cells[i] + padding : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  *out += line + '\n';
}

int WriteToFile(std::string_view command, const std::string& path, std::string_view text) {
  const Status written =
      WriteFileAtomically(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return written.ok() ? kExitSuccess : Fail(command, written.message());
}

}  // namespace

const std::vector<std::string>& FormatNames() {
  static const std::vector<std::string> names = {"table", "csv", "json"};
  return names;
}

Format FormatFromName(std::string_view name) {
  if (name == "csv") return Format::kCsv;
  return name == "json" ? Format::kJson : Format::kTable;
}

Cell ShareErrorCell(double error, Format format) {
  if (format != Format::kTable) return error;
  return "± " + FormatShare(error);
}

ShortTexts::ShortTexts(Column::Kind kind, NameStyle names, std::vector<std::string> texts)
    : kind_(kind) {
  if (kind == Column::kPath) {
    for (const std::string& path : texts) paths_.Add(path);
  } else if (kind == Column::kFunction && names == NameStyle::kShort) {
    names_ = ShortNames(std::move(texts));
  }
}

std::string ShortTexts::Of(const std::string& text) const {
  return kind_ == Column::kPath ? paths_.Of(text) : names_.Of(text);
}

// Returns the cells as a table shows them; those of texts are empty if `texts` is null.
std::vector<std::string> Table::HumanCells(const std::vector<Cell>& row,
                                           const std::vector<ShortTexts>* texts) const {
  std::vector<std::string> cells;
  for (size_t i = 0; i < row.size(); ++i) {
    const auto* const text = std::get_if<std::string>(&row[i]);
    if (text == nullptr) {
      cells.push_back(HumanCell(row[i], columns_[i].kind));
    } else {
      cells.push_back(texts == nullptr ? "" : Printable((*texts)[i].Of(*text)));
    }
  }
  RoundToErrors(row, columns_, &cells);
  return cells;
}

void Table::Measure(Measured* measured) const {
  measured->texts.resize(columns_.size());
  measured->widths.resize(columns_.size());
  for (const std::vector<Cell>& row : rows_) {
    const std::vector<std::string> cells = HumanCells(row, nullptr);
    for (size_t i = 0; i < row.size(); ++i) {
      if (const auto* text = std::get_if<std::string>(&row[i])) measured->texts[i].insert(*text);
      measured->widths[i] = std::max(measured->widths[i], DisplayWidth(cells[i]));
    }
  }
}

Table::Layout Table::MakeLayout(const Measured& measured, NameStyle names) const {
  Layout layout;
  layout.widths = measured.widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::set<std::string>& all = measured.texts[i];
    layout.texts.emplace_back(columns_[i].kind, names,
                              std::vector<std::string>(all.begin(), all.end()));
    size_t& width = layout.widths[i];
    width = std::max(width, DisplayWidth(Printable(columns_[i].title)));
    for (const std::string& text : all) {
      width = std::max(width, DisplayWidth(Printable(layout.texts[i].Of(text))));
    }
  }
  return layout;
}

std::string Table::Lines(const Layout& layout) const {
  std::string out;
  if (!has_start_) {
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.push_back(Printable(column.title));
    AppendLine(titles, columns_, layout.widths, &out);
  }
  for (const std::vector<Cell>& row : rows_) {
    AppendLine(HumanCells(row, &layout.texts), columns_, layout.widths, &out);
  }
  return out;
}

std::string Table::ToText(NameStyle names) const {
  std::string out;
  if (layout_) {
    out = Lines(*layout_);
  } else {
    Measured measured;
    Measure(&measured);
    out = Lines(MakeLayout(measured, names));
  }
  for (const std::string& summary : summaries_) out += Printable(summary) + '\n';
  for (const std::string& note : notes_) out += "note: " + Printable(note) + '\n';
  return out;
}

std::string Table::ToCsv() const {
  return Start(Format::kCsv) + Rows(Format::kCsv) + End(Format::kCsv);
}

std::string Table::ToJson() const {
  return Start(Format::kJson) + Rows(Format::kJson) + End(Format::kJson);
}

std::string Table::Start(Format format) const {
  std::string out;
  if (format == Format::kJson) {
    out = "{\n";
    for (const auto& [key, value] : fields_) {
      out += "  " + JsonText(key) + ": " + JsonCell(value, Column::kText) + ",\n";
    }
    return out + "  \"rows\": [";
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i != 0) out += ',';
    out += CsvText(columns_[i].key);
  }
  return out + '\n';
}

std::string Table::Rows(Format format) const {
  std::vector<std::string> keys;
  for (const Column& column : columns_) keys.push_back("      " + JsonText(column.key) + ": ");
  std::string out;
  bool has_rows = has_rows_;
  for (const std::vector<Cell>& row : rows_) {
    const bool is_json = format == Format::kJson;
    if (is_json) out += has_rows ? ",\n    {\n" : "\n    {\n";
    has_rows = true;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i != 0) out += is_json ? ",\n" : ",";
      const Column::Kind kind = columns_[i].kind;
      out += is_json ? keys[i] + JsonCell(row[i], kind) : CsvCell(row[i], kind);
    }
    out += is_json ? "\n    }" : "\n";
  }
  return out;
}

std::string Table::End(Format format) const {
  if (format != Format::kJson) return "";
  std::string out = has_rows_ || !rows_.empty() ? "\n  ]" : "]";
  for (size_t i = 0; i < notes_.size(); ++i) {
    out += (i == 0 ? ",\n  \"notes\": [\n    " : ",\n    ") + JsonText(notes_[i]);
  }
  return out + (notes_.empty() ? "\n}\n" : "\n  ]\n}\n");
}

void Table::MeasureRows() {
  Measure(&measured_);
  rows_.clear();
}

void Table::EndMeasuring(NameStyle names) {
  MeasureRows();
  layout_ = MakeLayout(measured_, names);
  measured_ = {};
}

int Table::PrintRows(std::string_view command, Format format) {
  std::string text;
  if (format == Format::kTable) {
    if (!layout_) return kExitSuccess;
    text = Lines(*layout_);
  } else {
    text = (has_start_ ? "" : Start(format)) + Rows(format);
  }
  has_start_ = true;
  has_rows_ |= !rows_.empty();
  rows_.clear();
  return WriteOutput(command, text);
}

int Table::Print(std::string_view command, Format format, NameStyle names,
                 const std::string& output) const {
  const std::string text = format == Format::kTable
                               ? ToText(names)
                               : (has_start_ ? "" : Start(format)) + Rows(format) + End(format);
  const int status =
      output == kStandardOutput ? WriteOutput(command, text) : WriteToFile(command, output, text);
  if (format == Format::kCsv) {
    for (const std::string& note : notes_) Note(command, note);
  }
  return status;
}

}  // namespace hbbp::tools
