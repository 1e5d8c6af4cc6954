#include "isa/control_flow.h"

#include "isa/common_forms.h"
#include "isa/zydis_decode.h"

namespace hbbp {

bool DecodeControlFlow(std::span<const uint8_t> code, uint64_t address, ControlFlow* flow) {
  if (code.size() >= kMaxCommonFormLength && DecodeCommonForm(code.data(), address, flow)) {
    return true;
  }
  ZydisDecodedInstruction instruction;
  if (!DecodeWithZydis(code, &instruction)) return false;
  *flow = MakeControlFlow(instruction, address);
  return true;
}

}  // namespace hbbp
