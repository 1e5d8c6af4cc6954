// Compares properties with those of Zydis for the same instructions: its operands, its meta data
// and its text. The text is parsed in a different way than in the library.
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "isa/control_flow.h"
#include "isa/instruction_properties.h"
#include "isa/operand_kinds.h"
#include "isa/property_names.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr size_t kSampled = 100000;
constexpr uint64_t kSeed = 20240607;

struct Oracle {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  std::string text;                        // "lock add dword ptr ds:[rcx], eax"
  std::vector<std::string> operand_texts;  // without decorations
};

bool Ask(std::span<const uint8_t> code, Oracle* oracle) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), &oracle->instruction,
                                           oracle->operands))) {
    return false;
  }
  static const ZydisFormatter formatter = [] {
    ZydisFormatter made;
    ZydisFormatterInit(&made, ZYDIS_FORMATTER_STYLE_INTEL);
    // The format has [rip+0x10], not the address.
    ZydisFormatterSetProperty(&made, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
    ZydisFormatterSetProperty(&made, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_BRANCHES, ZYAN_TRUE);
    return made;
  }();
  char buffer[256];
  const ZydisDecodedInstruction& instruction = oracle->instruction;
  ZydisFormatterFormatInstruction(&formatter, &instruction, oracle->operands,
                                  instruction.operand_count_visible, buffer, sizeof(buffer), 0,
                                  nullptr);
  oracle->text = buffer;
  oracle->operand_texts.clear();
  for (int i = 0; i < instruction.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = oracle->operands[i];
    if (operand.encoding == ZYDIS_OPERAND_ENCODING_MASK) continue;
    ZydisFormatterFormatOperand(&formatter, &instruction, &operand, buffer, sizeof(buffer), 0,
                                nullptr);
    oracle->operand_texts.emplace_back(buffer);
  }
  return true;
}

bool Has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Converts the names of Zydis.
std::string ExtensionOf(const Oracle& oracle) {
  const std::string extension = Lower(ZydisISAExtGetString(oracle.instruction.meta.isa_ext));
  const std::string set = Lower(ZydisISASetGetString(oracle.instruction.meta.isa_set));
  if (extension == "avx512evex" || extension == "avx512vex") {
    if (!set.starts_with("avx512_")) return set.substr(0, set.find('_'));
    std::string subset = set.substr(7, set.rfind('_') - 7);
    const bool has_own_name = subset == "gfni" || subset == "vaes" || subset == "vpclmulqdq";
    return has_own_name ? subset : "avx512-" + subset;
  }
  static const std::map<std::string, std::string> kBySet = {
      {"sse4", "sse4.1"},          {"sse42", "sse4.2"},
      {"popcnt", "popcnt"},        {"fxsave", "fxsr"},
      {"fxsave64", "fxsr"},        {"sse2mmx", "sse2"},
      {"ssse3mmx", "ssse3"},       {"sse3x87", "sse3"},
      {"sse_prefetch", "sse"},     {"prefetch_nop", "prefetchw"},
      {"i286protected", "system"}, {"lwp", "lwp"},
      {"avx_gfni", "gfni"},        {"amd", "system"}};
  if (const auto found = kBySet.find(set); found != kBySet.end()) return found->second;
  static const std::set<std::string> kSseOfMmx = {
      "maskmovq", "movntq", "pavgb",  "pavgw",    "pextrw",  "pinsrw", "pmaxsw",
      "pmaxub",   "pminsw", "pminub", "pmovmskb", "pmulhuw", "psadbw", "pshufw"};
  const std::string mnemonic = ZydisMnemonicGetString(oracle.instruction.mnemonic);
  if (extension == "mmx" && (set == "sse" || (set == "pentiummmx" && kSseOfMmx.count(mnemonic)))) {
    return "sse";
  }
  static const std::map<std::string, std::string> kByExtension = {{"longmode", "base"},
                                                                  {"pause", "base"},
                                                                  {"avx2gather", "avx2"},
                                                                  {"avxaes", "aes"},
                                                                  {"clfsh", "clflush"},
                                                                  {"rdwrfsgs", "fsgsbase"},
                                                                  {"adox_adcx", "adx"},
                                                                  {"amd3dnow", "3dnow"},
                                                                  {"avx_vnni", "avx-vnni"},
                                                                  {"amx_tile", "amx-tile"},
                                                                  {"amx_int8", "amx-int8"},
                                                                  {"amx_bf16", "amx-bf16"},
                                                                  {"keylocker", "key-locker"},
                                                                  {"keylocker_wide", "key-locker"},
                                                                  {"knce", "knc"},
                                                                  {"kncv", "knc"},
                                                                  {"monitorx", "monitor"},
                                                                  {"sgx_enclv", "sgx"},
                                                                  {"tsx_ldtrk", "rtm"},
                                                                  {"xsavec", "xsave"},
                                                                  {"xsaveopt", "xsave"},
                                                                  {"xsaves", "xsave"},
                                                                  {"vtx", "virtualization"},
                                                                  {"svm", "virtualization"},
                                                                  {"vmfunc", "virtualization"},
                                                                  {"tdx", "virtualization"},
                                                                  {"snp", "virtualization"},
                                                                  {"amd_invlpgb", "system"},
                                                                  {"hreset", "system"},
                                                                  {"invpcid", "system"},
                                                                  {"mcommit", "system"},
                                                                  {"pconfig", "system"},
                                                                  {"pt", "system"},
                                                                  {"rdpru", "system"},
                                                                  {"smap", "system"},
                                                                  {"smx", "system"}};
  if (const auto found = kByExtension.find(extension); found != kByExtension.end()) {
    return found->second;
  }
  return extension;
}

