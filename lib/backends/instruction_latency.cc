// FindLatency looks up kLatencies, and FindBlockingCycles kBlocking: what has others wait, and what
// microcode executes. Both are of mnemonics, for operands in registers. Numbers without a name are
// what most processors of the last ten years take.
#include "backends/instruction_latency.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace hbbp {
namespace {

// These latencies are measured, and no number of cycles.
constexpr uint8_t kOfLongMultiplication = 249;
constexpr uint8_t kOfVectorMultiplication = 250;
constexpr uint8_t kOfBitScan = 251;
constexpr uint8_t kOfX87 = 252;
constexpr uint8_t kOfTransfer = 253;
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
    {"bsf", kOfBitScan},
    {"bsr", kOfBitScan},
    {"popcnt", kOfBitScan},
    {"lzcnt", kOfBitScan},
    {"tzcnt", kOfBitScan},
    {"crc32", 3},
    {"pdep", 3},
    {"pext", 3},
    {"shld", 2},
    {"shrd", 2},
    // Those that do not lock memory.
    {"cmpxchg*", 8},
    {"xadd", 2},
    // Between vector and general registers.
    {"movd", kOfTransfer},
    {"movq", kOfTransfer},
    {"movmsk*", kOfTransfer},
    {"pmovmskb", kOfTransfer},
    {"pextr*", kOfTransfer},
    {"pinsr*", kOfTransfer},
    {"kmov*", kOfTransfer},
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
    {"rcp*", 4},
    {"rsqrt*", 4},
    {"cvt*", 5},
    {"haddp*", 6},
    {"dpp*", 12},
    // Vectors of integers.
    {"pmulld", kOfLongMultiplication},
    {"pmul*", kOfVectorMultiplication},
    {"pmadd*", kOfVectorMultiplication},
    {"psadbw", 3},
    {"mpsadbw", 5},
    {"phminposuw", 4},
    {"pcmpistr*", 6},
    {"pcmpestr*", 10},
    {"pcompress*", 5},
    {"pexpand*", 5},
    {"aes*", 4},
    {"pclmul*", 5},
    {"sha*", 4},
    {"perm*", 3},
    {"gather*", 20},
    {"pgather*", 20},
    // x87.
    {"fadd*", kOfX87},
    {"fsub*", kOfX87},
    {"fmul*", kOfX87},
    {"fiadd", kOfX87},
    {"fisub*", kOfX87},
    {"fimul", kOfX87},
    {"frndint", 4},
    {"fdiv*", 15},
    {"fsqrt", 20},
};

// Of processors of the last ten years some take half as long and some twice; under a hypervisor,
// cpuid takes more than ten times as long.
struct Blocking {
  std::string_view name;
  uint16_t cycles;
};
constexpr Blocking kBlocking[] = {
    // What orders others.
    {"lfence", 10},
    {"mfence", 40},
    {"serialize", 100},
    {"cpuid", 150},
    // The processor's own state, and other devices.
    {"rdtsc", 30},
    {"rdtscp", 45},
    {"rdpmc", 30},
    {"xgetbv", 20},
    {"rdrand", 150},
    {"rdseed", 300},
    {"clflush", 100},
    {"popf*", 18},
    {"fxsave*", 60},
    {"fxrstor*", 60},
    {"xsave*", 80},
    {"xrstor*", 80},
    {"fninit", 80},
    {"fnclex", 15},
    // Microcode.
    {"enter", 12},
    {"pcmpestr*", 3},
    {"pcmpistr*", 2},
    {"f2xm1", 50},
    {"fbld", 50},
    {"fbstp", 150},
    {"fcos", 50},
    {"fpatan", 100},
    {"fprem*", 15},
    {"fptan", 90},
    {"fsincos", 80},
    {"fsin", 50},
    {"fyl2x*", 50},
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
    case kOfX87:
      return rounded(processor.add_x87);
    case kOfBitScan:
      return rounded(processor.bit_scan);
    case kOfVectorMultiplication:
      return rounded(processor.multiply_vector);
    case kOfLongMultiplication:
      return rounded(processor.multiply_vector * (processor.multiply_vector < 4 ? 1 : 2));
    case kOfTransfer:
      return rounded(processor.transfer);
    default:
      return latency->cycles;
  }
}

uint16_t FindBlockingCycles(ZydisMnemonic mnemonic, const ProcessorTiming& processor) {
  if (mnemonic == ZYDIS_MNEMONIC_PAUSE) return static_cast<uint16_t>(processor.pause + 0.5);
  const std::string_view name = NameWithoutV(mnemonic);
  const auto fits = [name](const Blocking& blocking) { return Fits(blocking.name, name); };
  const auto blocking = std::find_if(std::begin(kBlocking), std::end(kBlocking), fits);
  return blocking == std::end(kBlocking) ? 0 : blocking->cycles;
}

bool WaitsForOthers(ZydisMnemonic mnemonic) {
  constexpr ZydisMnemonic kAll[] = {ZYDIS_MNEMONIC_LFENCE, ZYDIS_MNEMONIC_MFENCE,
                                    ZYDIS_MNEMONIC_CPUID, ZYDIS_MNEMONIC_RDTSCP,
                                    ZYDIS_MNEMONIC_SERIALIZE};
  return std::find(std::begin(kAll), std::end(kAll), mnemonic) != std::end(kAll);
}

bool IsTransfer(ZydisMnemonic mnemonic) {
  const std::string_view name = NameWithoutV(mnemonic);
  const auto fits = [name](const NamedLatency& latency) {
    return latency.cycles == kOfTransfer && Fits(latency.name, name);
  };
  return std::any_of(std::begin(kLatencies), std::end(kLatencies), fits);
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

bool IsExtension(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_MOVZX || mnemonic == ZYDIS_MNEMONIC_MOVSX ||
         mnemonic == ZYDIS_MNEMONIC_MOVSXD;
}

}  // namespace hbbp
