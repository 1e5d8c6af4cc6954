#include "export/pprof_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/analysis.h"
#include "image/build_id.h"
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

}  // namespace

PprofFile::PprofFile(const ExportSubject& subject, const AddressLayout& layout, ExportSink* sink)
    : subject_(subject), layout_(layout), out_(sink) {
  if (!out_.compresses()) subject_.Note("there is no zlib, so this is not compressed");
  FindString("");
}

void PprofFile::WriteSampleType(std::string_view type, std::string_view unit) {
  WriteField(profile::kSampleType, MakeType(type, unit).bytes());
}

void PprofFile::WriteHeader(std::string_view default_sample_type) {
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
  rest.AddNumber(profile::kDefaultSampleType, FindString(default_sample_type));
  out_.Write(rest.bytes());
  WriteMappings();
}

uint64_t PprofFile::WriteLocation(uint32_t module, ModuleAddress address,
                                  std::span<const LineFrame> frames) {
  const size_t mapped = layout_.Find(module, address);
  ProtoMessage message;
  message.AddNumber(location::kId, ++last_location_);
  if (mapped < layout_.mapped().size()) {
    message.AddNumber(location::kMappingId, mapped + 1);
    message.AddNumber(location::kAddress, layout_.mapped()[mapped].AddressOf(address));
  }
  for (const LineFrame& frame : frames) {
    ProtoMessage in_function;
    in_function.AddNumber(line::kFunctionId, FindFunction(frame));
    in_function.AddNumber(line::kLine, frame.line);
    message.AddBytes(location::kLine, in_function.bytes());
  }
  WriteField(profile::kLocation, message.bytes());
  return last_location_;
}

void PprofFile::AddLabel(std::string_view key, std::string_view text, ProtoMessage* labels) {
  ProtoMessage message;
  message.AddNumber(label::kKey, FindString(key));
  message.AddNumber(label::kString, FindString(text));
  labels->AddBytes(sample::kLabel, message.bytes());
}

void PprofFile::AddLabel(std::string_view key, uint64_t number, ProtoMessage* labels) {
  ProtoMessage message;
  message.AddNumber(label::kKey, FindString(key));
  message.AddNumber(label::kNumber, number);
  labels->AddBytes(sample::kLabel, message.bytes());
}

void PprofFile::WriteSample(std::initializer_list<uint64_t> locations,
                            std::initializer_list<uint64_t> values, const ProtoMessage& labels) {
  ProtoMessage message;
  message.AddPacked(sample::kLocationId, locations);
  message.AddPacked(sample::kValue, values);
  message.Append(labels);
  WriteField(profile::kSample, message.bytes());
}

void PprofFile::Finish() {
  for (const std::string* text : strings_) WriteField(profile::kStringTable, ValidText(*text));
  out_.Finish();
}

void PprofFile::WriteField(uint32_t field, std::string_view bytes) {
  top_.Clear();
  top_.AddBytes(field, bytes);
  out_.Write(top_.bytes());
}

uint64_t PprofFile::FindString(std::string_view text) {
  const auto [known, is_new] = string_indices_.try_emplace(std::string(text), strings_.size());
  if (is_new) strings_.push_back(&known->first);
  return known->second;
}

ProtoMessage PprofFile::MakeType(std::string_view type, std::string_view unit) {
  ProtoMessage message;
  message.AddNumber(value_type::kType, FindString(type));
  message.AddNumber(value_type::kUnit, FindString(unit));
  return message;
}

// Readers take the first one for the program.
void PprofFile::WriteMappings() {
  const uint32_t program = ProgramOf(data());
  for (const bool of_program : {true, false}) {
    for (size_t i = 0; i < layout_.mapped().size(); ++i) {
      const uint32_t module = layout_.mapped()[i].module;
      if (subject_.Wants(module) && (module == program) == of_program) WriteMapping(i);
    }
  }
}

void PprofFile::WriteMapping(size_t index) {
  const MappedCode& code = layout_.mapped()[index];
  const ModuleRecord& module = data().modules[code.module];
  const bool has_lines = subject_.lines.Open(code.module).ok();
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
  WriteField(profile::kMapping, message.bytes());
}

uint64_t PprofFile::FindFunction(const LineFrame& frame) {
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
  WriteField(profile::kFunction, message.bytes());
  return known->second;
}

}  // namespace hbbp