std::string OperandKind(std::string_view operand, bool is_branch) {
  if (Has(operand, "[")) return "mem";
  if (is_branch && (operand[0] == '+' || operand[0] == '-' || operand[0] == '0')) return "rel";
  if (operand[0] == '0' || operand[0] == '-') return "imm";
  if (operand.starts_with("xmm") || operand.starts_with("ymm") || operand.starts_with("zmm") ||
      operand.starts_with("mm")) {
    return "vec";
  }
  if (operand.starts_with("tmm")) return "tile";
  if (operand.starts_with("st")) return "st";
  if (operand[0] == 'k' && operand.size() == 2) return "mask";
  static constexpr std::string_view kSystem[] = {"es", "cs", "ss", "ds", "fs", "gs"};
  const bool is_numbered =
      operand.size() >= 3 && std::isdigit(static_cast<unsigned char>(operand[2]));
  if (std::ranges::find(kSystem, operand) != std::end(kSystem) ||
      (is_numbered && (operand.starts_with("cr") || operand.starts_with("dr"))) ||
      operand.starts_with("bnd")) {
    return "sys";
  }
  return "reg";
}

std::string_view NameOf(const Oracle& oracle) {
  return ZydisMnemonicGetString(oracle.instruction.mnemonic);
}

bool IsBranch(const Oracle& oracle) {
  const std::string_view name = NameOf(oracle);
  return name[0] == 'j' || name == "call" || name == "xbegin" || name.starts_with("loop");
}

std::string KindsOf(const Oracle& oracle) {
  std::string kinds;
  for (const std::string& operand : oracle.operand_texts) {
    if (!kinds.empty()) kinds += '-';
    kinds += OperandKind(operand, IsBranch(oracle));
  }
  return kinds.empty() ? "none" : kinds;
}

// These name an address without branching there.
bool OnlyAddresses(const Oracle& oracle) {
  static constexpr std::string_view kNames[] = {"lea",        "nop",      "clflush",  "clwb",
                                                "clflushopt", "cldemote", "umonitor", "invlpg"};
  const std::string_view name = NameOf(oracle);
  return std::ranges::find(kNames, name) != std::end(kNames) || Has(name, "prefetch") ||
         Has(name, "gatherpf") || Has(name, "scatterpf") || name.starts_with("clevict") ||
         name.starts_with("bndc") || name == "bndmk" || name == "bndldx" || name == "bndstx";
}

struct Traffic {
  uint32_t read = 0;
  uint32_t written = 0;
};

