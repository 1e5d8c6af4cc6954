#include "trace/native/operand_rewrite.h"

#include "trace/native/machine_state.h"

namespace hbbp::trace {
namespace {

class Writer {
 public:
  explicit Writer(RewrittenInstruction* rewritten) : rewritten_(rewritten) {}

  void Byte(unsigned value) {
    if (rewritten_->size < kMaxInstructionBytes) {
      rewritten_->bytes[rewritten_->size++] = static_cast<uint8_t>(value);
    } else {
      overflow_ = true;
    }
  }

  void Copy(const uint8_t* code, size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) Byte(code[i]);
  }

  bool overflow() const { return overflow_; }

 private:
  RewrittenInstruction* rewritten_;
  bool overflow_ = false;
};

constexpr unsigned kRexBaseAndIndex = 0x03;
constexpr unsigned kInvertedBaseAndIndex = 0x60;

// Copies the prefixes that still have an effect; lock, segments and the address size have none.
// Returns the offset of the first byte that is not a prefix.
size_t CopyPrefixes(const uint8_t* code, const ZydisDecodedInstruction& instruction,
                    bool has_memory, Writer* writer) {
  size_t position = 0;
  for (; position < instruction.length; ++position) {
    const uint8_t byte = code[position];
    if (byte == 0x66 || byte == 0xf2 || byte == 0xf3) {
      writer->Byte(byte);
      continue;
    }
    const bool is_dropped = byte == 0xf0 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
                            byte == 0x26 || byte == 0x64 || byte == 0x65 || byte == 0x67;
    if (is_dropped) continue;
    if ((byte & 0xf0) != 0x40) break;
    // A REX prefix that is not the last prefix is ignored, also before a VEX prefix.
    if ((instruction.attributes & ZYDIS_ATTRIB_HAS_REX) != 0 &&
        position == instruction.raw.rex.offset) {
      writer->Byte(has_memory ? byte & ~kRexBaseAndIndex : byte);
      return position + 1;
    }
  }
  return position;
}

// In VEX, EVEX and XOP the inverted bits X and B extend index and base.
size_t CopyVectorPrefix(const uint8_t* code, size_t position,
                        const ZydisDecodedInstruction& instruction, Writer* writer) {
  size_t size = 0;
  switch (instruction.encoding) {
    case ZYDIS_INSTRUCTION_ENCODING_VEX:
      size = code[position] == 0xc5 ? 2 : 3;
      break;
    case ZYDIS_INSTRUCTION_ENCODING_XOP:
      size = 3;
      break;
    case ZYDIS_INSTRUCTION_ENCODING_EVEX:
      size = 4;
      break;
    default:
      return position;
  }
  if (size == 2) {
    writer->Copy(code, position, position + size);
    return position + size;
  }
  writer->Byte(code[position]);
  writer->Byte(code[position + 1] | kInvertedBaseAndIndex);
  writer->Copy(code, position + 2, position + size);
  return position + size;
}

}  // namespace

bool RewriteOperand(const uint8_t* code, const FullDecode& decode, unsigned base,
                    RewrittenInstruction* rewritten) {
  const ZydisDecodedInstruction& instruction = decode.instruction;
  const bool has_modrm = (instruction.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0;
  bool has_memory = false;
  for (const ZydisDecodedOperand& operand : decode) {
    if (!IsMemory(operand)) continue;
    if (operand.encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM) {
      has_memory = true;
    } else if (operand.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN) {
      return false;  // the instruction has an address as immediate operand
    }
  }
  if (has_memory && (!has_modrm || instruction.raw.modrm.mod == 3)) return false;

  *rewritten = {};
  Writer writer(rewritten);
  size_t position = CopyPrefixes(code, instruction, has_memory, &writer);
  if (!has_memory) {
    writer.Copy(code, position, instruction.length);
    return !writer.overflow();
  }
  position = CopyVectorPrefix(code, position, instruction, &writer);
  writer.Copy(code, position, instruction.raw.modrm.offset);
  writer.Byte(0x80u | (code[instruction.raw.modrm.offset] & 0x38u) | base);
  constexpr uint32_t kOffset = offsetof(MachineState, operand);
  for (unsigned shift = 0; shift < 32; shift += 8) writer.Byte(kOffset >> shift & 0xff);

  size_t rest = instruction.raw.modrm.offset + 1u;
  if ((instruction.attributes & ZYDIS_ATTRIB_HAS_SIB) != 0) ++rest;
  rest += instruction.raw.disp.size / 8;
  writer.Copy(code, rest, instruction.length);
  return !writer.overflow();
}

}  // namespace hbbp::trace
