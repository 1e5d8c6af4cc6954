// Checks that every instruction that objdump lists in large system libraries has the same length,
// the same mnemonic and the same branch target here, or a known reason for a difference.
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "isa/control_flow.h"
#include "isa/decoder.h"
#include "support/catch.h"
#include "support/objdump_listing.h"

namespace hbbp {
namespace {

using Listed = ListedInstruction;

// Names of objdump that are not in the manual, or that are listed for more instructions there.
struct Spelling {
  std::string_view objdump;
  std::string_view ours;
  std::string_view reason;
};

constexpr std::string_view kWidthSuffix = "objdump says the operand size in the name";
constexpr std::string_view kPseudo = "a pseudo-operation: the operand is in the name";

constexpr Spelling kSpellings[] = {
    {"movabs", "mov", "the AT&T name of mov with eight bytes of immediate or address"},
    {"xchg", "nop", "66 90: the manual has it under nop"},
    {"retf", "ret", "the manual has far returns under ret"},
    {"retfq", "ret", "the manual has far returns under ret"},
    {"retfw", "ret", "the manual has far returns under ret"},
    {"enterw", "enter", kWidthSuffix},
    {"iretw", "iret", kWidthSuffix},
    {"jmpw", "jmp", kWidthSuffix},
    {"leavew", "leave", kWidthSuffix},
    {"popfw", "popf", kWidthSuffix},
    {"popw", "pop", kWidthSuffix},
    {"pushfw", "pushf", kWidthSuffix},
    {"pushw", "push", kWidthSuffix},
    {"retw", "ret", kWidthSuffix},
    {"sysexitd", "sysexit", kWidthSuffix},
    {"sysexitq", "sysexit", kWidthSuffix},
    {"sysretd", "sysret", kWidthSuffix},
    {"sysretq", "sysret", kWidthSuffix},
    {"fndisi(8087", "fndisi", "objdump adds a remark, (8087 only)"},
    {"fneni(8087", "fneni", "objdump adds a remark, (8087 only)"},
    {"fnsetpm(287", "fnsetpm", "objdump adds a remark, (287 only)"},
    {"pclmulhqhqdq", "pclmulqdq", kPseudo},
    {"pclmulhqlqdq", "pclmulqdq", kPseudo},
    {"pclmullqhqdq", "pclmulqdq", kPseudo},
    {"pclmullqlqdq", "pclmulqdq", kPseudo},
    {"vpclmulhqhqdq", "vpclmulqdq", kPseudo},
    {"vpclmulhqlqdq", "vpclmulqdq", kPseudo},
    {"vpclmullqhqdq", "vpclmulqdq", kPseudo},
    {"vpclmullqlqdq", "vpclmulqdq", kPseudo},
};

// Maps cmpltsd to cmpsd, vpcmpnleub to vpcmpub, vpcomltb to vpcomb: the condition is an operand.
bool IsSameComparison(std::string_view objdump, std::string_view ours) {
  static constexpr std::string_view kStems[] = {"cmp", "vcmp", "vpcmp", "vpcom"};
  static constexpr std::string_view kConditions[] = {
      "eq",    "lt",     "le",     "unord",    "neq",    "nlt",    "nle",    "ord",
      "eq_uq", "nge",    "ngt",    "false",    "neq_oq", "ge",     "gt",     "true",
      "eq_os", "lt_oq",  "le_oq",  "unord_s",  "neq_us", "nlt_uq", "nle_uq", "ord_s",
      "eq_us", "nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq",  "gt_oq",  "true_us"};
  for (const std::string_view stem : kStems) {
    if (!objdump.starts_with(stem) || !ours.starts_with(stem)) continue;
    const std::string_view type = ours.substr(stem.size());
    if (type.empty() || type.size() > 2 || !objdump.ends_with(type)) continue;
    const size_t length = objdump.size() - stem.size() - type.size();
    if (std::ranges::find(kConditions, objdump.substr(stem.size(), length)) !=
        std::end(kConditions)) {
      return true;
    }
  }
  return false;
}

std::string_view WhySpelledSo(std::string_view objdump, std::string_view ours) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.objdump == objdump && spelling.ours == ours) return spelling.reason;
  }
  return IsSameComparison(objdump, ours) ? kPseudo : std::string_view();
}

