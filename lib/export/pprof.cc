// profile.proto of google/pprof, compressed as its readers expect. A sample is a run of
// instructions that have one line, in one thread: its location is the first one, with the functions
// inlined there. The executions of a block are those of its first run, so that sums are right.
//
// Write writes the mappings, then the samples, each after what it is the first to refer to, and the
// strings at the end.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "export/address_layout.h"
#include "export/code_runs.h"
#include "export/exporter.h"
#include "export/gzip_writer.h"
#include "export/proto_message.h"
#include "image/build_id.h"
#include "mix/pivot_input.h"
#include "symbols/demangle.h"

namespace hbbp {
namespace {

// Numbers of fields.
namespace profile {
constexpr uint32_t kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5,
                   kStringTable = 6, kTimeNanos = 9, kDurationNanos = 10, kPeriodType = 11,
                   kPeriod = 12, kComment = 13, kDefaultSampleType = 14;
}  // namespace profile
namespace value_type {
constexpr uint32_t kType = 1, kUnit = 2;
}  // namespace value_type
namespace sample {
constexpr uint32_t kLocationId = 1, kValue = 2, kLabel = 3;
}  // namespace sample
namespace label {
constexpr uint32_t kKey = 1, kString = 2, kNumber = 3;
}  // namespace label
namespace mapping {
constexpr uint32_t kId = 1, kMemoryStart = 2, kMemoryLimit = 3, kFileOffset = 4, kFilename = 5,
                   kBuildId = 6, kHasFunctions = 7, kHasFilenames = 8, kHasLineNumbers = 9,
                   kHasInlineFrames = 10;
}  // namespace mapping
namespace location {
constexpr uint32_t kId = 1, kMappingId = 2, kAddress = 3, kLine = 4;
}  // namespace location
namespace line {
constexpr uint32_t kFunctionId = 1, kLine = 2;
}  // namespace line
namespace function {
constexpr uint32_t kId = 1, kName = 2, kSystemName = 3, kFilename = 4, kStartLine = 5;
}  // namespace function

// Returns the text with U+FFFD for bytes that are not UTF-8, which strings of Protocol Buffers are.
std::string ValidText(std::string_view text) {
  using Json = nlohmann::json;
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return std::string(text);
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Returns the string of pprof for a unit.
const char* UnitName(Unit unit) { return unit == Unit::kNanoseconds ? "nanoseconds" : "count"; }

class PprofWriter {
 public:
  PprofWriter(const ExportSubject& subject, const PivotInput& input, ExportSink* sink)
      : subject_(subject),
        input_(input),
        check_(subject.work.cancel),
        layout_(subject.analysis, input),
        runs_(subject),
        out_(sink) {}

  void Write() {
    if (!out_.compresses()) subject_.Note("there is no zlib, so this is not compressed");
    FindString("");
    WriteHeader();
    WriteMappings();
    for (const PivotObservation& observation : input_.observations) {
      check_.Step();
      const PivotBlock& block = input_.blocks[observation.block];
      FindLocations(observation.block);
      for (size_t i = 0; i < locations_.size(); ++i) {
        const double executions =
            i == 0 && block.block != kNoIndex ? observation.estimate.count : 0;
        WriteSample(locations_[i], executions,
                    observation.estimate.count * locations_[i].instructions,
                    FindLabels(observation.thread, block.source));
      }
    }
    for (const std::string* text : strings_) WriteField(profile::kStringTable, ValidText(*text));
    out_.Finish();
  }

 private:
  struct WrittenLocation {
    uint64_t id = 0;
    uint32_t instructions = 0;
  };

  const ProfileData& data() const { return subject_.analysis.data(); }

  void WriteField(uint32_t field, std::string_view bytes) {
    top_.Clear();
    top_.AddBytes(field, bytes);
    out_.Write(top_.bytes());
  }
  void WriteField(uint32_t field, const ProtoMessage& message) {
    WriteField(field, std::string_view(message.bytes()));
  }

  uint64_t FindString(std::string_view text) {
    const auto [known, is_new] = string_indices_.try_emplace(std::string(text), strings_.size());
    if (is_new) strings_.push_back(&known->first);
    return known->second;
  }

  ProtoMessage MakeType(std::string_view type, std::string_view unit) {
    ProtoMessage message;
    message.AddNumber(value_type::kType, FindString(type));
    message.AddNumber(value_type::kUnit, FindString(unit));
    return message;
  }

  void WriteHeader() {
    WriteField(profile::kSampleType, MakeType("executions", "count"));
    WriteField(profile::kSampleType, MakeType("instructions", "count"));
    ProtoMessage rest;
    rest.AddNumber(profile::kTimeNanos, data().start_time_ns);
    rest.AddNumber(profile::kDurationNanos, data().duration_ns);
    for (uint32_t i = 0; i < data().sources.size(); ++i) {
      const SourceRecord& source = data().sources[i];
      if (!subject_.analysis.IsCounted(i) || source.period == 0) continue;
      std::string_view event = source.event_name;
      if (event.empty()) event = EventName(source.event);
      rest.AddBytes(profile::kPeriodType, MakeType(event, UnitName(UnitOf(source.event))).bytes());
      rest.AddNumber(profile::kPeriod, source.period);
      break;
    }
    if (!data().command.empty()) {
      rest.AddPacked(profile::kComment, {FindString(data().command)});
    }
    rest.AddNumber(profile::kDefaultSampleType, FindString("instructions"));
    out_.Write(rest.bytes());
  }

  // Readers take the first one for the program.
  void WriteMappings() {
    const uint32_t program = ProgramOf(data());
    for (const bool of_program : {true, false}) {
      for (size_t i = 0; i < layout_.mapped().size(); ++i) {
        const uint32_t module = layout_.mapped()[i].module;
        if (subject_.Wants(module) && (module == program) == of_program) WriteMapping(i);
      }
    }
  }

  void WriteMapping(size_t index) {
    const MappedCode& code = layout_.mapped()[index];
    const ModuleRecord& module = data().modules[code.module];
    const bool has_lines = runs_.HasLines(code.module);
    ProtoMessage message;
    message.AddNumber(mapping::kId, index + 1);
    message.AddNumber(mapping::kMemoryStart, code.start);
    message.AddNumber(mapping::kMemoryLimit, code.end());
    message.AddNumber(mapping::kFileOffset, code.file_offset);
    message.AddNumber(mapping::kFilename, FindString(module.path));
    if (!module.build_id.empty()) {
      message.AddNumber(mapping::kBuildId, FindString(BuildIdText(module.build_id)));
    }
    message.AddNumber(mapping::kHasFunctions, 1);
    message.AddNumber(mapping::kHasFilenames, has_lines);
    message.AddNumber(mapping::kHasLineNumbers, has_lines);
    message.AddNumber(mapping::kHasInlineFrames, has_lines);
    WriteField(profile::kMapping, message);
  }

  // Writes the locations of a block, unless they are those that were written last.
  void FindLocations(uint32_t index) {
    const PivotBlock& block = input_.blocks[index];
    const bool is_same_function = block.block == kNoIndex && block.function == missing_function_;
    if (index == located_block_ || is_same_function) return;
    located_block_ = index;
    missing_function_ = block.block == kNoIndex ? block.function : kNoIndex;
    locations_.clear();
    for (const CodeRun& run : runs_.Split(block)) {
      WriteLocation(block.module, run);
      locations_.push_back({last_location_, run.instructions});
    }
  }

  void WriteLocation(uint32_t module, const CodeRun& run) {
    const size_t mapped = layout_.Find(module, run.start);
    ProtoMessage message;
    message.AddNumber(location::kId, ++last_location_);
    message.AddNumber(location::kMappingId, mapped + 1);
    message.AddNumber(location::kAddress, layout_.mapped()[mapped].AddressOf(run.start));
    for (const LineFrame& frame : run.frames) {
      ProtoMessage in_function;
      in_function.AddNumber(line::kFunctionId, FindFunction(frame));
      in_function.AddNumber(line::kLine, frame.line);
      message.AddBytes(location::kLine, in_function.bytes());
    }
    WriteField(profile::kLocation, message);
  }

  uint64_t FindFunction(const LineFrame& frame) {
    const uint64_t name = FindString(frame.function), file = FindString(frame.file);
    const auto [known, is_new] =
        functions_.try_emplace({name, file, frame.function_line}, functions_.size() + 1);
    if (!is_new) return known->second;
    ProtoMessage message;
    message.AddNumber(function::kId, known->second);
    message.AddNumber(function::kName, FindString(Demangle(frame.function)));
    message.AddNumber(function::kSystemName, name);
    message.AddNumber(function::kFilename, file);
    message.AddNumber(function::kStartLine, frame.function_line);
    WriteField(profile::kFunction, message);
    return known->second;
  }

  void AddLabel(std::string_view key, std::string_view text, ProtoMessage* labels) {
    ProtoMessage message;
    message.AddNumber(label::kKey, FindString(key));
    message.AddNumber(label::kString, FindString(text));
    labels->AddBytes(sample::kLabel, message.bytes());
  }

  const ProtoMessage& FindLabels(uint32_t thread, SourceKind source) {
    const auto [known, is_new] = labels_.try_emplace({thread, source});
    if (is_new) {
      const ThreadRecord& record = data().threads[thread];
      ProtoMessage number;
      number.AddNumber(label::kKey, FindString("tid"));
      number.AddNumber(label::kNumber, record.tid);
      if (!record.name.empty()) AddLabel("thread", record.name, &known->second);
      known->second.AddBytes(sample::kLabel, number.bytes());
      AddLabel("source", SourceName(source), &known->second);
    }
    return known->second;
  }

  void WriteSample(const WrittenLocation& location, double executions, double instructions,
                   const ProtoMessage& labels) {
    ProtoMessage message;
    message.AddPacked(sample::kLocationId, {location.id});
    message.AddPacked(sample::kValue, {WholeCount(executions), WholeCount(instructions)});
    message.Append(labels);
    WriteField(profile::kSample, message);
  }

  const ExportSubject& subject_;
  const PivotInput& input_;
  CancelCheck check_;
  const AddressLayout layout_;
  CodeRuns runs_;
  GzipWriter out_;
  ProtoMessage top_;
  std::unordered_map<std::string, uint64_t> string_indices_;
  std::vector<const std::string*> strings_;  // keys of string_indices_, by index
  // By name, file and line.
  std::map<std::tuple<uint64_t, uint64_t, uint32_t>, uint64_t> functions_;
  std::map<std::pair<uint32_t, SourceKind>, ProtoMessage> labels_;
  uint64_t last_location_ = 0;
  uint32_t located_block_ = kNoIndex;
  uint32_t missing_function_ = kNoIndex;  // of that block, if its code is missing
  std::vector<WrittenLocation> locations_;
};

Status WritePprof(const ExportSubject& subject, ExportSink* sink) {
  HBBP_ASSIGN_OR_RETURN(const PivotInput input, FindCountedBlocks(subject));
  PprofWriter(subject, input, sink).Write();
  return OkStatus();
}

}  // namespace

constexpr Exporter kPprofExporter = {
    "pprof", "compressed profile.proto for go tool pprof and what else reads its files", false,
    &WritePprof};

}  // namespace hbbp
