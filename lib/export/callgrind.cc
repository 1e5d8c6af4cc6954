// Callgrind's format, by instruction: for KCachegrind and callgrind_annotate.
//
// An instruction costs what it executed (Ir). Functions have the names that callgrind gives them,
// and code that was inlined into one is of the file that it was written in (fi=, fe=). Below an
// instruction are the jumps (jump=, jcnd=) and calls (calls=) that it made; call_graph.h says what
// those cost. Descriptions (desc:) have the sources, what is assumed of calls, and build IDs.
//
// Write writes the header, then the blocks by module and function, then the calls of code that no
// sample and no burst has seen, and the sum at the end, without which hbbp compare takes the file
// for truncated.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/call_graph.h"
#include "export/exporter.h"
#include "export/frame_finder.h"
#include "export/one_line.h"
#include "image/build_id.h"
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
      : subject_(subject),
        sink_(sink),
        check_(subject.work.cancel),
        graph_(MakeCallGraph(subject)),
        is_written_(graph_.transfers.size()) {}

  void Write() {
    WriteHeader();
    for (const BlockRecord& record : subject_.analysis.blocks()) {
      if (!IsWritten(record)) continue;
      if (record.module != module_) BeginModule(record.module);
      if (record.function != function_) BeginFunction(record.function);
      AddBlock(record);
    }
    WriteOtherCalls();
    sink_->Write("\ntotals: ");
    sink_->WriteNumber(total_);
    sink_->Write("\n");
  }

 private:
  struct Line {
    std::string_view file = kUnknown;
    uint32_t number = 0;
  };

  const ProfileData& data() const { return subject_.analysis.data(); }

  bool IsWritten(const BlockRecord& record) const {
    return subject_.Wants(record.module) && WholeCount(record.estimate.count) != 0;
  }

  void WriteHeader() {
    sink_->Write("# callgrind format\nversion: 1\ncreator: hbbp\n");
    if (!data().command.empty()) {
      sink_->Write("cmd: ");
      for (const char character : data().command) {
        sink_->Write(character == '\n' ? std::string_view(" ") : std::string_view(&character, 1));
      }
      sink_->Write("\n");
    }
    WriteSources();
    WriteAssumptions();
    WriteBuildIds();
    sink_->Write("positions: instr line\nevents: Ir\n");
  }

  void WriteDescription(const std::string& text) {
    sink_->Write("desc: ");
    sink_->Write(OnOneLine(text));
    sink_->Write("\n");
  }

  void WriteSources() {
    for (uint32_t i = 0; i < data().sources.size(); ++i) {
      const SourceRecord& source = data().sources[i];
      if (!subject_.analysis.IsCounted(i)) continue;
      WriteDescription(std::string("Estimated by: ") + SourceName(source.kind) + " of " +
                       (source.event_name.empty() ? EventName(source.event) : source.event_name));
    }
  }

  void WriteAssumptions() {
    const auto is_call = [](const ControlTransfer& transfer) {
      return transfer.kind == TransferKind::kCall;
    };
    if (std::ranges::none_of(graph_.transfers, is_call)) return;
    WriteDescription(
        "Costs of calls: as by gprof, all calls of a function are taken to cost the same, and "
        "calls inside of a cycle nothing");
    const auto is_spontaneous = [](const FunctionRecord& function) {
      return function.name == kSpontaneous;
    };
    if (std::ranges::none_of(graph_.functions, is_spontaneous)) return;
    WriteDescription(
        "<spontaneous>: called by main, for the unknown callers of the functions that it calls");
  }

  // hbbp compare refuses another build.
  void WriteBuildIds() {
    uint32_t last = kNoIndex;
    for (const BlockRecord& record : subject_.analysis.blocks()) {
      if (record.module == last || !IsWritten(record)) continue;
      last = record.module;
      const ModuleRecord& module = data().modules[last];
      if (module.build_id.empty()) continue;
      WriteDescription("Build ID: " + BuildIdText(module.build_id) + " " + module.path);
    }
  }

  void BeginModule(uint32_t module) {
    module_ = module;
    function_ = kNoFunction;
    sink_->Write("\n");
    WriteObject("ob", module);
    finder_.reset();
    const StatusOr<const LineTable*> table = subject_.lines.Open(module);
    if (table.ok()) finder_.emplace(*table);
  }

  void BeginFunction(uint32_t function) {
    function_ = function;
    file_of_function_ = file_ = StartOf(function).file;
    files_.Write("fl", file_, sink_);
    WriteFunction("fn", function);
  }

  void WriteObject(std::string_view key, uint32_t module) {
    objects_.Write(key, data().modules[module].path, sink_);
  }

  void WriteFunction(std::string_view key, uint32_t function) {
    const bool is_named = function != kNoIndex && !graph_.functions[function].name.empty();
    functions_.Write(
        key, is_named ? Demangle(graph_.functions[function].name) : std::string(kUnknown), sink_);
  }

  void AddBlock(const BlockRecord& record) {
    const uint64_t count = WholeCount(record.estimate.count);
    for (const Instruction& instruction :
         subject_.analysis.modules().DecodeBlock(record.module, record.block)) {
      check_.Step();
      const Line line = LineAt({instruction.address});
      ChangeFile(line.file);
      WritePosition({instruction.address}, line.number);
      WriteCost(count);
      total_ += count;
      for (const ControlTransfer& transfer : graph_.From(module_, {instruction.address})) {
        AddTransfer(transfer, line.number, count);
      }
    }
  }

  void WriteOtherCalls() {
    for (const ControlTransfer& transfer : graph_.transfers) {
      if (transfer.kind != TransferKind::kCall || WasWritten(transfer)) continue;
      check_.Step();
      if (transfer.from_module != module_) BeginModule(transfer.from_module);
      if (transfer.caller != function_) BeginFunction(transfer.caller);
      const Line line = LineAt(transfer.from);
      ChangeFile(line.file);
      AddTransfer(transfer, line.number, 0);
    }
  }

  std::vector<bool>::reference WasWritten(const ControlTransfer& transfer) {
    return is_written_[static_cast<size_t>(&transfer - graph_.transfers.data())];
  }

  void AddTransfer(const ControlTransfer& transfer, uint32_t line, uint64_t executed) {
    WasWritten(transfer) = true;
    if (transfer.kind == TransferKind::kCall) {
      WriteCall(transfer);
      WritePosition(transfer.from, line);
      WriteCost(static_cast<uint64_t>(transfer.instructions));
    } else {
      WriteJump(transfer, executed);
      WritePosition(transfer.from, line);
      sink_->Write("\n");
    }
  }

  void WriteCall(const ControlTransfer& transfer) {
    if (transfer.to_module != module_) WriteObject("cob", transfer.to_module);
    const Line& start = StartOf(transfer.callee);
    files_.Write("cfi", start.file, sink_);
    WriteFunction("cfn", transfer.callee);
    sink_->Write("calls=");
    sink_->WriteNumber(WholeCount(transfer.count));
    sink_->Write(" ");
    WritePosition(transfer.to, start.number);
    sink_->Write("\n");
  }

  void WriteJump(const ControlTransfer& transfer, uint64_t executed) {
    const Line target = LineAt(transfer.to);
    if (target.file != file_) files_.Write("jfi", target.file, sink_);
    // The counts of branches and blocks have errors of their own.
    const uint64_t taken = std::min(WholeCount(transfer.count), executed);
    const bool is_conditional = transfer.kind == TransferKind::kConditionalJump;
    sink_->Write(is_conditional ? "jcnd=" : "jump=");
    sink_->WriteNumber(taken);
    if (is_conditional) {
      sink_->Write("/");
      sink_->WriteNumber(executed);
    }
    sink_->Write(" ");
    WritePosition(transfer.to, target.number);
    sink_->Write("\n");
  }

  void WritePosition(ModuleAddress address, uint32_t line) {
    sink_->Write("0x");
    sink_->WriteHex(address.value);
    sink_->Write(" ");
    sink_->WriteNumber(line);
  }

  void WriteCost(uint64_t cost) {
    sink_->Write(" ");
    sink_->WriteNumber(cost);
    sink_->Write("\n");
  }

  void ChangeFile(std::string_view file) {
    if (file == file_) return;
    file_ = file;
    files_.Write(file == file_of_function_ ? "fe" : "fi", file, sink_);
  }

  // Returns the line of an address of the function that is written.
  Line LineAt(ModuleAddress address) {
    if (finder_) {
      const std::vector<LineFrame>& frames = finder_->At(address);
      if (!frames.empty()) return {FileOf(frames.front()), frames.front().line};
    }
    return {file_of_function_, 0};
  }

  // Returns where a function begins: that of the function itself, and not of what is inlined there.
  const Line& StartOf(uint32_t function) {
    const auto [known, is_new] = starts_.try_emplace(function);
    if (!is_new || function == kNoIndex) return known->second;
    const FunctionRecord& record = graph_.functions[function];
    const StatusOr<const LineTable*> table = subject_.lines.Open(record.module);
    if (!table.ok()) return known->second;
    const LineRange found = (*table)->Find(record.range.start);
    if (!found.frames.empty()) {
      known->second = {FileOf(found.frames.back()), found.frames.back().line};
    }
    return known->second;
  }

  static std::string_view FileOf(const LineFrame& frame) {
    return frame.file.empty() ? kUnknown : frame.file;
  }

  static constexpr std::string_view kUnknown = "???";
  static constexpr uint32_t kNoFunction = kNoIndex - 1;

  const ExportSubject& subject_;
  ExportSink* sink_;
  CancelCheck check_;
  const CallGraph graph_;
  std::vector<bool> is_written_;  // by transfer
  NumberedNames objects_, files_, functions_;
  std::map<uint32_t, Line> starts_;  // by function
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
    &WriteCallgrind, true};

}  // namespace hbbp
