// Compares mnemonic, memory operand and vector width of the instructions of system libraries with
// the output of `objdump -d`, which is independent of Zydis.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/instruction_properties.h"
#include "isa/property_names.h"
#include "support/catch.h"
#include "support/objdump_listing.h"

namespace hbbp {
namespace {

using Listed = ListedInstruction;

// Returns the bits of "QWORD PTR [" and the like; 0 if there is none.
int MemoryBits(std::string_view operands) {
  struct Word {
    std::string_view text;
    int bits;
  };
  static constexpr Word kWords[] = {
      {"ZMMWORD PTR", 512}, {"YMMWORD PTR", 256}, {"XMMWORD PTR", 128}, {"TBYTE PTR", 80},
      {"QWORD PTR", 64},    {"DWORD PTR", 32},    {"WORD PTR", 16},     {"BYTE PTR", 8}};
  for (const Word& word : kWords) {
    if (operands.find(word.text) != operands.npos) return word.bits;
  }
  return 0;
}

// Returns "[rax]", "fs:0x28".
bool NamesMemory(std::string_view operands) {
  return operands.find('[') != operands.npos || operands.find("s:0x") != operands.npos;
}

int VectorBits(std::string_view operands) {
  if (operands.find("zmm") != operands.npos) return 512;
  if (operands.find("ymm") != operands.npos) return 256;
  if (operands.find("xmm") != operands.npos) return 128;
  return operands.find("mm") != operands.npos ? 64 : 0;
}

class Comparison {
 public:
  void Check(const Listed& listed) {
    InstructionProperties found;
    if (listed.name == "(bad)" || !DescribeInstruction(listed.code, &found)) return;
    if (found.length != listed.code.size()) return;  // objdump_test reports why
    ++compared_;
    const auto word = [&found](Property property) { return FindValue(found, property).text; };
    const std::string_view mnemonic = word(Property::kMnemonic);
    Expect("mnemonic", mnemonic == listed.name || mnemonic == Spelled(listed), listed);
    Expect("lock", found.is_locked == (listed.HasPrefix("lock") || IsImplicitlyLocked(listed)),
           listed);
    if (word(Property::kCategory) == "string") {
      Expect("repeat", found.is_repeated == listed.HasPrefix("rep"), listed);
    }
    Expect("vector bits",
           found.packing != Packing::kPacked || VectorBits(listed.operands) == found.vector_bits,
           listed);
    Expect("packing", VectorBits(listed.operands) == 0 || found.packing != Packing::kNone, listed);
    Expect("extension", IsPlausible(listed, word(Property::kExtension)), listed);
    if (word(Property::kCategory) != "string" && word(Property::kMnemonic) != "xlat") {
      const bool has_form = found.addressing != AddressForm::kNone &&
                            found.addressing != AddressForm::kStack &&
                            found.addressing != AddressForm::kString;
      Expect("memory operand", NamesMemory(listed.operands) == has_form, listed);
    }
    CheckBytes(listed, found);
  }

  void Report(const std::string& path) const {
    std::printf("%s: %zu instructions, %zu with memory\n", path.c_str(), compared_, with_memory_);
    for (const auto& [what, difference] : differences_) {
      std::printf("  %zu differ in %s, as %s\n", difference.count, what.c_str(),
                  difference.example.c_str());
    }
    std::fflush(stdout);
    CHECK(compared_ > 100000);
    CHECK(with_memory_ > 10000);
    CHECK(differences_.empty());
  }

 private:
  struct Difference {
    size_t count = 0;
    std::string example;
  };

  // objdump's names of comparisons and the like contain the predicate.
  static std::string Spelled(const Listed& listed) {
    const std::string_view name = listed.name;
    if (listed.operands == "ax,ax" && name == "xchg") return "nop";
    if (name == "movabs") return "mov";
    if (name == "retf") return "ret";
    static constexpr std::string_view kStems[] = {"vpcmpu",  "vpcmp", "pclmul",
                                                  "vpclmul", "vcmp",  "cmp"};
    for (const std::string_view stem : kStems) {
      if (const std::string full = WithoutPredicate(name, stem); !full.empty()) return full;
    }
    return std::string(name);
  }

