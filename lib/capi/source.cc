#include <hbbp/source.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "capi/boundary.h"
#include "capi/host_handle.h"
#include "capi/profile_handle.h"
#include "isa/control_flow.h"
#include "isa/disassembly.h"
#include "symbols/demangle.h"

using hbbp::BranchKind;
using hbbp::LineFrame;
using hbbp::LineRange;
using hbbp::LineTable;
using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(static_cast<int>(BranchKind::kNone) == HBBP_FLOW_NEXT);
static_assert(static_cast<int>(BranchKind::kConditional) == HBBP_FLOW_CONDITIONAL);
static_assert(static_cast<int>(BranchKind::kJump) == HBBP_FLOW_JUMP);
static_assert(static_cast<int>(BranchKind::kIndirectJump) == HBBP_FLOW_INDIRECT_JUMP);
static_assert(static_cast<int>(BranchKind::kCall) == HBBP_FLOW_CALL);
static_assert(static_cast<int>(BranchKind::kIndirectCall) == HBBP_FLOW_INDIRECT_CALL);
static_assert(static_cast<int>(BranchKind::kReturn) == HBBP_FLOW_RETURN);
static_assert(static_cast<int>(BranchKind::kSystem) == HBBP_FLOW_SYSTEM);
static_assert(static_cast<int>(BranchKind::kTrap) == HBBP_FLOW_TRAP);

namespace {

// The views that LineTable hands out are of whole strings, which end with 0.
const char* TextOf(std::string_view text) { return text.data() == nullptr ? "" : text.data(); }

hbbp_source_frame FrameOf(const LineFrame& frame) {
  HBBP_INIT(hbbp_source_frame, full);
  full.line = frame.line;
  full.column = frame.column;
  full.file = TextOf(frame.file);
  full.function = TextOf(frame.function);
  return full;
}

// As much as fits, with a final 0.
void CopyText(std::string_view text, char* buffer, size_t size) {
  if (buffer == nullptr || size == 0) return;
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_profile_set_source_options(hbbp_profile* profile,
                                                     const hbbp_source_options* options,
                                                     hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr const char* kFunction = "hbbp_profile_set_source_options";
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    if (options == nullptr) return NullArgument(kFunction, "options");
    hbbp_source_options full;
    HBBP_RETURN_IF_ERROR(ReadInput(options, "hbbp_source_options", &full));
    if ((full.flags & ~uint32_t{HBBP_SOURCE_OPTION_DEBUGINFOD}) != 0) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s: flags is 0x%x; use HBBP_SOURCE_OPTION_*",
                        kFunction, full.flags);
    }
    hbbp::DebugInfoOptions chosen;
    chosen.search.use_debuginfod = (full.flags & HBBP_SOURCE_OPTION_DEBUGINFOD) != 0;
    if (full.debug_root != nullptr) chosen.search.debug_root = full.debug_root;
    if (full.memory_limit != 0) chosen.memory_limit = full.memory_limit;
    if (full.progress != nullptr) {
      chosen.progress = [call = full.progress, user = full.user](const std::string& module,
                                                                 uint64_t done, uint64_t total) {
        call(module.c_str(), done, total, user);
      };
    }
    if (full.cancel != nullptr) chosen.search.cancel = &full.cancel->flag;
    profile->SetSourceOptions(std::move(chosen));
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_profile_find_source(const hbbp_profile* profile, uint32_t module,
                                              uint64_t address, size_t capacity, size_t frame_size,
                                              hbbp_source_frame* frames, hbbp_source_place* place,
                                              hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr const char* kFunction = "hbbp_profile_find_source";
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    if (place == nullptr) return NullArgument(kFunction, "place");
    HBBP_ASSIGN_OR_RETURN(const LineTable* lines, profile->lines().Open(module));
    const LineRange found = lines->Find({address});
    size_t copied = 0;
    HBBP_RETURN_IF_ERROR(CopyList<hbbp_source_frame>(
        {kFunction, "hbbp_source_frame", "frames", "frame_size"}, found.frames.size(), 0, capacity,
        frame_size, frames, &copied, [&](size_t i) { return FrameOf(found.frames[i]); }));
    HBBP_INIT(hbbp_source_place, full);
    full.frame_count = static_cast<uint32_t>(found.frames.size());
    full.start = found.range.start.value;
    full.end = found.range.end.value;
    return WriteOutput(full, "hbbp_source_place", place);
  });
}

HBBP_API hbbp_status hbbp_profile_source_problem(const hbbp_profile* profile, uint32_t module,
                                                 char* buffer, size_t buffer_size,
                                                 hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr const char* kFunction = "hbbp_profile_source_problem";
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    if (buffer == nullptr || buffer_size == 0) return NullArgument(kFunction, "buffer");
    buffer[0] = '\0';
    HBBP_ASSIGN_OR_RETURN(const LineTable* lines, profile->lines().Open(module));
    CopyText(lines->Problem(), buffer, buffer_size);
    return OkStatus();
  });
}

HBBP_API size_t hbbp_demangle(const char* symbol, char* buffer, size_t buffer_size) {
  CopyText("", buffer, buffer_size);
  if (symbol == nullptr) return 0;
  return GuardCount([&] {
    const std::string name = hbbp::Demangle(symbol);
    CopyText(name, buffer, buffer_size);
    return name.size();
  });
}

HBBP_API hbbp_status hbbp_profile_disassemble(const hbbp_profile* profile, uint32_t module,
                                              uint64_t address, hbbp_disassembly* disassembly,
                                              hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr const char* kFunction = "hbbp_profile_disassemble";
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    if (disassembly == nullptr) return NullArgument(kFunction, "disassembly");
    const std::vector<uint8_t> code =
        profile->modules().CodeAt(module, {address}, hbbp::kMaxInstructionLength);
    hbbp::ControlFlow flow;
    if (!hbbp::DecodeControlFlow(code, address, &flow)) {
      return MakeStatus(StatusCode::kNotFound, "module %u: no instruction at 0x%llx", module,
                        static_cast<unsigned long long>(address));
    }
    HBBP_INIT(hbbp_disassembly, full);
    full.length = flow.length;
    full.address = address;
    full.target = flow.has_target ? flow.target : HBBP_NO_ADDRESS;
    full.flow = static_cast<hbbp_flow>(flow.kind);
    CopyText(hbbp::InstructionText(code, address), full.text, sizeof(full.text));
    return WriteOutput(full, "hbbp_disassembly", disassembly);
  });
}

}  // extern "C"
