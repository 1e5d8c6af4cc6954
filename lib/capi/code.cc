#include <hbbp/code.h>

#include <string>
#include <vector>

#include "capi/analysis_handle.h"
#include "capi/boundary.h"
#include "isa/control_flow.h"
#include "isa/disassembly.h"
#include "symbols/demangle.h"

using hbbp::BranchKind;
using hbbp::MakeStatus;
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

extern "C" {

HBBP_API hbbp_status hbbp_analysis_decode(const hbbp_analysis* analysis, uint32_t module,
                                          uint64_t address, hbbp_instruction* instruction,
                                          hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (analysis == nullptr) return NullArgument("hbbp_analysis_decode", "analysis");
    if (instruction == nullptr) return NullArgument("hbbp_analysis_decode", "instruction");
    HBBP_ASSIGN_OR_RETURN(const hbbp::Instruction decoded,
                          analysis->modules().Decode(module, {address}));
    HBBP_INIT(hbbp_instruction, full);
    full.length = decoded.length;
    full.address = decoded.address;
    full.mnemonic = MnemonicName(decoded.mnemonic).data();
    return WriteOutput(full, "hbbp_instruction", instruction);
  });
}

HBBP_API hbbp_status hbbp_analysis_disassemble(const hbbp_analysis* analysis, uint32_t module,
                                               uint64_t address, hbbp_disassembly* disassembly,
                                               hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr const char* kFunction = "hbbp_analysis_disassemble";
    if (analysis == nullptr) return NullArgument(kFunction, "analysis");
    if (disassembly == nullptr) return NullArgument(kFunction, "disassembly");
    const std::vector<uint8_t> code =
        analysis->modules().CodeAt(module, {address}, hbbp::kMaxInstructionLength);
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

HBBP_API size_t hbbp_demangle(const char* symbol, char* buffer, size_t buffer_size) {
  CopyText("", buffer, buffer_size);
  if (symbol == nullptr) return 0;
  return GuardCount([&] {
    const std::string name = hbbp::Demangle(symbol);
    CopyText(name, buffer, buffer_size);
    return name.size();
  });
}

}  // extern "C"