  // Returns cmpsd for "cmpltsd", vpcmpub for "vpcmpnleub", pclmulqdq for "pclmullqlqdq"; else
  // empty.
  static std::string WithoutPredicate(std::string_view name, std::string_view stem) {
    if (!name.starts_with(stem)) return "";
    const std::string_view rest = name.substr(stem.size());
    if (stem.ends_with("clmul")) {
      static constexpr std::string_view kHalves[] = {"lqlqdq", "hqlqdq", "lqhqdq", "hqhqdq"};
      const bool is_half = std::ranges::find(kHalves, rest) != std::end(kHalves);
      return is_half ? std::string(stem) + "qdq" : "";
    }
    static constexpr std::string_view kPredicates[] = {
        "eq",    "lt",     "le",     "unord",    "neq",    "nlt",    "nle",    "ord",
        "eq_uq", "nge",    "ngt",    "false",    "neq_oq", "ge",     "gt",     "true",
        "eq_os", "lt_oq",  "le_oq",  "unord_s",  "neq_us", "nlt_uq", "nle_uq", "ord_s",
        "eq_us", "nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq",  "gt_oq",  "true_us"};
    static constexpr std::string_view kElements[] = {"ps", "pd", "ss", "sd", "ph", "sh", "b",
                                                     "w",  "d",  "q",  "ub", "uw", "ud", "uq"};
    // vpcmpeqb and vpcmpgtb are instructions of their own as well.
    for (const std::string_view predicate : kPredicates) {
      if (!rest.starts_with(predicate)) continue;
      const std::string_view element = rest.substr(predicate.size());
      if (std::ranges::find(kElements, element) == std::end(kElements)) continue;
      return std::string(stem) + std::string(element);
    }
    return "";
  }

  static bool IsImplicitlyLocked(const Listed& listed) {
    return listed.name == "xchg" && NamesMemory(listed.operands);
  }

  // Checks the extension that a name and its registers must belong to.
  static bool IsPlausible(const Listed& listed, std::string_view extension) {
    const bool is_avx512 = extension.starts_with("avx512");
    if (listed.operands.find("zmm") != listed.operands.npos) {
      return is_avx512 || extension == "gfni" || extension == "vaes" || extension == "vpclmulqdq";
    }
    if (listed.operands.find("{k") != listed.operands.npos || listed.name.starts_with("k")) {
      return is_avx512 || extension == "gfni";
    }
    const int bits = VectorBits(listed.operands);
    if (bits == 256) {
      return is_avx512 || extension.starts_with("avx") || extension == "fma" ||
             extension == "f16c" || extension == "fma4" || extension == "xop" ||
             extension == "gfni" || extension == "vaes" || extension == "vpclmulqdq";
    }
    if (bits == 128 && !listed.name.starts_with("v")) {
      return extension.starts_with("sse") || extension == "ssse3" || extension == "aes" ||
             extension == "sha" || extension == "pclmulqdq" || extension == "gfni";
    }
    if (bits == 0 && listed.name.starts_with("f") && listed.name != "femms" &&
        !listed.name.starts_with("fx")) {
      return extension == "x87" || extension == "sse3";
    }
    return bits != 0 || !extension.starts_with("avx2");
  }

  void CheckBytes(const Listed& listed, const InstructionProperties& found) {
    const int bits = MemoryBits(listed.operands);
    const bool is_plain =
        bits > 0 && found.memory != MemoryAccess::kNone &&
        found.addressing != AddressForm::kVector && found.addressing != AddressForm::kString &&
        found.addressing != AddressForm::kStack && found.category != InstructionCategory::kStack &&
        found.category != InstructionCategory::kIndirectCall &&
        found.category != InstructionCategory::kMachineState;
    if (!is_plain) return;
    ++with_memory_;
    const auto bytes = static_cast<uint32_t>(bits / 8);
    Expect("bytes", std::max(found.read_bytes, found.written_bytes) == bytes, listed);
  }

  void Expect(const char* what, bool holds, const Listed& listed) {
    if (holds) return;
    Difference& difference = differences_[what];
    if (difference.count++ == 0) difference.example = listed.text;
  }

  size_t compared_ = 0;
  size_t with_memory_ = 0;
  std::map<std::string, Difference> differences_;
};

void CompareWithObjdump(const std::string& path) {
  if (std::system("objdump --version > /dev/null 2>&1") != 0) HBBP_SKIP("no objdump");
  if (access(path.c_str(), R_OK) != 0) HBBP_SKIP("no " + path);
  Comparison comparison;
  ForEachListedInstruction(path, "--section=.text", [&](Listed listed) {
    // Names of called functions may look like registers.
    listed.operands = listed.operands.substr(0, listed.operands.find('<'));
    comparison.Check(listed);
  });
  comparison.Report(path);
}

TEST_CASE("properties and objdump agree on libc") {
  CompareWithObjdump("/lib/x86_64-linux-gnu/libc.so.6");
}

TEST_CASE("properties and objdump agree on libx264") {
  CompareWithObjdump("/lib/x86_64-linux-gnu/libx264.so.164");
}

TEST_CASE("properties and objdump agree on libSvtAv1Enc") {
  CompareWithObjdump("/lib/x86_64-linux-gnu/libSvtAv1Enc.so.1.4.1");
}

}  // namespace
}  // namespace hbbp