Traffic TrafficOf(const Oracle& oracle) {
  Traffic traffic;
  const ZydisDecodedInstruction& instruction = oracle.instruction;
  const std::string_view name = NameOf(oracle);
  // Zydis reports only the register with the address of their output.
  if (name == "clzero" || name.starts_with("enqcmd")) traffic.written = 64;
  for (int i = 0; i < instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = oracle.operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    if (operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
    uint32_t bytes = operand.size / 8;
    if (operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
      // The number of elements fits both the data and the indices.
      const ZydisDecodedOperand& data = oracle.operands[Has(name, "scatter") ? 2 : 0];
      const uint32_t data_bits = ZydisRegisterGetWidth(instruction.machine_mode, data.reg.value);
      const uint32_t index_bits =
          ZydisRegisterGetWidth(instruction.machine_mode, operand.mem.index);
      const bool has_long_index = Has(name, "rq");  // gatherq, scatterq
      bytes *= std::min(data_bits / operand.size, index_bits / (has_long_index ? 64 : 32));
    }
    if (name.starts_with("tile")) bytes = 1024;
    if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) traffic.read += bytes;
    if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) traffic.written += bytes;
  }
  return traffic;
}

// Parses "qword ptr ds:[rax+rcx*4-0x10]".
std::string AddressingOf(const Oracle& oracle) {
  if (NameOf(oracle).starts_with("bnd")) return "";  // an unused index
  for (const std::string& operand : oracle.operand_texts) {
    const size_t begin = operand.find('[');
    if (begin == operand.npos) continue;
    const std::string inside = operand.substr(begin + 1, operand.find(']') - begin - 1);
    std::vector<std::string> parts(1);
    for (const char c : inside) {
      if (c == '+' || c == '-') {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    const bool has_displacement = parts.back().starts_with("0x");
    const auto registers = parts.size() - (has_displacement ? 1 : 0);
    if (Has(inside, "mm")) return "vector";
    if (Has(inside, "ip")) return "rip-relative";
    if (registers == 0) return "absolute";
    if (registers == 1 && (Has(inside, "*") || parts[0] == "riz")) return "index";
    const std::string form = registers == 1 ? "base" : "base-index";
    return form + (has_displacement ? "-disp" : "");
  }
  return "";
}

int VectorBitsOf(const Oracle& oracle) {
  int bits = 0;
  for (const std::string& operand : oracle.operand_texts) {
    if (Has(operand, "tmm")) return 8192;
    const int here = Has(operand, "zmm")   ? 512
                     : Has(operand, "ymm") ? 256
                     : Has(operand, "xmm") ? 128
                     : Has(operand, "mm")  ? 64
                                           : 0;
    bits = std::max(bits, here);
  }
  return bits;
}

// A mask as the result gets zeros where the write mask has them, without {z} in the text.
bool IsZeroing(const Oracle& oracle) {
  const bool writes_mask = !oracle.operand_texts.empty() && oracle.operand_texts[0][0] == 'k';
  return Has(oracle.text, "{z}") || (writes_mask && Has(oracle.text, "{k"));
}

std::string MaskingOf(const Oracle& oracle) {
  if (!Has(oracle.text, "{k")) return "none";
  const bool is_selecting =
      NameOf(oracle).starts_with("vblendm") || NameOf(oracle).starts_with("vpblendm");
  if (is_selecting) return "selecting";
  return IsZeroing(oracle) ? "zeroing" : "merging";
}

// Returns two per lane for FMA according to Zydis; -1 where that is unknown.
int FlopsOf(const Oracle& oracle) {
  const std::string_view category = ZydisCategoryGetString(oracle.instruction.meta.category);
  const std::string_view name = NameOf(oracle);
  if (category == "VFMA" || category == "FMA4") {
    const bool is_scalar = name.ends_with("ss") || name.ends_with("sd");
    return is_scalar ? 2 : 2 * oracle.operands[0].element_count;
  }
  if (category == "DATAXFER" || category == "LOGICAL" || category == "LOGICAL_FP" ||
      category == "CONVERT" || category == "BINARY" || category == "COND_BR" ||
      category == "BROADCAST" || category == "BLEND" || category == "GATHER" ||
      category == "SCATTER" || category == "MMX" || category == "CALL" || category == "SHIFT") {
    return 0;
  }
  return -1;
}

// Zydis types the results of floating-point arithmetic well, those of integers hardly.
std::string ElementOf(const Oracle& oracle) {
  const std::string_view category = ZydisCategoryGetString(oracle.instruction.meta.category);
  if (category != "VFMA" && category != "FMA4") return "";
  switch (oracle.operands[0].element_type) {
    case ZYDIS_ELEMENT_TYPE_FLOAT32:
      return "single";
    case ZYDIS_ELEMENT_TYPE_FLOAT64:
      return "double";
    default:
      return "";
  }
}

class Comparison {
 public:
  void Check(std::span<const uint8_t> code) {
    InstructionProperties found;
    Oracle oracle;
    const bool is_described = DescribeInstruction(code, &found);
    if (is_described != Ask(code, &oracle)) {
      Differ("validity", code, oracle, is_described ? "valid" : "invalid");
      return;
    }
    if (!is_described) return;
    ++compared_;
    Compare(code, oracle, found);
  }

  void Report(size_t at_least) const {
    std::printf("%zu instructions compared\n", compared_);
    for (const auto& [what, difference] : differences_) {
      std::printf("  %zu differ in %s\n", difference.count, what.c_str());
      for (const std::string& example : difference.examples) {
        std::printf("    %s\n", example.c_str());
      }
    }
    std::fflush(stdout);
    CHECK(compared_ >= at_least);
    CHECK(differences_.empty());
  }

 private:
  struct Difference {
    size_t count = 0;
    std::vector<std::string> examples;
  };

  void Compare(std::span<const uint8_t> code, const Oracle& oracle,
               const InstructionProperties& found) {
    const auto expect = [&](const char* what, const auto& wanted, const auto& value) {
      if (wanted != value) Differ(what, code, oracle, Shown(value) + ", not " + Shown(wanted));
    };
    const auto word = [&found](Property property) {
      return std::string(FindValue(found, property).text);
    };
    expect("length", int{oracle.instruction.length}, int{found.length});
    expect("extension", ExtensionOf(oracle), word(Property::kExtension));
    expect("operand kinds", KindsOf(oracle), word(Property::kOperandKinds));
    expect("operands", int(oracle.operand_texts.size()), int{found.operands});
    CompareOperandBits(code, oracle, found);
    const Traffic traffic = OnlyAddresses(oracle) ? Traffic() : TrafficOf(oracle);
    expect("bytes read", traffic.read, found.read_bytes);
    expect("bytes written", traffic.written, found.written_bytes);
    const std::string access = traffic.read > 0 && traffic.written > 0 ? "read-write"
                               : traffic.read > 0                      ? "read"
                               : traffic.written > 0                   ? "write"
                                                                       : "none";
    expect("memory", access, word(Property::kMemory));
    if (const std::string form = AddressingOf(oracle); !form.empty()) {
      expect("addressing", form, word(Property::kAddressing));
    }
    if (found.packing == Packing::kPacked) {
      expect("vector bits", VectorBitsOf(oracle), int{found.vector_bits});
    }
    expect("masking", MaskingOf(oracle), word(Property::kMasking));
    expect("zeroing", IsZeroing(oracle), found.is_zeroing);
    expect("broadcast", Has(oracle.text, "{1to") && !oracle.instruction.avx.broadcast.is_static,
           found.is_broadcast);
    const bool is_locked =
        Has(oracle.text, "lock ") || (NameOf(oracle) == "xchg" && Has(oracle.text, "["));
    expect("lock", is_locked, found.is_locked);
    expect("repeat", oracle.text.starts_with("rep"), found.is_repeated);
    if (const int flops = FlopsOf(oracle); flops >= 0) {
      expect("flops", flops, static_cast<int>(found.flops));
    }
    if (const std::string element = ElementOf(oracle); !element.empty()) {
      expect("element", element, word(Property::kElement));
    }
  }

  void CompareOperandBits(std::span<const uint8_t> code, const Oracle& oracle,
                          const InstructionProperties& found) {
    size_t index = 0;
    for (int i = 0; i < oracle.instruction.operand_count_visible; ++i) {
      const ZydisDecodedOperand& operand = oracle.operands[i];
      if (operand.encoding == ZYDIS_OPERAND_ENCODING_MASK || index >= kMaxOperands) continue;
      if (operand.size != found.operand_bits[index]) Differ("operand bits", code, oracle, "");
      ++index;
    }
  }

  static std::string Shown(const std::string& text) { return "'" + text + "'"; }
  static std::string Shown(int64_t number) { return std::to_string(number); }

  void Differ(const std::string& what, std::span<const uint8_t> code, const Oracle& oracle,
              const std::string& how) {
    Difference& difference = differences_[what];
    if (++difference.count > 5) return;
    std::string example = oracle.text + ": " + how + " (";
    for (size_t i = 0; i < std::min<size_t>(code.size(), oracle.instruction.length); ++i) {
      char byte[4];
      std::snprintf(byte, sizeof(byte), "%02x ", code[i]);
      example += byte;
    }
    difference.examples.push_back(example + ")");
  }

  size_t compared_ = 0;
  std::map<std::string, Difference> differences_;
};

// Returns the largest executable section.
std::span<const uint8_t> CodeOf(std::span<const uint8_t> file) {
  std::span<const uint8_t> largest;
  Elf64_Ehdr header;
  REQUIRE(file.size() > sizeof(header));
  std::memcpy(&header, file.data(), sizeof(header));
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, file.data() + header.e_shoff + i * sizeof(section), sizeof(section));
    if (!(section.sh_flags & SHF_EXECINSTR) || section.sh_size < largest.size()) continue;
    largest = file.subspan(section.sh_offset, section.sh_size);
  }
  return largest;
}

