// Callgrind's format, by instruction: for KCachegrind and callgrind_annotate.
//
// An instruction costs what it executed (Ir). Functions have the names that callgrind gives them,
// and code that was inlined into one is of the file that it was written in (fi=, fe=). Calls are
// left out: their format needs what each call cost with all that it called, which no sample and no
// burst knows.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/exporter.h"
#include "export/frame_finder.h"
#include "export/one_line.h"
#include "symbols/demangle.h"

namespace hbbp {
namespace {

// Names of one kind, each of which is written once and then by its number.
class NumberedNames {
 public:
  void Write(std::string_view key, std::string_view name, ExportSink* sink) {
    const auto [known, is_new] = numbers_.try_emplace(std::string(name), numbers_.size() + 1);
    sink->Write(key);
    sink->Write("=(");
    sink->WriteNumber(known->second);
    sink->Write(")");
    if (is_new) {
      sink->Write(" ");
      sink->Write(OnOneLine(name));
    }
    sink->Write("\n");
  }

 private:
  std::map<std::string, size_t> numbers_;
};

class Writer {
 public:
  Writer(const ExportSubject& subject, ExportSink* sink)
      : subject_(subject), sink_(sink), check_(subject.work.cancel) {}

  void Write() {
    sink_->Write("# callgrind format\nversion: 1\ncreator: libhbbp\n");
    if (!data().command.empty()) {
      sink_->Write("cmd: ");
      for (const char character : data().command) {
        sink_->Write(character == '\n' ? std::string_view(" ") : std::string_view(&character, 1));
      }
      sink_->Write("\n");
    }
    sink_->Write("positions: instr line\nevents: Ir\n");
    for (const BlockRecord& record : subject_.analysis.blocks()) {
      if (!subject_.Wants(record.module) || WholeCount(record.estimate.count) == 0) continue;
      if (record.module != module_) BeginModule(record.module);
      if (record.function != function_) BeginFunction(record);
      AddBlock(record);
    }
    sink_->Write("\ntotals: ");
    sink_->WriteNumber(total_);
    sink_->Write("\n");
  }

 private:
  const ProfileData& data() const { return subject_.analysis.data(); }

  void BeginModule(uint32_t module) {
    module_ = module;
    function_ = kNoFunction;
    sink_->Write("\n");
    objects_.Write("ob", data().modules[module].path, sink_);
    finder_.reset();
    const StatusOr<const LineTable*> table = subject_.lines.Open(module);
    if (table.ok()) finder_.emplace(*table);
  }

  void BeginFunction(const BlockRecord& record) {
    function_ = record.function;
    const std::vector<LineFrame>& frames = FramesAt(record.block.start);
    file_of_function_ = frames.empty() ? kUnknown : FileOf(frames.back());
    file_ = file_of_function_;
    files_.Write("fl", file_, sink_);
    const bool is_named = record.function != kNoIndex;
    functions_.Write("fn",
                     is_named ? Demangle(subject_.analysis.functions()[record.function].name)
                              : std::string(kUnknown),
                     sink_);
  }

  void AddBlock(const BlockRecord& record) {
    const uint64_t count = WholeCount(record.estimate.count);
    for (const Instruction& instruction :
         subject_.analysis.modules().DecodeBlock(record.module, record.block)) {
      check_.Step();
      const std::vector<LineFrame>& frames = FramesAt({instruction.address});
      ChangeFile(frames.empty() ? file_of_function_ : FileOf(frames.front()));
      sink_->Write("0x");
      sink_->WriteHex(instruction.address);
      sink_->Write(" ");
      sink_->WriteNumber(frames.empty() ? 0 : frames.front().line);
      sink_->Write(" ");
      sink_->WriteNumber(count);
      sink_->Write("\n");
      total_ += count;
    }
  }

  void ChangeFile(std::string_view file) {
    if (file == file_) return;
    file_ = file;
    files_.Write(file == file_of_function_ ? "fe" : "fi", file, sink_);
  }

  const std::vector<LineFrame>& FramesAt(ModuleAddress address) {
    static const std::vector<LineFrame> kNone;
    return finder_ ? finder_->At(address) : kNone;
  }

  static std::string_view FileOf(const LineFrame& frame) {
    return frame.file.empty() ? kUnknown : frame.file;
  }

  static constexpr std::string_view kUnknown = "???";
  static constexpr uint32_t kNoFunction = kNoIndex - 1;

  const ExportSubject& subject_;
  ExportSink* sink_;
  CancelCheck check_;
  NumberedNames objects_, files_, functions_;
  uint32_t module_ = kNoIndex;
  uint32_t function_ = kNoFunction;
  std::optional<FrameFinder> finder_;         // of module_, if it has lines
  std::string_view file_of_function_, file_;  // views of the tables of lines
  uint64_t total_ = 0;
};

Status WriteCallgrind(const ExportSubject& subject, ExportSink* sink) {
  Writer(subject, sink).Write();
  return OkStatus();
}

}  // namespace

constexpr Exporter kCallgrindExporter = {
    "callgrind", "callgrind's format by instruction: KCachegrind, callgrind_annotate", false,
    &WriteCallgrind};

}  // namespace hbbp
