#include "table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.h"
#include "format.h"

namespace hbbp::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string HumanCell(const Cell& cell, Column::Kind kind, const ShortNames& paths) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return kind == Column::kPath ? paths.Of(*text) : *text;
  }
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

Json JsonCell(const Cell& cell, Column::Kind kind) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<uint64_t>(&cell)) {
    return kind == Column::kAddress ? Json(FormatAddress(*number)) : Json(*number);
  }
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  return nullptr;
}

// Columns on a terminal: the bytes that begin a UTF-8 character.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// The last column of text is not padded: function names are long.
void AppendLine(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                const std::vector<size_t>& widths, std::string* out) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i != 0) line += "  ";
    const std::string padding(widths[i] - Width(cells[i]), ' ');
    const bool is_left = columns[i].kind == Column::kText || columns[i].kind == Column::kPath;
    line += is_left ? cells[i] + padding : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  *out += line + '\n';
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

std::string Table::ToText() const {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns_) lines.front().push_back(column.title);
  std::vector<ShortNames> paths(columns_.size());
  for (const std::vector<Cell>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (const auto* text = std::get_if<std::string>(&row[i])) paths[i].Add(*text);
    }
  }
  for (const std::vector<Cell>& row : rows_) {
    std::vector<std::string>& line = lines.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      line.push_back(HumanCell(row[i], columns_[i].kind, paths[i]));
    }
  }
  std::vector<size_t> widths(columns_.size());
  for (const std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i]));
  }
  std::string out;
  for (const std::vector<std::string>& line : lines) AppendLine(line, columns_, widths, &out);
  for (const std::string& summary : summaries_) out += summary + '\n';
  for (const std::string& note : notes_) out += "note: " + note + '\n';
  return out;
}

std::string Table::ToCsv() const {
  std::string out;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i != 0) out += ',';
    out += CsvText(columns_[i].key);
  }
  out += '\n';
  for (const std::vector<Cell>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i != 0) out += ',';
      out += CsvCell(row[i], columns_[i].kind);
    }
    out += '\n';
  }
  return out;
}

std::string Table::ToJson() const {
  Json object = Json::object();
  for (const auto& [key, value] : fields_) object[key] = JsonCell(value, Column::kText);
  Json& rows = object["rows"] = Json::array();
  for (const std::vector<Cell>& row : rows_) {
    Json cells = Json::object();
    for (size_t i = 0; i < row.size(); ++i) {
      cells[columns_[i].key] = JsonCell(row[i], columns_[i].kind);
    }
    rows.push_back(std::move(cells));
  }
  if (!notes_.empty()) object["notes"] = notes_;
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

int Table::Print(std::string_view command, Format format) const {
  if (format == Format::kTable) return WriteOutput(command, ToText());
  if (format == Format::kJson) return WriteOutput(command, ToJson());
  const int status = WriteOutput(command, ToCsv());
  for (const std::string& note : notes_) Note(command, note);
  return status;
}

}  // namespace hbbp::tools