std::vector<size_t> InstructionsOf(std::span<const uint8_t> code) {
  std::vector<size_t> offsets;
  for (size_t offset = 0; offset < code.size();) {
    ControlFlow flow;
    if (DecodeControlFlow(code.subspan(offset), 0, &flow)) {
      offsets.push_back(offset);
      offset += flow.length;
    } else {
      ++offset;
    }
  }
  return offsets;
}

TEST_CASE("a hundred thousand instructions of system libraries are as Zydis says") {
  static const std::string kDirectory = "/lib/x86_64-linux-gnu/";
  std::vector<std::string> paths;
  for (const char* name : {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libcrypto.so.3",
                           "libx264.so.164", "libx265.so.199", "libSvtAv1Enc.so.1.4.1"}) {
    if (access((kDirectory + name).c_str(), R_OK) == 0) paths.push_back(kDirectory + name);
  }
  if (paths.empty()) HBBP_SKIP("no libraries where Debian has them");
  std::mt19937_64 random(kSeed);
  Comparison comparison;
  const size_t share = (kSampled + paths.size() - 1) / paths.size();
  for (const std::string& path : paths) {
    auto file = MappedFile::Open(path);
    REQUIRE(file.ok());
    const std::span<const uint8_t> code = CodeOf(file->bytes());
    const std::vector<size_t> offsets = InstructionsOf(code);
    REQUIRE_FALSE(offsets.empty());
    for (size_t i = 0; i < share; ++i) {
      comparison.Check(code.subspan(offsets[random() % offsets.size()]));
    }
  }
  comparison.Report(kSampled);
}