// Returns why the bytes that objdump lists are not an instruction, which happens in data between
// functions.
std::string_view WhyRefused(const Listed& listed) {
  if (listed.prefixes.find("lock ") != listed.prefixes.npos) {
    static const std::set<std::string_view> kLockable = {
        "adc", "add", "and", "btc", "btr", "bts", "cmpxchg", "cmpxchg16b", "cmpxchg8b", "dec",
        "inc", "neg", "not", "or",  "sbb", "sub", "xadd",    "xchg",       "xor"};
    const std::string_view destination = listed.operands.substr(0, listed.operands.find(','));
    if (!kLockable.contains(listed.name) || destination.find('[') == destination.npos) {
      return "lock raises #UD unless a lockable instruction writes to memory";
    }
  }
  if (listed.name == "mov" && listed.operands.ends_with(",?")) return "no such segment register";
  if (listed.name == "mov" && listed.operands.starts_with("?,")) return "no such segment register";
  if (listed.name == "mov" && listed.operands.starts_with("cs,")) return "mov to cs raises #UD";
  if (listed.name.starts_with("v") && listed.prefixes.find("rex") != listed.prefixes.npos) {
    return "REX before VEX raises #UD";
  }
  if (listed.name == "frstpm(287") return "reserved since the 80387";
  return "";
}

struct Disagreement {
  int64_t count = 0;
  std::string example;
};

class Comparison {
 public:
  explicit Comparison(std::span<const uint8_t> file) : file_(file) { ReadSections(); }

  void Check(const Listed& listed) {
    if (listed.text.find("(bad)") != listed.text.npos || listed.name.starts_with(".")) {
      ++bad_;
      return;
    }
    if (IsListedPrefix(listed.name)) {
      Explain("a prefix that another prefix makes void: objdump gives it a line of its own");
      return;
    }
    ++instructions_;
    const std::span<const uint8_t> code = CodeAt(listed.address);
    Instruction found;
    if (!DecodeInstruction(code, listed.address, &found)) {
      ExplainOr(WhyRefused(listed), listed, "rejected");
      return;
    }
    if (listed.code.size() != found.length) {
      CheckLength(listed, code, found);
      return;
    }
    const std::string_view ours = MnemonicName(found.mnemonic);
    if (ours != listed.name) ExplainOr(WhySpelledSo(listed.name, ours), listed, ours);
    CheckTarget(listed, code);
  }

  // Prints the results and fails the test case for anything that has no reason.
  void Report(const std::string& path) const {
    std::printf("%s: %lld instructions, %lld (bad)\n", path.c_str(),
                static_cast<long long>(instructions_), static_cast<long long>(bad_));
    for (const auto& [reason, count] : explained_) {
      std::printf("  %8lld  %s\n", static_cast<long long>(count), reason.c_str());
    }
    for (const auto& [what, disagreement] : unexplained_) {
      std::printf("  UNEXPLAINED %lld  %s, as in: %s\n", static_cast<long long>(disagreement.count),
                  what.c_str(), disagreement.example.c_str());
    }
    std::fflush(stdout);
    CHECK(instructions_ > 1000);
    CHECK(targets_ > 100);
    CHECK(unexplained_.empty());
  }

 private:
  struct Section {
    uint64_t address;
    std::span<const uint8_t> bytes;
  };

  void ReadSections() {
    Elf64_Ehdr header;
    REQUIRE(file_.size() > sizeof(header));
    std::memcpy(&header, file_.data(), sizeof(header));
    for (int i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      std::memcpy(&section, file_.data() + header.e_shoff + i * sizeof(section), sizeof(section));
      if (section.sh_type == SHT_NOBITS || !(section.sh_flags & SHF_EXECINSTR)) continue;
      sections_.push_back({section.sh_addr, file_.subspan(section.sh_offset, section.sh_size)});
    }
  }

  std::span<const uint8_t> CodeAt(uint64_t address) const {
    for (const Section& section : sections_) {
      const uint64_t offset = address - section.address;
      if (offset < section.bytes.size()) return section.bytes.subspan(offset);
    }
    return {};
  }

