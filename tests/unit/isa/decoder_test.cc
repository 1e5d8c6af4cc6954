// Tests DecodeInstruction() and the names of mnemonics. Cases() has encodings with the mnemonics
// that they must get; CheckAgainstControlFlow() checks over the code of libc and over random bytes
// that DecodeControlFlow() finds the same lengths and branches.
#include "isa/decoder.h"

#include <elf.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "isa/control_flow.h"
#include "isa/mnemonic_table.h"
#include "support/catch.h"

namespace hbbp {
namespace {

using Bytes = std::vector<uint8_t>;

struct Case {
  const char* name;
  Bytes code;
};

std::vector<Case> Cases() {
  return {
      // Condition codes are spelled as objdump spells them.
      {"je", {0x74, 0x00}},
      {"jne", {0x75, 0x00}},
      {"ja", {0x77, 0x00}},
      {"jae", {0x73, 0x00}},
      {"jb", {0x72, 0x00}},
      {"jbe", {0x76, 0x00}},
      {"jg", {0x0f, 0x8f, 0, 0, 0, 0}},
      {"jge", {0x0f, 0x8d, 0, 0, 0, 0}},
      {"jl", {0x7c, 0x00}},
      {"jle", {0x7e, 0x00}},
      {"js", {0x78, 0x00}},
      {"jns", {0x79, 0x00}},
      {"jp", {0x7a, 0x00}},
      {"jnp", {0x7b, 0x00}},
      {"sete", {0x0f, 0x94, 0xc0}},
      {"setne", {0x0f, 0x95, 0xc0}},
      {"seta", {0x0f, 0x97, 0xc0}},
      {"setge", {0x0f, 0x9d, 0xc0}},
      {"cmove", {0x0f, 0x44, 0xc1}},
      {"cmovae", {0x0f, 0x43, 0xc1}},
      {"cmovg", {0x48, 0x0f, 0x4f, 0xc1}},
      {"jrcxz", {0xe3, 0x00}},
      {"loop", {0xe2, 0x00}},
      // Prefixes are not part of a mnemonic.
      {"add", {0xf0, 0x48, 0x83, 0x00, 0x01}},
      {"cmpxchg", {0xf0, 0x48, 0x0f, 0xb1, 0x0a}},
      {"jmp", {0x3e, 0xff, 0xe0}},
      {"jmp", {0xf2, 0xe9, 0, 0, 0, 0}},
      {"ret", {0xf3, 0xc3}},
      {"call", {0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0}},
      {"lea", {0x66, 0x48, 0x8d, 0x3d, 0, 0, 0, 0}},
      // String instructions differ from the SSE2 instructions of the same Intel name.
      {"movs", {0xf3, 0x48, 0xa5}},
      {"movs", {0xa5}},
      {"movs", {0xa4}},
      {"movsd", {0xf2, 0x0f, 0x10, 0xc1}},
      {"cmps", {0xf3, 0xa6}},
      {"cmps", {0xa7}},
      {"cmpsd", {0xf2, 0x0f, 0xc2, 0xc1, 0x01}},
      {"stos", {0xf3, 0x48, 0xab}},
      {"scas", {0xf2, 0xae}},
      {"lods", {0xac}},
      {"ins", {0x6c}},
      {"outs", {0x66, 0x6f}},
      // Pseudo-operations have the mnemonic of their instruction.
      {"cmpps", {0x0f, 0xc2, 0xc1, 0x00}},
      {"cmppd", {0x66, 0x0f, 0xc2, 0xc1, 0x06}},
      {"cmpss", {0xf3, 0x0f, 0xc2, 0xc1, 0x02}},
      {"vcmpsd", {0xc5, 0xf3, 0xc2, 0xcf, 0x01}},
      {"vcmpps", {0xc5, 0xfc, 0xc2, 0xcc, 0x1e}},
      {"pclmulqdq", {0x66, 0x0f, 0x3a, 0x44, 0xca, 0x11}},
      {"vpclmulqdq", {0xc4, 0xe3, 0x41, 0x44, 0xcb, 0x00}},
      {"vpcmpud", {0x62, 0x93, 0x75, 0x41, 0x1e, 0xcd, 0x01}},
      // These have one name, where decoders and listings have several.
      {"mov", {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}},
      {"mov", {0xa0, 1, 2, 3, 4, 5, 6, 7, 8}},
      {"nop", {0x90}},
      {"nop", {0x66, 0x90}},
      {"nop", {0x0f, 0x1f, 0x44, 0x00, 0x00}},
      {"nop", {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}},
      {"pause", {0xf3, 0x90}},
      {"pause", {0xf3, 0x48, 0x90}},
      {"xchg", {0x41, 0x90}},
      {"xchg", {0x48, 0x87, 0x07}},
      {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}},
      {"movd", {0x66, 0x0f, 0x6e, 0xc0}},
      {"movq", {0x66, 0x48, 0x0f, 0x6e, 0xc0}},
      {"movq", {0x48, 0x0f, 0x7e, 0xc9}},
      {"movq", {0xf3, 0x0f, 0x7e, 0xc1}},
      {"vmovd", {0xc5, 0xf9, 0x6e, 0xc0}},
      {"vmovq", {0xc4, 0xe1, 0xf9, 0x6e, 0xc0}},
      {"ret", {0xc3}},
      {"ret", {0xc2, 0x08, 0x00}},
      {"ret", {0xcb}},
      {"ret", {0x48, 0xcb}},
      {"call", {0xff, 0x18}},
      {"jmp", {0xff, 0x28}},
      {"iret", {0xcf}},
      {"iretq", {0x48, 0xcf}},
      {"pushf", {0x9c}},
      {"popf", {0x9d}},
      {"shl", {0xc1, 0xe0, 0x04}},
      {"shl", {0xc1, 0xf0, 0x04}},
      {"cbw", {0x66, 0x98}},
      {"cwde", {0x98}},
      {"cdqe", {0x48, 0x98}},
      {"cwd", {0x66, 0x99}},
      {"cdq", {0x99}},
      {"cqo", {0x48, 0x99}},
      {"fwait", {0x9b}},
      {"xlat", {0xd7}},
      {"movsxd", {0x48, 0x63, 0xc7}},
      {"fstp", {0xdd, 0xd8}},
      {"fnstcw", {0xd9, 0x7c, 0x24, 0x06}},
      {"int3", {0xcc}},
      {"int1", {0xf1}},
      {"ud1", {0x0f, 0xb9, 0x40, 0x02}},
      {"ud2", {0x0f, 0x0b}},
      {"syscall", {0x0f, 0x05}},
      {"xbegin", {0xc7, 0xf8, 0, 0, 0, 0}},
      // A prefix makes these other instructions.
      {"rdpid", {0xf3, 0x0f, 0xc7, 0xf8}},
      {"rdseed", {0x0f, 0xc7, 0xf8}},
      {"tpause", {0x66, 0x0f, 0xae, 0xf1}},
      {"umonitor", {0xf3, 0x0f, 0xae, 0xf0}},
      {"umwait", {0xf2, 0x0f, 0xae, 0xf0}},
      {"mfence", {0x0f, 0xae, 0xf0}},
      {"incsspd", {0xf3, 0x0f, 0xae, 0xe8}},
      {"ptwrite", {0xf3, 0x0f, 0xae, 0x20}},
      {"clwb", {0x66, 0x48, 0x0f, 0xae, 0x30}},
      {"cldemote", {0x0f, 0x1c, 0x00}},
      {"movss", {0xf3, 0x64, 0x0f, 0x10, 0x00}},
      {"addps", {0x67, 0x48, 0x0f, 0x58, 0x00}},
      {"tzcnt", {0xf3, 0x66, 0x0f, 0xbc, 0xc1}},
      // These are instructions of AVX-512 and newer system instructions.
      {"vaddps", {0x62, 0xf1, 0x7c, 0x58, 0x58, 0xc9}},
      {"kmovd", {0xc5, 0xfb, 0x93, 0xc0}},
      {"kortestq", {0xc4, 0xe1, 0xf8, 0x98, 0xc0}},
      {"vpcmpb", {0x62, 0xf3, 0x7d, 0x48, 0x3f, 0xc2, 0x00}},
      {"vpcmpeqb", {0x62, 0xd1, 0x65, 0x49, 0x74, 0x33}},
      {"vptestnmb", {0x62, 0xf2, 0x76, 0x49, 0x26, 0xe1}},
      {"vpternlogd", {0x62, 0xf3, 0x65, 0x28, 0x25, 0xe2, 0xfe}},
      {"vpbroadcastd", {0x62, 0xf2, 0x7d, 0x48, 0x7c, 0xc0}},
      {"vmovdqu32", {0x62, 0x81, 0x7e, 0x48, 0x6f, 0x1c, 0x08}},
      {"rdpkru", {0x0f, 0x01, 0xee}},
      {"serialize", {0x0f, 0x01, 0xe8}},
  };
}

TEST_CASE("the vocabulary") {
  for (const Case& c : Cases()) {
    Bytes padded = c.code;
    padded.resize(32, 0x90);
    for (const Bytes& code : {c.code, padded}) {
      INFO(c.name << ", " << code.size() << " bytes from " << std::hex << int{code[0]});
      Instruction instruction;
      REQUIRE(DecodeInstruction(code, 0x1234, &instruction));
      CHECK(instruction.length == c.code.size());
      CHECK(instruction.address == 0x1234);
      CHECK(MnemonicName(instruction.mnemonic) == c.name);
    }
  }
}

TEST_CASE("an instruction that ends early has no name") {
  for (const Case& c : Cases()) {
    for (size_t size = 0; size < c.code.size(); ++size) {
      const Bytes code(c.code.begin(), c.code.begin() + static_cast<ptrdiff_t>(size));
      INFO(c.name << ", " << size << " of " << c.code.size() << " bytes");
      Instruction instruction;
      CHECK_FALSE(DecodeInstruction(code, 0, &instruction));
    }
  }
}

void CheckAgainstControlFlow(std::span<const uint8_t> code, uint64_t address) {
  Instruction instruction;
  ControlFlow flow;
  const bool decoded = DecodeInstruction(code, address, &instruction);
  const bool same_verdict = decoded == DecodeControlFlow(code, address, &flow);
  if (same_verdict && !decoded) return;
  if (same_verdict && instruction.length == flow.length && instruction.branch == flow.kind &&
      instruction.mnemonic != Mnemonic::kInvalid) {
    return;
  }
  std::string bytes;
  for (size_t i = 0; i < std::min<size_t>(code.size(), 15); ++i) {
    char text[4];
    std::snprintf(text, sizeof(text), "%02x ", code[i]);
    bytes += text;
  }
  FAIL_CHECK(bytes << "decoded " << decoded << " as " << MnemonicName(instruction.mnemonic) << ", "
                   << int{instruction.length} << " bytes");
}

TEST_CASE("what names instructions and what finds blocks agree over libc") {
  auto file = MappedFile::Open("/lib/x86_64-linux-gnu/libc.so.6");
  if (!file.ok()) HBBP_SKIP("no libc.so.6 at its usual path");
  const std::span<const uint8_t> bytes = file->bytes();
  Elf64_Ehdr header;
  REQUIRE(bytes.size() > sizeof(header));
  std::memcpy(&header, bytes.data(), sizeof(header));
  int64_t instructions = 0;
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR)) continue;
    const auto code = bytes.subspan(section.sh_offset, section.sh_size);
    for (size_t offset = 0; offset < code.size();) {
      const uint64_t address = section.sh_addr + offset;
      CheckAgainstControlFlow(code.subspan(offset), address);
      ControlFlow flow;
      offset += DecodeControlFlow(code.subspan(offset), address, &flow) ? flow.length : 1;
      ++instructions;
    }
  }
  CHECK(instructions > 100'000);
}

