#include "isa/disassembly.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <string_view>

#include "isa/mnemonic_table.h"
#include "isa/zydis_decode.h"

namespace hbbp {
namespace {

// Does what ZyanStringAppend does, which would be the only reason to link Zycore's library.
ZyanStatus Append(ZyanString* text, std::string_view more) {
  ZyanVector& bytes = text->vector;  // the last one is 0
  if (bytes.size + more.size() > bytes.capacity) return ZYAN_STATUS_INSUFFICIENT_BUFFER_SIZE;
  char* end = static_cast<char*>(bytes.data) + bytes.size - 1;
  *std::copy(more.begin(), more.end(), end) = '\0';
  bytes.size += more.size();
  return ZYAN_STATUS_SUCCESS;
}

// These have implied operands, so that only Zydis' name (movsb) shows their width.
bool IsStringOperation(const ZydisDecodedInstruction& instruction) {
  return instruction.meta.category == ZYDIS_CATEGORY_STRINGOP ||
         instruction.meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
}

// Prints the mnemonic that instruction mixes use.
ZyanStatus PrintMnemonic(const ZydisFormatter*, ZydisFormatterBuffer* buffer,
                         ZydisFormatterContext* context) {
  const ZydisDecodedInstruction& instruction = *context->instruction;
  ZyanString* text = nullptr;
  ZYAN_CHECK(ZydisFormatterBufferAppend(buffer, ZYDIS_TOKEN_MNEMONIC));
  ZYAN_CHECK(ZydisFormatterBufferGetString(buffer, &text));
  ZYAN_CHECK(Append(text, IsStringOperation(instruction)
                              ? ZydisMnemonicGetString(instruction.mnemonic)
                              : MnemonicName(MnemonicOf(instruction))));
  const bool is_far = instruction.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
  return is_far ? Append(text, " far") : ZYAN_STATUS_SUCCESS;
}

struct Formatter {
  Formatter() {
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    auto print_mnemonic = reinterpret_cast<const void*>(&PrintMnemonic);
    ZydisFormatterSetHook(&formatter, ZYDIS_FORMATTER_FUNC_PRINT_MNEMONIC, &print_mnemonic);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
  }

  ZydisFormatter formatter;
};

}  // namespace

std::string InstructionText(std::span<const uint8_t> code, uint64_t address) {
  static const Formatter formatter;
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!DecodeOperandsWithZydis(code, &instruction, operands)) {
    return {};
  }
  char text[256];
  if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter.formatter, &instruction, operands,
                                                    instruction.operand_count_visible, text,
                                                    sizeof(text), address, nullptr))) {
    return {};
  }
  return text;
}

}  // namespace hbbp