  void CheckLength(const Listed& listed, std::span<const uint8_t> code, const Instruction& found) {
    // 9b with the x87 instruction after it: objdump lists both as one, the processor runs two.
    const std::string_view ours = MnemonicName(found.mnemonic);
    if (ours == "fwait" && listed.name.starts_with("f")) {
      Instruction second;
      if (DecodeInstruction(code.subspan(found.length), listed.address + found.length, &second) &&
          static_cast<size_t>(found.length + second.length) == listed.code.size()) {
        const std::string_view name = MnemonicName(second.mnemonic);
        const bool waits = name.starts_with("fn") && name.substr(2) == listed.name.substr(1);
        if (waits || name == listed.name) {
          Explain("fwait and the x87 instruction after it on one line");
          return;
        }
      }
    }
    if (listed.name == "jmpw" || listed.name == "callw") {
      Explain("66 shortens a near branch on AMD only; here as on Intel");
      return;
    }
    ExplainOr("", listed, std::string(ours) + " of " + std::to_string(found.length) + " bytes");
  }

  void CheckTarget(const Listed& listed, std::span<const uint8_t> code) {
    ControlFlow flow;
    if (!DecodeControlFlow(code, listed.address, &flow)) {
      ExplainOr("", listed, "rejected by DecodeControlFlow");
      return;
    }
    if (flow.length != listed.code.size()) ExplainOr("", listed, "another length of control flow");
    if (!flow.has_target) return;
    ++targets_;
    uint64_t target = 0;
    std::string_view operand = listed.operands;
    if (operand.starts_with("0x")) operand.remove_prefix(2);
    std::from_chars(operand.data(), operand.data() + operand.size(), target, 16);
    if (target != flow.target) ExplainOr("", listed, "another target");
  }

  void Explain(std::string_view reason) { ++explained_[std::string(reason)]; }

  void ExplainOr(std::string_view reason, const Listed& listed, std::string_view ours) {
    if (!reason.empty()) {
      Explain(reason);
      return;
    }
    Disagreement& disagreement =
        unexplained_[std::string(listed.name) + " against " + std::string(ours)];
    if (disagreement.count++ > 0) return;
    char address[32];
    std::snprintf(address, sizeof(address),
                  "%llx: ", static_cast<unsigned long long>(listed.address));
    disagreement.example = address;
    for (const uint8_t code : listed.code) {
      char byte[4];
      std::snprintf(byte, sizeof(byte), "%02x ", code);
      disagreement.example += byte;
    }
    disagreement.example += listed.text;
  }

  std::span<const uint8_t> file_;
  std::vector<Section> sections_;
  int64_t instructions_ = 0;
  int64_t bad_ = 0;
  int64_t targets_ = 0;
  std::map<std::string, int64_t> explained_;
  std::map<std::string, Disagreement> unexplained_;
};

void CompareWithObjdump(const std::string& path) {
  if (std::system("objdump --version > /dev/null 2>&1") != 0) HBBP_SKIP("no objdump");
  if (access(path.c_str(), R_OK) != 0) HBBP_SKIP("no " + path);
  auto file = MappedFile::Open(path);
  REQUIRE(file.ok());
  Comparison comparison(file->bytes());
  ForEachListedInstruction(path, "", [&](const Listed& listed) { comparison.Check(listed); });
  comparison.Report(path);
}

TEST_CASE("libc") { CompareWithObjdump("/lib/x86_64-linux-gnu/libc.so.6"); }

TEST_CASE("libx264, AVX-512 in assembly") {
  CompareWithObjdump("/lib/x86_64-linux-gnu/libx264.so.164");
}

TEST_CASE("libSvtAv1Enc, AVX-512 from intrinsics") {
  CompareWithObjdump("/lib/x86_64-linux-gnu/libSvtAv1Enc.so.1.4.1");
}

TEST_CASE("libx265, AVX-512 with rounding modes") {
  CompareWithObjdump("/lib/x86_64-linux-gnu/libx265.so.199");
}

TEST_CASE("libcrypto, with data between its functions") {
  CompareWithObjdump("/lib/x86_64-linux-gnu/libcrypto.so.3");
}

TEST_CASE("clang") { CompareWithObjdump("/usr/lib/llvm-14/bin/clang"); }

TEST_CASE("libLLVM, which is most of clang") {
  CompareWithObjdump("/lib/x86_64-linux-gnu/libLLVM-14.so.1");
}

}  // namespace
}  // namespace hbbp