TEST_CASE("what names instructions and what finds blocks agree over random bytes") {
  std::mt19937_64 random(1);
  // These bytes are prefixes or begin long opcodes.
  const uint8_t starts[] = {0x0f, 0x0f, 0x41, 0x48, 0x4f, 0x62, 0x64,
                            0x66, 0x67, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3};
  for (int i = 0; i < 1'000'000; ++i) {
    Bytes code(1 + random() % 20);
    for (uint8_t& byte : code) byte = static_cast<uint8_t>(random());
    const size_t prefixes = std::min<size_t>(random() % 5, code.size());
    for (size_t j = 0; j < prefixes; ++j) code[j] = starts[random() % std::size(starts)];
    CheckAgainstControlFlow(code, 0x1000);
  }
}

TEST_CASE("mnemonics can be found by name") {
  CHECK(MnemonicName(FindMnemonic("je")) == "je");
  CHECK(MnemonicName(FindMnemonic("jz")) == "je");
  CHECK(MnemonicName(FindMnemonic("movsq")) == "movs");
  CHECK(FindMnemonic("") == Mnemonic::kInvalid);
  CHECK(FindMnemonic("cmpltsd") == Mnemonic::kInvalid);
  CHECK(FindMnemonic("zzz") == Mnemonic::kInvalid);
  // The search relies on the order in which Zydis numbers them.
  for (int i = ZYDIS_MNEMONIC_INVALID + 1; i <= ZYDIS_MNEMONIC_MAX_VALUE; ++i) {
    const char* name = ZydisMnemonicGetString(static_cast<ZydisMnemonic>(i));
    INFO(name);
    CHECK(FindMnemonic(name) != Mnemonic::kInvalid);
  }
}

TEST_CASE("numbers that name nothing") {
  CHECK(MnemonicName(Mnemonic::kInvalid) == "(bad)");
  CHECK(MnemonicName(static_cast<Mnemonic>(ZYDIS_MNEMONIC_MAX_VALUE + 1)) == "(bad)");
  CHECK(MnemonicName(static_cast<Mnemonic>(0xffff)) == "(bad)");
}

}  // namespace
}  // namespace hbbp
