// A table of blocks as JSON, with the modules and sources of the profile. A block is one line, so
// that nothing is kept of those before it.
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "export/block_rows.h"
#include "export/exporter.h"
#include "export/json_text.h"
#include "image/build_id.h"

namespace hbbp {
namespace {

// Writes the pairs of an object, and its braces.
class ObjectWriter {
 public:
  explicit ObjectWriter(ExportSink* sink) : sink_(sink) { sink_->Write("{"); }
  ~ObjectWriter() { sink_->Write("}"); }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  void Add(std::string_view key, const BlockCell& value) {
    sink_->Write(separator_);
    sink_->Write(Quoted(key));
    sink_->Write(":");
    std::visit(*this, value);
    separator_ = ",";
  }

  void operator()(std::monostate) const { sink_->Write("null"); }
  void operator()(std::string_view text) const { sink_->Write(Quoted(text)); }
  void operator()(uint64_t number) const { sink_->WriteNumber(number); }
  void operator()(double number) const { sink_->WriteReal(number); }
  void operator()(ModuleAddress address) const { sink_->WriteNumber(address.value); }

 private:
  ExportSink* sink_;
  std::string_view separator_;
};

// Writes a list of objects, each on a line of its own.
class ListWriter {
 public:
  ListWriter(std::string_view key, ExportSink* sink) : sink_(sink) {
    sink_->Write(Quoted(key));
    sink_->Write(":[");
  }
  ~ListWriter() { sink_->Write("\n]"); }
  ListWriter(const ListWriter&) = delete;
  ListWriter& operator=(const ListWriter&) = delete;

  ObjectWriter Begin() {
    sink_->Write(separator_);
    separator_ = ",\n";
    return ObjectWriter(sink_);
  }

 private:
  ExportSink* sink_;
  std::string_view separator_ = "\n";
};

void WriteModules(const ExportSubject& subject, ExportSink* sink) {
  ListWriter list("modules", sink);
  const std::vector<ModuleRecord>& modules = subject.analysis.data().modules;
  for (uint32_t i = 0; i < modules.size(); ++i) {
    if (!subject.Wants(i)) continue;
    ObjectWriter module = list.Begin();
    module.Add("name", std::string_view(modules[i].path));
    BlockCell build_id;
    const std::string text = BuildIdText(modules[i].build_id);
    if (!modules[i].build_id.empty()) build_id = std::string_view(text);
    module.Add("build_id", build_id);
  }
}

void WriteSources(const ExportSubject& subject, ExportSink* sink) {
  ListWriter list("sources", sink);
  for (const SourceRecord& record : subject.analysis.data().sources) {
    ObjectWriter source = list.Begin();
    source.Add("kind", std::string_view(SourceName(record.kind)));
    source.Add("event", std::string_view(EventName(record.event)));
    BlockCell event_name;
    if (!record.event_name.empty()) event_name = std::string_view(record.event_name);
    source.Add("event_name", event_name);
    source.Add("period", record.period);
    source.Add("lost", record.lost);
  }
}

void WriteBlocks(const ExportSubject& subject, ExportSink* sink) {
  ListWriter list("blocks", sink);
  BlockRows rows(subject);
  while (const BlockRow* row = rows.Next()) {
    ObjectWriter block = list.Begin();
    for (size_t i = 0; i < row->size(); ++i) block.Add(kBlockColumns[i], (*row)[i]);
  }
}

Status WriteJson(const ExportSubject& subject, ExportSink* sink) {
  sink->Write("{");
  WriteModules(subject, sink);
  sink->Write(",\n");
  WriteSources(subject, sink);
  sink->Write(",\n");
  WriteBlocks(subject, sink);
  sink->Write("}\n");
  return OkStatus();
}

}  // namespace

constexpr Exporter kJsonExporter = {
    "json", "an object for each block, and the modules and sources: scripts", false, &WriteJson,
    true};

}  // namespace hbbp