// Makes bytes that are an instruction more often than random ones, of every opcode map and
// encoding.
void MakeCode(std::mt19937_64& random, std::span<uint8_t, kMaxInstructionLength> code) {
  for (uint8_t& byte : code) byte = static_cast<uint8_t>(random());
  constexpr uint8_t kPrefixes[] = {0x66, 0xf2, 0xf3};
  const uint8_t prefix = kPrefixes[random() % 3];
  switch (random() % 10) {
    case 0:
      code[0] = 0x0f;
      break;
    case 1:
      code[0] = prefix;
      code[1] = 0x0f;
      break;
    case 2:
      code[0] = prefix;
      code[1] = 0x0f;
      code[2] = random() % 2 ? 0x38 : 0x3a;
      break;
    case 3:
      code[0] = 0xc5;
      break;
    case 4:
      code[0] = 0xc4;
      code[1] = static_cast<uint8_t>((code[1] & 0xe0) | (1 + random() % 3));
      break;
    case 5:
      code[0] = 0x8f;
      code[1] = static_cast<uint8_t>((code[1] & 0xe0) | (8 + random() % 3));
      break;
    case 6:
    case 7:
    case 8:
      code[0] = 0x62;
      code[1] = static_cast<uint8_t>((code[1] & 0xf0) | (1 + random() % 6));
      code[2] |= 0x7c;
      code[3] = static_cast<uint8_t>((code[3] & 0xef) | 8);
      break;
    default:
      break;
  }
}

TEST_CASE("half a million instructions of all encodings are as Zydis says") {
  std::mt19937_64 random(kSeed);
  Comparison comparison;
  for (int i = 0; i < 2000000; ++i) {
    uint8_t code[kMaxInstructionLength];
    MakeCode(random, code);
    comparison.Check(code);
  }
  comparison.Report(500000);
}

}  // namespace
}  // namespace hbbp
