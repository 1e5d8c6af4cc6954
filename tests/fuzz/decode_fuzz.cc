// Passes arbitrary bytes to the decoders that find blocks, name instructions and describe them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "isa/control_flow.h"
#include "isa/decoder.h"
#include "isa/property_names.h"

namespace {

void Require(bool invariant) {
  if (!invariant) std::abort();
}

constexpr uint64_t kAddress = 0x7fffffff0000;

void CheckOne(std::span<const uint8_t> code, uint64_t address, size_t* length) {
  hbbp::ControlFlow flow;
  hbbp::Instruction instruction;
  const bool decoded = hbbp::DecodeControlFlow(code, address, &flow);
  Require(hbbp::DecodeInstruction(code, address, &instruction) == decoded);
  hbbp::InstructionProperties properties;
  Require(hbbp::DescribeInstruction(code, &properties) == decoded);
  *length = 1;
  if (!decoded) return;
  Require(flow.length >= 1 && flow.length <= hbbp::kMaxInstructionLength);
  Require(flow.length <= code.size());
  Require(!flow.has_target || hbbp::EndsBlock(flow.kind));
  Require(instruction.length == flow.length);
  Require(instruction.branch == flow.kind);
  Require(instruction.address == address);
  Require(instruction.mnemonic != hbbp::Mnemonic::kInvalid);
  Require(hbbp::MnemonicName(instruction.mnemonic) != "(bad)");

  Require(properties.length == flow.length);
  Require(properties.mnemonic == instruction.mnemonic);
  Require(properties.operands <= hbbp::kMaxOperands);
  Require((properties.memory == hbbp::MemoryAccess::kNone) ==
          (properties.read_bytes + properties.written_bytes == 0));
  for (int i = 0; i < static_cast<int>(hbbp::Property::kCount); ++i) {
    const auto value = hbbp::FindValue(properties, static_cast<hbbp::Property>(i));
    Require(value.is_number == value.text.empty());
  }

  // Bytes after an instruction must not matter, and its end must not be missing.
  hbbp::ControlFlow exact;
  Require(hbbp::DecodeControlFlow(code.first(flow.length), address, &exact));
  Require(exact.length == flow.length && exact.kind == flow.kind &&
          exact.has_target == flow.has_target && exact.target == flow.target);
  Require(!hbbp::DecodeControlFlow(code.first(flow.length - 1u), address, &exact) ||
          exact.length < flow.length);
  *length = flow.length;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (size_t offset = 0; offset < size;) {
    // The copy has the exact size, so that a sanitizer sees a read past the end.
    const size_t window = std::min<size_t>(size - offset, 24);
    const std::vector<uint8_t> code(data + offset, data + offset + window);
    size_t length;
    CheckOne(code, kAddress + offset, &length);
    offset += length;
  }
  return 0;
}
