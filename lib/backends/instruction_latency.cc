#include "backends/instruction_latency.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace hbbp {
namespace {

// These latencies are measured, and no number of cycles.
constexpr uint8_t kOfAddition = 254;
constexpr uint8_t kOfMultiplication = 255;

struct NamedLatency {
  std::string_view name;  // of the mnemonic, without the v of AVX; a last * stands for any ending
  uint8_t cycles;
};

constexpr uint8_t kDefaultLatency = 1;
// The first one that fits counts.
constexpr NamedLatency kLatencies[] = {
    // Integers.
    {"imul", 3},
    {"mul", 3},
    {"mulx", 3},
    {"div", 14},
    {"idiv", 14},
    {"bsf", 3},
    {"bsr", 3},
    {"popcnt", 3},
    {"lzcnt", 3},
    {"tzcnt", 3},
    {"crc32", 3},
    {"pdep", 3},
    {"pext", 3},
    // With memory, these lock it.
    {"xchg", 18},
    {"cmpxchg*", 18},
    {"xadd", 18},
    // Serializing.
    {"mfence", 30},
    {"lfence", 30},
    {"rdtsc*", 30},
    {"cpuid", 100},
    {"xgetbv", 30},
    // Between vector and general registers.
    {"movd", 3},
    {"movq", 3},
    {"movmsk*", 3},
    {"pmovmskb", 3},
    {"kmov*", 3},
    // Floating point.
    {"div*", 13},
    {"sqrt*", 18},
    {"add*", kOfAddition},
    {"sub*", kOfAddition},
    {"mul*", kOfMultiplication},
    {"fm*", 4},
    {"fnm*", 4},
    {"comis*", 4},
    {"ucomis*", 4},
    {"max*", 4},
    {"min*", 4},
    {"round*", 8},
    {"cvt*", 5},
    {"haddp*", 6},
    {"dpp*", 12},
    // Vectors of integers.
    {"pmulld", 10},
    {"pmul*", 5},
    {"pmadd*", 5},
    {"psadbw", 3},
    {"aes*", 4},
    {"pclmul*", 5},
    {"sha*", 4},
    {"perm*", 3},
    {"gather*", 20},
    {"pgather*", 20},
    // x87.
    {"fadd*", 4},
    {"fsub*", 4},
    {"fmul*", 4},
    {"fdiv*", 15},
    {"fsqrt", 20},
    {"fsin*", 80},
    {"fcos", 80},
    {"fptan", 80},
    {"fpatan", 80},
    {"f2xm1", 60},
    {"fyl2x*", 80},
    {"fprem*", 30},
};

// Returns the name without the v of AVX, or nothing for an unknown mnemonic.
std::string_view NameWithoutV(ZydisMnemonic mnemonic) {
  const char* found = ZydisMnemonicGetString(mnemonic);
  std::string_view name = found == nullptr ? "" : found;
  if (name.starts_with('v')) name.remove_prefix(1);
  return name;
}

bool Fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

// "add" and "sub" are of integers, and "adds", "addp" and so on of floating point.
bool IsIntegerArithmetic(std::string_view name) {
  constexpr std::string_view kNames[] = {"add", "sub", "adc", "sbb", "adcx", "adox"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

uint8_t FindLatency(ZydisMnemonic mnemonic, const ProcessorTiming& processor) {
  const std::string_view name = NameWithoutV(mnemonic);
  if (IsIntegerArithmetic(name)) return kDefaultLatency;
  const auto fits = [name](const NamedLatency& latency) { return Fits(latency.name, name); };
  const auto latency = std::find_if(std::begin(kLatencies), std::end(kLatencies), fits);
  if (latency == std::end(kLatencies)) return kDefaultLatency;
  const auto rounded = [](double cycles) { return static_cast<uint8_t>(cycles + 0.5); };
  switch (latency->cycles) {
    case kOfAddition:
      return rounded(processor.add);
    case kOfMultiplication:
      return rounded(processor.multiply);
    default:
      return latency->cycles;
  }
}

bool UsesDivider(ZydisMnemonic mnemonic) {
  const std::string_view name = NameWithoutV(mnemonic);
  return name.starts_with("div") || name.starts_with("idiv") || name.starts_with("sqrt") ||
         name.starts_with("fdiv") || name == "fsqrt";
}

bool MakesZero(ZydisMnemonic mnemonic) {
  constexpr std::string_view kNames[] = {"xor",   "sub",   "pxor",  "xorps", "xorpd",
                                         "psubb", "psubw", "psubd", "psubq"};
  const std::string_view name = NameWithoutV(mnemonic);
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool IsMove(ZydisMnemonic mnemonic) {
  constexpr std::string_view kMoves[] = {
      "mov",     "movzx",    "movsx",    "movsxd",   "movabs", "movaps", "movapd",   "movups",
      "movupd",  "movdqa",   "movdqu",   "movsd",    "movss",  "lddqu",  "movdqa32", "movdqa64",
      "movdqu8", "movdqu16", "movdqu32", "movdqu64", "push",   "pop"};
  const std::string_view name = NameWithoutV(mnemonic);
  return std::find(std::begin(kMoves), std::end(kMoves), name) != std::end(kMoves);
}

}  // namespace hbbp
