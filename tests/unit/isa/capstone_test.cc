// Compares with Capstone: where it is reliable, it gives instructions the names that the library
// gives them.
#include <capstone/capstone.h>
#include <elf.h>

#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "isa/control_flow.h"
#include "isa/decoder.h"
#include "support/catch.h"

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
    // Capstone has one id for a string and an SSE2 instruction.
    case X86_INS_CMPSD:
    case X86_INS_MOVSD:
    // REX.W 0f 6e and REX.W 0f 7e are movq.
    case X86_INS_MOVD:
    // With REX.W and f3, 90 is still pause.
    case X86_INS_XCHG:
    // Newer instructions differ from these by a 66, f2 or f3, which Capstone ignores.
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
    // With EVEX, Capstone 4 lacks most of AVX512BW, DQ and VL, counts a byte too many when the
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

class Witness {
 public:
  Witness() {
    REQUIRE(cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) == CS_ERR_OK);
    instruction_ = cs_malloc(handle_);
    REQUIRE(instruction_ != nullptr);
  }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  ~Witness() {
    cs_free(instruction_, 1);
    cs_close(&handle_);
  }

  // Returns the length of the instruction that the library finds, or 1.
  size_t Compare(std::span<const uint8_t> code, uint64_t address) {
    code = code.first(std::min<size_t>(code.size(), kMaxInstructionLength));
    Instruction ours;
    if (!DecodeInstruction(code, address, &ours)) return 1;
    ++instructions_;
    const Mnemonic theirs = Ask(code, address, ours.length);
    if (theirs == Mnemonic::kInvalid) return ours.length;
    ++witnessed_;
    if (theirs != ours.mnemonic) {
      ++differences_[std::string(MnemonicName(ours.mnemonic)) + " is " +
                     std::string(MnemonicName(theirs)) + " to Capstone"];
    }
    return ours.length;
  }

  int64_t instructions() const { return instructions_; }
  int64_t witnessed() const { return witnessed_; }

  std::string Differences() const {
    std::string text;
    for (const auto& [difference, count] : differences_) {
      text += difference + ", " + std::to_string(count) + " times\n";
    }
    return text;
  }

 private:
  // Returns kInvalid if Capstone rejects the bytes, finds another length or has an ambiguous name.
  Mnemonic Ask(std::span<const uint8_t> code, uint64_t address, uint8_t length) {
    if (!CapstoneReadsEncoding(code)) return Mnemonic::kInvalid;
    const uint8_t* bytes = code.data();
    size_t size = code.size();
    if (!cs_disasm_iter(handle_, &bytes, &size, &address, instruction_)) return Mnemonic::kInvalid;
    // Capstone takes 66 e8 for a call of four bytes and ud0 and ud1 for two, and is wrong about
    // the immediate where 66 meets REX.W.
    if (instruction_->size != length) return Mnemonic::kInvalid;
    return MnemonicOfCapstoneId(handle_, instruction_->id);
  }

  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
  int64_t instructions_ = 0;
  int64_t witnessed_ = 0;
  std::map<std::string, int64_t> differences_;
};

TEST_CASE("Capstone names the instructions of libc as we do") {
  auto file = MappedFile::Open("/lib/x86_64-linux-gnu/libc.so.6");
  if (!file.ok()) HBBP_SKIP("no libc.so.6 at its usual path");
  const std::span<const uint8_t> bytes = file->bytes();
  Elf64_Ehdr header;
  REQUIRE(bytes.size() > sizeof(header));
  std::memcpy(&header, bytes.data(), sizeof(header));
  Witness witness;
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR)) continue;
    const auto code = bytes.subspan(section.sh_offset, section.sh_size);
    for (size_t offset = 0; offset < code.size();) {
      offset += witness.Compare(code.subspan(offset), section.sh_addr + offset);
    }
  }
  CHECK(witness.Differences() == "");
  CHECK(witness.instructions() > 100'000);
  CHECK(static_cast<double>(witness.witnessed()) >
        0.8 * static_cast<double>(witness.instructions()));
}

TEST_CASE("Capstone names random bytes as we do") {
  Witness witness;
  std::mt19937_64 random(1);
  // These starts lead to encodings about which Capstone disagrees.
  const uint8_t starts[] = {0x0f, 0x0f, 0x41, 0x48, 0x4f, 0x62, 0x64,
                            0x66, 0x67, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3};
  for (int i = 0; i < 1'000'000; ++i) {
    std::vector<uint8_t> code(1 + random() % 20);
    for (uint8_t& byte : code) byte = static_cast<uint8_t>(random());
    const size_t prefixes = std::min<size_t>(random() % 5, code.size());
    for (size_t j = 0; j < prefixes; ++j) code[j] = starts[random() % std::size(starts)];
    witness.Compare(code, 0x1000);
  }
  CHECK(witness.Differences() == "");
  CHECK(witness.witnessed() > 100'000);
}

}  // namespace
}  // namespace hbbp
