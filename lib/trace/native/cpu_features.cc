// DetectCpuFeatures compares the needs of each instruction set of Zydis (kNeeds) with CPUID and
// XCR0. The tracer calls it once when it opens; instruction_class.cc asks for the sets of each
// instruction that it classifies.
#include "trace/native/cpu_features.h"

#include <Zydis/Zydis.h>

#include <cstddef>

#include "base/cpuid.h"

namespace hbbp::trace {
namespace {

enum Word : uint8_t {
  kLeaf1Ecx,
  kLeaf1Edx,
  kLeaf7Ebx,
  kLeaf7Ecx,
  kLeaf7Edx,
  kLeaf7Sub1Eax,
  kExtendedEcx,
  kExtendedEdx,
  kWordCount
};

// XCR0 must have this state enabled.
enum State : uint8_t { kNoState = 0, kAvxState = 0x06, kAvx512State = 0xe6 };

struct Need {
  uint8_t isa_set;
  Word word;
  uint8_t bit;
  State state = kNoState;
};

// Every x86-64 has bits 0 (x87), 25 (SSE) and 26 (SSE2) of leaf 1 EDX.
constexpr Need kNeeds[] = {
    {ZYDIS_ISA_SET_I86, kLeaf1Edx, 0},
    {ZYDIS_ISA_SET_I186, kLeaf1Edx, 0},
    {ZYDIS_ISA_SET_I286REAL, kLeaf1Edx, 0},
    {ZYDIS_ISA_SET_I386, kLeaf1Edx, 0},
    {ZYDIS_ISA_SET_I486, kLeaf1Edx, 0},
    {ZYDIS_ISA_SET_I486REAL, kLeaf1Edx, 0},
    {ZYDIS_ISA_SET_PENTIUMREAL, kLeaf1Edx, 0},
    {ZYDIS_ISA_SET_PPRO, kLeaf1Edx, 0},
    {ZYDIS_ISA_SET_LONGMODE, kLeaf1Edx, 0},
    {ZYDIS_ISA_SET_X87, kLeaf1Edx, 0},
    {ZYDIS_ISA_SET_CMOV, kLeaf1Edx, 15},
    {ZYDIS_ISA_SET_FCMOV, kLeaf1Edx, 15},
    {ZYDIS_ISA_SET_PENTIUMMMX, kLeaf1Edx, 23},
    {ZYDIS_ISA_SET_SSE, kLeaf1Edx, 25},
    {ZYDIS_ISA_SET_SSEMXCSR, kLeaf1Edx, 25},
    {ZYDIS_ISA_SET_SSE2, kLeaf1Edx, 26},
    {ZYDIS_ISA_SET_SSE2MMX, kLeaf1Edx, 26},
    {ZYDIS_ISA_SET_LAHF, kExtendedEcx, 0},
    {ZYDIS_ISA_SET_CMPXCHG16B, kLeaf1Ecx, 13},
    {ZYDIS_ISA_SET_SSE3, kLeaf1Ecx, 0},
    {ZYDIS_ISA_SET_SSE3X87, kLeaf1Ecx, 0},
    {ZYDIS_ISA_SET_SSSE3, kLeaf1Ecx, 9},
    {ZYDIS_ISA_SET_SSSE3MMX, kLeaf1Ecx, 9},
    {ZYDIS_ISA_SET_SSE4, kLeaf1Ecx, 19},
    {ZYDIS_ISA_SET_SSE42, kLeaf1Ecx, 20},
    {ZYDIS_ISA_SET_MOVBE, kLeaf1Ecx, 22},
    {ZYDIS_ISA_SET_POPCNT, kLeaf1Ecx, 23},
    {ZYDIS_ISA_SET_AES, kLeaf1Ecx, 25},
    {ZYDIS_ISA_SET_PCLMULQDQ, kLeaf1Ecx, 1},
    {ZYDIS_ISA_SET_SHA, kLeaf7Ebx, 29},
    {ZYDIS_ISA_SET_GFNI, kLeaf7Ecx, 8},
    {ZYDIS_ISA_SET_ADOX_ADCX, kLeaf7Ebx, 19},
    {ZYDIS_ISA_SET_BMI1, kLeaf7Ebx, 3},
    {ZYDIS_ISA_SET_BMI2, kLeaf7Ebx, 8},
    {ZYDIS_ISA_SET_LZCNT, kExtendedEcx, 5},
    {ZYDIS_ISA_SET_SSE4A, kExtendedEcx, 6},
    {ZYDIS_ISA_SET_TBM, kExtendedEcx, 21},
    {ZYDIS_ISA_SET_AMD3DNOW, kExtendedEdx, 31},
    {ZYDIS_ISA_SET_RTM, kLeaf7Ebx, 11},
    {ZYDIS_ISA_SET_XOP, kExtendedEcx, 11, kAvxState},
    {ZYDIS_ISA_SET_FMA4, kExtendedEcx, 16, kAvxState},
    {ZYDIS_ISA_SET_AVX, kLeaf1Ecx, 28, kAvxState},
    {ZYDIS_ISA_SET_AVXAES, kLeaf1Ecx, 25, kAvxState},
    {ZYDIS_ISA_SET_AVX_GFNI, kLeaf7Ecx, 8, kAvxState},
    {ZYDIS_ISA_SET_F16C, kLeaf1Ecx, 29, kAvxState},
    {ZYDIS_ISA_SET_FMA, kLeaf1Ecx, 12, kAvxState},
    {ZYDIS_ISA_SET_AVX2, kLeaf7Ebx, 5, kAvxState},
    {ZYDIS_ISA_SET_AVX2GATHER, kLeaf7Ebx, 5, kAvxState},
    {ZYDIS_ISA_SET_VAES, kLeaf7Ecx, 9, kAvxState},
    {ZYDIS_ISA_SET_VPCLMULQDQ, kLeaf7Ecx, 10, kAvxState},
    {ZYDIS_ISA_SET_AVX_VNNI, kLeaf7Sub1Eax, 4, kAvxState},
    {ZYDIS_ISA_SET_AVX512F_128, kLeaf7Ebx, 31, kAvx512State},
    {ZYDIS_ISA_SET_AVX512F_128N, kLeaf7Ebx, 16, kAvx512State},
    {ZYDIS_ISA_SET_AVX512F_256, kLeaf7Ebx, 31, kAvx512State},
    {ZYDIS_ISA_SET_AVX512F_512, kLeaf7Ebx, 16, kAvx512State},
    {ZYDIS_ISA_SET_AVX512F_KOP, kLeaf7Ebx, 16, kAvx512State},
    {ZYDIS_ISA_SET_AVX512F_SCALAR, kLeaf7Ebx, 16, kAvx512State},
    {ZYDIS_ISA_SET_AVX512BW_128, kLeaf7Ebx, 30, kAvx512State},
    {ZYDIS_ISA_SET_AVX512BW_128N, kLeaf7Ebx, 30, kAvx512State},
    {ZYDIS_ISA_SET_AVX512BW_256, kLeaf7Ebx, 30, kAvx512State},
    {ZYDIS_ISA_SET_AVX512BW_512, kLeaf7Ebx, 30, kAvx512State},
    {ZYDIS_ISA_SET_AVX512BW_KOP, kLeaf7Ebx, 30, kAvx512State},
    {ZYDIS_ISA_SET_AVX512DQ_128, kLeaf7Ebx, 17, kAvx512State},
    {ZYDIS_ISA_SET_AVX512DQ_128N, kLeaf7Ebx, 17, kAvx512State},
    {ZYDIS_ISA_SET_AVX512DQ_256, kLeaf7Ebx, 17, kAvx512State},
    {ZYDIS_ISA_SET_AVX512DQ_512, kLeaf7Ebx, 17, kAvx512State},
    {ZYDIS_ISA_SET_AVX512DQ_KOP, kLeaf7Ebx, 17, kAvx512State},
    {ZYDIS_ISA_SET_AVX512DQ_SCALAR, kLeaf7Ebx, 17, kAvx512State},
    {ZYDIS_ISA_SET_AVX512CD_128, kLeaf7Ebx, 28, kAvx512State},
    {ZYDIS_ISA_SET_AVX512CD_256, kLeaf7Ebx, 28, kAvx512State},
    {ZYDIS_ISA_SET_AVX512CD_512, kLeaf7Ebx, 28, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_BF16_128, kLeaf7Sub1Eax, 5, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_BF16_256, kLeaf7Sub1Eax, 5, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_BF16_512, kLeaf7Sub1Eax, 5, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_BITALG_128, kLeaf7Ecx, 12, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_BITALG_256, kLeaf7Ecx, 12, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_BITALG_512, kLeaf7Ecx, 12, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_FP16_128, kLeaf7Edx, 23, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_FP16_128N, kLeaf7Edx, 23, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_FP16_256, kLeaf7Edx, 23, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_FP16_512, kLeaf7Edx, 23, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_FP16_SCALAR, kLeaf7Edx, 23, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_GFNI_128, kLeaf7Ecx, 8, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_GFNI_256, kLeaf7Ecx, 8, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_GFNI_512, kLeaf7Ecx, 8, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_IFMA_128, kLeaf7Ebx, 21, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_IFMA_256, kLeaf7Ebx, 21, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_IFMA_512, kLeaf7Ebx, 21, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VAES_128, kLeaf7Ecx, 9, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VAES_256, kLeaf7Ecx, 9, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VAES_512, kLeaf7Ecx, 9, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VBMI2_128, kLeaf7Ecx, 6, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VBMI2_256, kLeaf7Ecx, 6, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VBMI2_512, kLeaf7Ecx, 6, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VBMI_128, kLeaf7Ecx, 1, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VBMI_256, kLeaf7Ecx, 1, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VBMI_512, kLeaf7Ecx, 1, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VNNI_128, kLeaf7Ecx, 11, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VNNI_256, kLeaf7Ecx, 11, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VNNI_512, kLeaf7Ecx, 11, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VP2INTERSECT_128, kLeaf7Edx, 8, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VP2INTERSECT_256, kLeaf7Edx, 8, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VP2INTERSECT_512, kLeaf7Edx, 8, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VPCLMULQDQ_128, kLeaf7Ecx, 10, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VPCLMULQDQ_256, kLeaf7Ecx, 10, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VPCLMULQDQ_512, kLeaf7Ecx, 10, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_128, kLeaf7Ecx, 14, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_256, kLeaf7Ecx, 14, kAvx512State},
    {ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_512, kLeaf7Ecx, 14, kAvx512State},
};
static_assert(ZYDIS_ISA_SET_MAX_VALUE < 256);

constexpr unsigned kOsxsaveBit = 27;

uint64_t EnabledState(const uint32_t* words) {
  if ((words[kLeaf1Ecx] >> kOsxsaveBit & 1) == 0) return 0;
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

void ReadWords(uint32_t* words) {
  const CpuidLeaf features = ReadCpuid(1);
  words[kLeaf1Ecx] = features.ecx;
  words[kLeaf1Edx] = features.edx;
  const CpuidLeaf more = ReadCpuid(7);
  words[kLeaf7Ebx] = more.ebx;
  words[kLeaf7Ecx] = more.ecx;
  words[kLeaf7Edx] = more.edx;
  const uint32_t highest_subleaf = more.eax;
  if (highest_subleaf >= 1) words[kLeaf7Sub1Eax] = ReadCpuid(7, 1).eax;
  const CpuidLeaf extended = ReadCpuid(0x80000001);
  words[kExtendedEcx] = extended.ecx;
  words[kExtendedEdx] = extended.edx;
}

CpuFeatures Detect() {
  uint32_t words[kWordCount] = {};
  ReadWords(words);
  const uint64_t enabled = EnabledState(words);
  CpuFeatures features = {};
  for (const Need& need : kNeeds) {
    const bool has_bit = (words[need.word] >> need.bit & 1) != 0;
    if (has_bit && (enabled & need.state) == need.state) {
      features.runnable_sets[need.isa_set / 64] |= uint64_t{1} << (need.isa_set % 64);
    }
  }
  features.avx512vl = features.CanRun(ZYDIS_ISA_SET_AVX512F_256);
  features.avx512bw = features.CanRun(ZYDIS_ISA_SET_AVX512BW_512);
  features.lahf = features.CanRun(ZYDIS_ISA_SET_LAHF);
  return features;
}

}  // namespace

CpuFeatures DetectCpuFeatures() {
  static const CpuFeatures features = Detect();
  return features;
}

bool IsOrdinarySet(unsigned isa_set) {
  for (const Need& need : kNeeds) {
    if (need.isa_set == isa_set) return true;
  }
  return false;
}

}  // namespace hbbp::trace
