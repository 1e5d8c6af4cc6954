#include <hbbp/lines.h>

#include <string>
#include <utility>
#include <vector>

#include "capi/analysis_handle.h"
#include "capi/boundary.h"
#include "capi/host_handle.h"

using hbbp::LineFrame;
using hbbp::LineRange;
using hbbp::LineTable;
using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

namespace {

// The views that LineTable hands out are of whole strings, which end with 0.
const char* TextOf(std::string_view text) { return text.data() == nullptr ? "" : text.data(); }

hbbp_line_frame FrameOf(const LineFrame& frame) {
  HBBP_INIT(hbbp_line_frame, full);
  full.line = frame.line;
  full.column = frame.column;
  full.discriminator = frame.discriminator;
  full.function_line = frame.function_line;
  full.file = TextOf(frame.file);
  full.function = TextOf(frame.function);
  return full;
}

}  // namespace

namespace hbbp::capi {

StatusOr<DebugInfoOptions> ReadDebugOptions(const hbbp_debug_options* given) {
  DebugInfoOptions options;
  if (given == nullptr) return options;
  hbbp_debug_options full;
  HBBP_RETURN_IF_ERROR(ReadInput(given, "hbbp_debug_options", &full));
  if ((full.flags & ~uint32_t{HBBP_DEBUG_USE_DEBUGINFOD}) != 0) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_debug_options.flags is 0x%x; combine HBBP_DEBUG_ values", full.flags);
  }
  options.search.use_debuginfod = (full.flags & HBBP_DEBUG_USE_DEBUGINFOD) != 0;
  if (full.debug_root != nullptr) options.search.debug_root = full.debug_root;
  if (full.memory_limit != 0) options.memory_limit = full.memory_limit;
  if (full.progress != nullptr) {
    options.progress = [call = full.progress, user_data = full.user_data](
                           const std::string& module, uint64_t done, uint64_t total) {
      call(module.c_str(), done, total, user_data);
    };
  }
  if (full.cancel != nullptr) options.search.cancel = &full.cancel->flag;
  return options;
}

}  // namespace hbbp::capi

extern "C" {

HBBP_API hbbp_status hbbp_analysis_find_lines(const hbbp_analysis* analysis, uint32_t module,
                                              uint64_t address, size_t capacity, size_t frame_size,
                                              hbbp_line_frame* frames, hbbp_line_range* range,
                                              hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr const char* kFunction = "hbbp_analysis_find_lines";
    if (analysis == nullptr) return NullArgument(kFunction, "analysis");
    if (range == nullptr) return NullArgument(kFunction, "range");
    HBBP_ASSIGN_OR_RETURN(const LineTable* lines, analysis->lines().Open(module));
    const LineRange found = lines->Find({address});
    size_t copied = 0;
    HBBP_RETURN_IF_ERROR(
        CopyList<hbbp_line_frame>({kFunction, "hbbp_line_frame", "frames", "frame_size"},
                                  found.frames.size(), {0, capacity, frame_size}, frames, &copied,
                                  [&](size_t i) { return FrameOf(found.frames[i]); }));
    HBBP_INIT(hbbp_line_range, full);
    full.frame_count = static_cast<uint32_t>(found.frames.size());
    full.start = found.range.start.value;
    full.end = found.range.end.value;
    return WriteOutput(full, "hbbp_line_range", range);
  });
}

HBBP_API hbbp_status hbbp_analysis_debug_problem(const hbbp_analysis* analysis, uint32_t module,
                                                 char* buffer, size_t buffer_size,
                                                 hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr const char* kFunction = "hbbp_analysis_debug_problem";
    if (analysis == nullptr) return NullArgument(kFunction, "analysis");
    if (buffer == nullptr || buffer_size == 0) return NullArgument(kFunction, "buffer");
    buffer[0] = '\0';
    HBBP_ASSIGN_OR_RETURN(const LineTable* lines, analysis->lines().Open(module));
    CopyText(lines->Problem(), buffer, buffer_size);
    return OkStatus();
  });
}

}  // extern "C"
