#include "isa/capstone_names.h"

#include <string_view>

#include "isa/control_flow.h"
#include "isa/mnemonic_table.h"

namespace hbbp {
namespace {

struct Synonym {
  unsigned id;
  std::string_view name;
};

constexpr Synonym kSynonyms[] = {
    {X86_INS_LCALL, "call"}, {X86_INS_LJMP, "jmp"},   {X86_INS_MOVABS, "mov"},
    {X86_INS_RETF, "ret"},   {X86_INS_RETFQ, "ret"},  {X86_INS_SAL, "shl"},
    {X86_INS_WAIT, "fwait"}, {X86_INS_XLATB, "xlat"},
};

bool IsAmbiguous(unsigned id) {
  switch (id) {
    // One id for a string and an SSE2 instruction.
    case X86_INS_CMPSD:
    case X86_INS_MOVSD:
    // REX.W 0f 6e and REX.W 0f 7e are movq.
    case X86_INS_MOVD:
    // With REX.W and f3, 90 is still pause.
    case X86_INS_XCHG:
    // Newer instructions that differ from these by a 66, f2 or f3, which Capstone overlooks.
    case X86_INS_ENCLS:   // seamcall
    case X86_INS_LFENCE:  // incssp
    case X86_INS_MFENCE:  // tpause, umonitor, umwait
    case X86_INS_NOP:     // bndcl ... bndstx, cldemote
    case X86_INS_RDRAND:  // senduipi
    case X86_INS_RDSEED:  // rdpid
    case X86_INS_XSAVE:   // ptwrite
    case X86_INS_XSAVE64:
    case X86_INS_XSAVEOPT:  // clrssbsy, clwb
    case X86_INS_XSAVEOPT64:
      return true;
    default:
      return false;
  }
}

bool IsRex(uint8_t byte) { return (byte & 0xf0) == 0x40; }

}  // namespace

bool CapstoneReadsEncoding(std::span<const uint8_t> code) {
  int prefixes = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    if (IsLegacyPrefix(code[i])) {
      // With 67, or with two prefixes, Capstone may overlook the 66, f2 or f3 that makes one
      // SSE instruction another, or see one that is not there: it reads f3 64 0f 10 as movups
      // and 67 48 0f 58 as addpd.
      if (++prefixes > 1 || code[i] == 0x67) return false;
      continue;
    }
    // Of EVEX, Capstone 4 lacks most of AVX512BW, DQ and VL, counts a byte too many when the
    // rounding mode is in the instruction, and takes scalar double for single where L'L is set.
    if (code[i] == 0x62) return false;
    // A REX before another prefix is void, which Capstone does not know.
    return !(IsRex(code[i]) && i + 1 < code.size() &&
             (IsRex(code[i + 1]) || IsLegacyPrefix(code[i + 1])));
  }
  return false;
}

Mnemonic MnemonicOfCapstoneId(csh handle, unsigned id) {
  if (IsAmbiguous(id)) return Mnemonic::kInvalid;
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.id == id) return FindMnemonic(synonym.name);
  }
  const char* name = cs_insn_name(handle, id);
  return name == nullptr ? Mnemonic::kInvalid : FindMnemonic(name);
}

}  // namespace hbbp
