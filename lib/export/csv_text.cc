// A table of blocks as comma-separated values (RFC 4180): for spreadsheets and pandas.
#include <string_view>
#include <variant>

#include "export/block_rows.h"
#include "export/exporter.h"

namespace hbbp {
namespace {

constexpr char kEndOfLine[] = "\r\n";

class CellWriter {
 public:
  explicit CellWriter(ExportSink* sink) : sink_(sink) {}

  void operator()(std::monostate) const {}
  void operator()(std::string_view text) const {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return sink_->Write(text);
    sink_->Write("\"");
    for (size_t end; (end = text.find('"')) != std::string_view::npos;) {
      sink_->Write(text.substr(0, end + 1));
      sink_->Write("\"");
      text.remove_prefix(end + 1);
    }
    sink_->Write(text);
    sink_->Write("\"");
  }
  void operator()(uint64_t number) const { sink_->WriteNumber(number); }
  void operator()(double number) const { sink_->WriteReal(number); }
  void operator()(ModuleAddress address) const {
    sink_->Write("0x");
    sink_->WriteHex(address.value);
  }

 private:
  ExportSink* sink_;
};

template <typename Cells, typename WriteCell>
void WriteLine(const Cells& cells, WriteCell&& write_cell, ExportSink* sink) {
  std::string_view separator;
  for (const auto& cell : cells) {
    sink->Write(separator);
    write_cell(cell);
    separator = ",";
  }
  sink->Write(kEndOfLine);
}

Status WriteCsv(const ExportSubject& subject, ExportSink* sink) {
  const CellWriter writer(sink);
  WriteLine(kBlockColumns, writer, sink);
  BlockRows rows(subject);
  while (const BlockRow* row = rows.Next()) {
    WriteLine(
        *row, [&](const BlockCell& cell) { std::visit(writer, cell); }, sink);
  }
  return OkStatus();
}

}  // namespace

constexpr Exporter kCsvExporter = {
    "csv", "a row for each block, comma-separated: spreadsheets, pandas", false, &WriteCsv, true};

}  // namespace hbbp
