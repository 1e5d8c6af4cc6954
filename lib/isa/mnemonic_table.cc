#include "isa/mnemonic_table.h"

#include <array>
#include <cstdint>

namespace hbbp {
namespace {

struct Rename {
  ZydisMnemonic mnemonic;
  std::string_view name;
};

constexpr Rename kRenames[] = {
    {ZYDIS_MNEMONIC_CMOVNB, "cmovae"},
    {ZYDIS_MNEMONIC_CMOVNBE, "cmova"},
    {ZYDIS_MNEMONIC_CMOVNL, "cmovge"},
    {ZYDIS_MNEMONIC_CMOVNLE, "cmovg"},
    {ZYDIS_MNEMONIC_CMOVNZ, "cmovne"},
    {ZYDIS_MNEMONIC_CMOVZ, "cmove"},
    {ZYDIS_MNEMONIC_JNB, "jae"},
    {ZYDIS_MNEMONIC_JNBE, "ja"},
    {ZYDIS_MNEMONIC_JNL, "jge"},
    {ZYDIS_MNEMONIC_JNLE, "jg"},
    {ZYDIS_MNEMONIC_JNZ, "jne"},
    {ZYDIS_MNEMONIC_JZ, "je"},
    {ZYDIS_MNEMONIC_SETNB, "setae"},
    {ZYDIS_MNEMONIC_SETNBE, "seta"},
    {ZYDIS_MNEMONIC_SETNL, "setge"},
    {ZYDIS_MNEMONIC_SETNLE, "setg"},
    {ZYDIS_MNEMONIC_SETNZ, "setne"},
    {ZYDIS_MNEMONIC_SETZ, "sete"},
    // The operands show the width. These names also distinguish the string movsd from the SSE2
    // movsd.
    {ZYDIS_MNEMONIC_CMPSB, "cmps"},
    {ZYDIS_MNEMONIC_INSB, "ins"},
    {ZYDIS_MNEMONIC_LODSB, "lods"},
    {ZYDIS_MNEMONIC_MOVSB, "movs"},
    {ZYDIS_MNEMONIC_OUTSB, "outs"},
    {ZYDIS_MNEMONIC_SCASB, "scas"},
    {ZYDIS_MNEMONIC_STOSB, "stos"},
    // Zydis says what a modern x87 does with them; the manuals have the original names.
    {ZYDIS_MNEMONIC_FDISI8087_NOP, "fndisi"},
    {ZYDIS_MNEMONIC_FENI8087_NOP, "fneni"},
    {ZYDIS_MNEMONIC_FSETPM287_NOP, "fnsetpm"},
    // These are the AMD manual's spellings of 3DNow!.
    {ZYDIS_MNEMONIC_PFCPIT1, "pfrcpit1"},
    {ZYDIS_MNEMONIC_PFSQRT, "pfrsqrt"},
};

struct Merge {
  ZydisMnemonic mnemonic;
  ZydisMnemonic into;
};

constexpr Merge kMerges[] = {
    {ZYDIS_MNEMONIC_CMPSQ, ZYDIS_MNEMONIC_CMPSB},
    {ZYDIS_MNEMONIC_CMPSW, ZYDIS_MNEMONIC_CMPSB},
    {ZYDIS_MNEMONIC_INSD, ZYDIS_MNEMONIC_INSB},
    {ZYDIS_MNEMONIC_INSW, ZYDIS_MNEMONIC_INSB},
    {ZYDIS_MNEMONIC_LODSD, ZYDIS_MNEMONIC_LODSB},
    {ZYDIS_MNEMONIC_LODSQ, ZYDIS_MNEMONIC_LODSB},
    {ZYDIS_MNEMONIC_LODSW, ZYDIS_MNEMONIC_LODSB},
    {ZYDIS_MNEMONIC_MOVSQ, ZYDIS_MNEMONIC_MOVSB},
    {ZYDIS_MNEMONIC_MOVSW, ZYDIS_MNEMONIC_MOVSB},
    {ZYDIS_MNEMONIC_OUTSD, ZYDIS_MNEMONIC_OUTSB},
    {ZYDIS_MNEMONIC_OUTSW, ZYDIS_MNEMONIC_OUTSB},
    {ZYDIS_MNEMONIC_SCASD, ZYDIS_MNEMONIC_SCASB},
    {ZYDIS_MNEMONIC_SCASQ, ZYDIS_MNEMONIC_SCASB},
    {ZYDIS_MNEMONIC_SCASW, ZYDIS_MNEMONIC_SCASB},
    {ZYDIS_MNEMONIC_STOSD, ZYDIS_MNEMONIC_STOSB},
    {ZYDIS_MNEMONIC_STOSQ, ZYDIS_MNEMONIC_STOSB},
    {ZYDIS_MNEMONIC_STOSW, ZYDIS_MNEMONIC_STOSB},
    // objdump prints one name for all widths of pushf and popf, but has the name iretq.
    {ZYDIS_MNEMONIC_IRETD, ZYDIS_MNEMONIC_IRET},
    {ZYDIS_MNEMONIC_POPFQ, ZYDIS_MNEMONIC_POPF},
    {ZYDIS_MNEMONIC_PUSHFQ, ZYDIS_MNEMONIC_PUSHF},
    // d9 d8+i is an undocumented fstp.
    {ZYDIS_MNEMONIC_FSTPNCE, ZYDIS_MNEMONIC_FSTP},
};

constexpr size_t kMnemonicCount = ZYDIS_MNEMONIC_MAX_VALUE + 1;

consteval auto MakeMergeTable() {
  std::array<uint16_t, kMnemonicCount> table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint16_t>(i);
  for (const Merge& merge : kMerges) table[merge.mnemonic] = static_cast<uint16_t>(merge.into);
  return table;
}

// An element is 0 if the mnemonic is not renamed, else one more than the index into kRenames.
consteval auto MakeRenameTable() {
  std::array<uint8_t, kMnemonicCount> table{};
  uint8_t position = 0;
  for (const Rename& rename : kRenames) table[rename.mnemonic] = ++position;
  return table;
}

constexpr auto kMergeTable = MakeMergeTable();
constexpr auto kRenameTable = MakeRenameTable();

Mnemonic Merged(int mnemonic) { return static_cast<Mnemonic>(kMergeTable[mnemonic]); }

std::string_view ZydisName(int mnemonic) {
  const ZydisShortString* name =
      ZydisMnemonicGetStringWrapped(static_cast<ZydisMnemonic>(mnemonic));
  return {name->data, name->size};
}

}  // namespace

Mnemonic MnemonicOf(const ZydisDecodedInstruction& instruction) {
  // Zydis has one number for the string and the SSE2 instruction of such a name.
  if (instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
    if (instruction.mnemonic == ZYDIS_MNEMONIC_CMPSD) return Merged(ZYDIS_MNEMONIC_CMPSB);
    if (instruction.mnemonic == ZYDIS_MNEMONIC_MOVSD) return Merged(ZYDIS_MNEMONIC_MOVSB);
  }
  return Merged(instruction.mnemonic);
}

Mnemonic FindMnemonic(std::string_view name) {
  for (const Rename& rename : kRenames) {
    if (rename.name == name) return Merged(rename.mnemonic);
  }
  // Zydis numbers its mnemonics in the order of their names.
  int first = ZYDIS_MNEMONIC_INVALID + 1;
  int last = ZYDIS_MNEMONIC_MAX_VALUE;
  while (first <= last) {
    const int middle = first + (last - first) / 2;
    const int order = ZydisName(middle).compare(name);
    if (order == 0) return Merged(middle);
    if (order < 0) {
      first = middle + 1;
    } else {
      last = middle - 1;
    }
  }
  return Mnemonic::kInvalid;
}

std::string_view MnemonicName(Mnemonic mnemonic) {
  const auto number = static_cast<uint16_t>(mnemonic);
  if (mnemonic == Mnemonic::kInvalid || number >= kMnemonicCount) return "(bad)";
  if (const uint8_t renamed = kRenameTable[number]) return kRenames[renamed - 1].name;
  return ZydisName(number);
}

}  // namespace hbbp
