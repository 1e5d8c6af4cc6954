#include "export/llvm_sample_profile.h"

#include <algorithm>

#include "export/one_line.h"

namespace hbbp {
namespace {

// Offsets have as many bits.
constexpr uint32_t kLineMask = 0xffff;

// Reads one part of a discriminator and removes it. A part is 0 in one bit; up to 31 in 7 bits, the
// lowest 0 and the highest 0; or up to 4095 in 14 bits.
uint32_t TakePart(uint32_t* rest) {
  if ((*rest & 1) != 0) {
    *rest >>= 1;
    return 0;
  }
  const uint32_t bits = *rest >> 1;
  const bool is_long = (bits & 0x20) != 0;
  *rest >>= is_long ? 14 : 7;
  return is_long ? ((bits >> 1) & 0xfe0) | (bits & 0x1f) : bits & 0x1f;
}

SampleLocation LocationOf(const LineFrame& frame) {
  return {(frame.line - frame.function_line) & kLineMask, Split(frame.discriminator).base};
}

void WriteLocation(const SampleLocation& location, size_t depth, ExportSink* sink) {
  sink->Write(std::string(depth, ' '));
  sink->WriteNumber(location.line);
  if (location.discriminator != 0) {
    sink->Write(".");
    sink->WriteNumber(location.discriminator);
  }
  sink->Write(": ");
}

void WriteNamed(const std::string& name, double count, ExportSink* sink) {
  sink->Write(OnOneLine(name));
  sink->Write(":");
  sink->WriteNumber(WholeCount(count));
}

void WriteBody(const SampledFunction& function, size_t depth, ExportSink* sink) {
  for (const auto& [location, line] : function.lines) {
    WriteLocation(location, depth, sink);
    sink->WriteNumber(WholeCount(line.count));
    for (const auto& [callee, count] : line.calls) {
      sink->Write(" ");
      WriteNamed(callee, count, sink);
    }
    sink->Write("\n");
  }
  for (const auto& [location, calls] : function.inlined) {
    for (const auto& [callee, body] : calls) {
      WriteLocation(location, depth, sink);
      WriteNamed(callee, body.total, sink);
      sink->Write("\n");
      WriteBody(body, depth + 1, sink);
    }
  }
  if (!function.checksum) return;
  sink->Write(std::string(depth, ' ') + "!CFGChecksum: ");
  sink->WriteNumber(*function.checksum);
  sink->Write("\n");
}

}  // namespace

SplitDiscriminator Split(uint32_t discriminator) {
  SplitDiscriminator split;
  split.base = TakePart(&discriminator);
  const uint32_t copies = TakePart(&discriminator);
  if (copies != 0) split.copies = copies;
  return split;
}

bool IsUsable(const std::vector<LineFrame>& frames) {
  return !frames.empty() && std::all_of(frames.begin(), frames.end(), [](const LineFrame& frame) {
    return !frame.function.empty() && frame.line != 0 && frame.function_line != 0;
  });
}

SampledLine* SampledLineAt(const std::vector<LineFrame>& frames, double instructions,
                           SampleProfile* profile) {
  SampledFunction* function = &profile->functions[std::string(frames.back().function)];
  function->total += instructions;
  for (size_t i = frames.size() - 1; i > 0; --i) {
    const SampleLocation call = LocationOf(frames[i]);
    function = &function->inlined[call][std::string(frames[i - 1].function)];
    function->total += instructions;
  }
  return &function->lines[LocationOf(frames.front())];
}

void AddInstruction(const std::vector<LineFrame>& frames, double count, SampleProfile* profile) {
  double* const counted = &SampledLineAt(frames, count, profile)->count;
  *counted = std::max(*counted, count * Split(frames.front().discriminator).copies);
}

void WriteSampleProfile(const SampleProfile& profile, ExportSink* sink) {
  for (const auto& [name, function] : profile.functions) {
    WriteNamed(name, function.total, sink);
    sink->Write(":");
    sink->WriteNumber(WholeCount(function.entries));
    sink->Write("\n");
    WriteBody(function, 1, sink);
  }
}

Status NoLinesToWrite() {
  return Status(StatusCode::kNotFound,
                "no code with counts has lines, which an LLVM profile is by: build with debug "
                "information (clang -g -fdebug-info-for-profiling)");
}

}  // namespace hbbp
