// The tables below map each instruction set of Zydis to an IsaExtension and its name. ExtensionOf
// looks an instruction up in them and corrects the few that Zydis puts into another set than the
// manuals do.
#include "isa/isa_extension.h"

#include <array>

namespace hbbp {
namespace {

constexpr std::string_view kNames[] = {
    "other",
    "base",
    "x87",
    "mmx",
    "3dnow",
    "sse",
    "sse2",
    "sse3",
    "ssse3",
    "sse4.1",
    "sse4.2",
    "sse4a",
    "avx",
    "avx2",
    "fma",
    "f16c",
    "fma4",
    "xop",
    "avx-vnni",
    "avx512f",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512er",
    "avx512pf",
    "avx512-4fmaps",
    "avx512-4vnniw",
    "avx512-bf16",
    "avx512-bitalg",
    "avx512-fp16",
    "avx512-ifma",
    "avx512-vbmi",
    "avx512-vbmi2",
    "avx512-vnni",
    "avx512-vp2intersect",
    "avx512-vpopcntdq",
    "amx-tile",
    "amx-int8",
    "amx-bf16",
    "knc",
    "bmi1",
    "bmi2",
    "tbm",
    "lzcnt",
    "popcnt",
    "movbe",
    "adx",
    "aes",
    "vaes",
    "pclmulqdq",
    "vpclmulqdq",
    "gfni",
    "sha",
    "key-locker",
    "padlock",
    "rdrand",
    "rdseed",
    "prefetchw",
    "prefetchwt1",
    "clflush",
    "clflushopt",
    "clwb",
    "cldemote",
    "clzero",
    "movdir",
    "enqcmd",
    "fxsr",
    "xsave",
    "rtm",
    "cet",
    "mpx",
    "monitor",
    "waitpkg",
    "uintr",
    "serialize",
    "fsgsbase",
    "rdtscp",
    "rdpid",
    "pku",
    "lwp",
    "virtualization",
    "sgx",
    "system",
};
static_assert(std::size(kNames) == static_cast<size_t>(IsaExtension::kCount));

struct SetEntry {
  ZydisISASet set;
  IsaExtension extension;
  bool is_vl = false;
};

// Sets that are not listed belong to every 64-bit processor.
constexpr SetEntry kSets[] = {
    {ZYDIS_ISA_SET_ADOX_ADCX, IsaExtension::kAdx},
    {ZYDIS_ISA_SET_AES, IsaExtension::kAes},
    {ZYDIS_ISA_SET_AMD, IsaExtension::kSystem},
    {ZYDIS_ISA_SET_AMD3DNOW, IsaExtension::k3dNow},
    {ZYDIS_ISA_SET_AMD_INVLPGB, IsaExtension::kSystem},
    {ZYDIS_ISA_SET_AMX_BF16, IsaExtension::kAmxBf16},
    {ZYDIS_ISA_SET_AMX_INT8, IsaExtension::kAmxInt8},
    {ZYDIS_ISA_SET_AMX_TILE, IsaExtension::kAmxTile},
    {ZYDIS_ISA_SET_AVX, IsaExtension::kAvx},
    {ZYDIS_ISA_SET_AVX2, IsaExtension::kAvx2},
    {ZYDIS_ISA_SET_AVX2GATHER, IsaExtension::kAvx2},
    {ZYDIS_ISA_SET_AVX512BW_128, IsaExtension::kAvx512bw, true},
    {ZYDIS_ISA_SET_AVX512BW_128N, IsaExtension::kAvx512bw},
    {ZYDIS_ISA_SET_AVX512BW_256, IsaExtension::kAvx512bw, true},
    {ZYDIS_ISA_SET_AVX512BW_512, IsaExtension::kAvx512bw},
    {ZYDIS_ISA_SET_AVX512BW_KOP, IsaExtension::kAvx512bw},
    {ZYDIS_ISA_SET_AVX512CD_128, IsaExtension::kAvx512cd, true},
    {ZYDIS_ISA_SET_AVX512CD_256, IsaExtension::kAvx512cd, true},
    {ZYDIS_ISA_SET_AVX512CD_512, IsaExtension::kAvx512cd},
    {ZYDIS_ISA_SET_AVX512DQ_128, IsaExtension::kAvx512dq, true},
    {ZYDIS_ISA_SET_AVX512DQ_128N, IsaExtension::kAvx512dq},
    {ZYDIS_ISA_SET_AVX512DQ_256, IsaExtension::kAvx512dq, true},
    {ZYDIS_ISA_SET_AVX512DQ_512, IsaExtension::kAvx512dq},
    {ZYDIS_ISA_SET_AVX512DQ_KOP, IsaExtension::kAvx512dq},
    {ZYDIS_ISA_SET_AVX512DQ_SCALAR, IsaExtension::kAvx512dq},
    {ZYDIS_ISA_SET_AVX512ER_512, IsaExtension::kAvx512er},
    {ZYDIS_ISA_SET_AVX512ER_SCALAR, IsaExtension::kAvx512er},
    {ZYDIS_ISA_SET_AVX512F_128, IsaExtension::kAvx512f, true},
    {ZYDIS_ISA_SET_AVX512F_128N, IsaExtension::kAvx512f},
    {ZYDIS_ISA_SET_AVX512F_256, IsaExtension::kAvx512f, true},
    {ZYDIS_ISA_SET_AVX512F_512, IsaExtension::kAvx512f},
    {ZYDIS_ISA_SET_AVX512F_KOP, IsaExtension::kAvx512f},
    {ZYDIS_ISA_SET_AVX512F_SCALAR, IsaExtension::kAvx512f},
    {ZYDIS_ISA_SET_AVX512PF_512, IsaExtension::kAvx512pf},
    {ZYDIS_ISA_SET_AVX512_4FMAPS_512, IsaExtension::kAvx5124fmaps},
    {ZYDIS_ISA_SET_AVX512_4FMAPS_SCALAR, IsaExtension::kAvx5124fmaps},
    {ZYDIS_ISA_SET_AVX512_4VNNIW_512, IsaExtension::kAvx5124vnniw},
    {ZYDIS_ISA_SET_AVX512_BF16_128, IsaExtension::kAvx512Bf16, true},
    {ZYDIS_ISA_SET_AVX512_BF16_256, IsaExtension::kAvx512Bf16, true},
    {ZYDIS_ISA_SET_AVX512_BF16_512, IsaExtension::kAvx512Bf16},
    {ZYDIS_ISA_SET_AVX512_BITALG_128, IsaExtension::kAvx512Bitalg, true},
    {ZYDIS_ISA_SET_AVX512_BITALG_256, IsaExtension::kAvx512Bitalg, true},
    {ZYDIS_ISA_SET_AVX512_BITALG_512, IsaExtension::kAvx512Bitalg},
    {ZYDIS_ISA_SET_AVX512_FP16_128, IsaExtension::kAvx512Fp16, true},
    {ZYDIS_ISA_SET_AVX512_FP16_128N, IsaExtension::kAvx512Fp16},
    {ZYDIS_ISA_SET_AVX512_FP16_256, IsaExtension::kAvx512Fp16, true},
    {ZYDIS_ISA_SET_AVX512_FP16_512, IsaExtension::kAvx512Fp16},
    {ZYDIS_ISA_SET_AVX512_FP16_SCALAR, IsaExtension::kAvx512Fp16},
    {ZYDIS_ISA_SET_AVX512_GFNI_128, IsaExtension::kGfni, true},
    {ZYDIS_ISA_SET_AVX512_GFNI_256, IsaExtension::kGfni, true},
    {ZYDIS_ISA_SET_AVX512_GFNI_512, IsaExtension::kGfni},
    {ZYDIS_ISA_SET_AVX512_IFMA_128, IsaExtension::kAvx512Ifma, true},
    {ZYDIS_ISA_SET_AVX512_IFMA_256, IsaExtension::kAvx512Ifma, true},
    {ZYDIS_ISA_SET_AVX512_IFMA_512, IsaExtension::kAvx512Ifma},
    {ZYDIS_ISA_SET_AVX512_VAES_128, IsaExtension::kVaes, true},
    {ZYDIS_ISA_SET_AVX512_VAES_256, IsaExtension::kVaes, true},
    {ZYDIS_ISA_SET_AVX512_VAES_512, IsaExtension::kVaes},
    {ZYDIS_ISA_SET_AVX512_VBMI2_128, IsaExtension::kAvx512Vbmi2, true},
    {ZYDIS_ISA_SET_AVX512_VBMI2_256, IsaExtension::kAvx512Vbmi2, true},
    {ZYDIS_ISA_SET_AVX512_VBMI2_512, IsaExtension::kAvx512Vbmi2},
    {ZYDIS_ISA_SET_AVX512_VBMI_128, IsaExtension::kAvx512Vbmi, true},
    {ZYDIS_ISA_SET_AVX512_VBMI_256, IsaExtension::kAvx512Vbmi, true},
    {ZYDIS_ISA_SET_AVX512_VBMI_512, IsaExtension::kAvx512Vbmi},
    {ZYDIS_ISA_SET_AVX512_VNNI_128, IsaExtension::kAvx512Vnni, true},
    {ZYDIS_ISA_SET_AVX512_VNNI_256, IsaExtension::kAvx512Vnni, true},
    {ZYDIS_ISA_SET_AVX512_VNNI_512, IsaExtension::kAvx512Vnni},
    {ZYDIS_ISA_SET_AVX512_VP2INTERSECT_128, IsaExtension::kAvx512Vp2intersect, true},
    {ZYDIS_ISA_SET_AVX512_VP2INTERSECT_256, IsaExtension::kAvx512Vp2intersect, true},
    {ZYDIS_ISA_SET_AVX512_VP2INTERSECT_512, IsaExtension::kAvx512Vp2intersect},
    {ZYDIS_ISA_SET_AVX512_VPCLMULQDQ_128, IsaExtension::kVpclmulqdq, true},
    {ZYDIS_ISA_SET_AVX512_VPCLMULQDQ_256, IsaExtension::kVpclmulqdq, true},
    {ZYDIS_ISA_SET_AVX512_VPCLMULQDQ_512, IsaExtension::kVpclmulqdq},
    {ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_128, IsaExtension::kAvx512Vpopcntdq, true},
    {ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_256, IsaExtension::kAvx512Vpopcntdq, true},
    {ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_512, IsaExtension::kAvx512Vpopcntdq},
    {ZYDIS_ISA_SET_AVXAES, IsaExtension::kAes},
    {ZYDIS_ISA_SET_AVX_GFNI, IsaExtension::kGfni},
    {ZYDIS_ISA_SET_AVX_VNNI, IsaExtension::kAvxVnni},
    {ZYDIS_ISA_SET_BMI1, IsaExtension::kBmi1},
    {ZYDIS_ISA_SET_BMI2, IsaExtension::kBmi2},
    {ZYDIS_ISA_SET_CET, IsaExtension::kCet},
    {ZYDIS_ISA_SET_CLDEMOTE, IsaExtension::kCldemote},
    {ZYDIS_ISA_SET_CLFLUSHOPT, IsaExtension::kClflushopt},
    {ZYDIS_ISA_SET_CLFSH, IsaExtension::kClflush},
    {ZYDIS_ISA_SET_CLWB, IsaExtension::kClwb},
    {ZYDIS_ISA_SET_CLZERO, IsaExtension::kClzero},
    {ZYDIS_ISA_SET_CMOV, IsaExtension::kBase},
    {ZYDIS_ISA_SET_CMPXCHG16B, IsaExtension::kBase},
    {ZYDIS_ISA_SET_ENQCMD, IsaExtension::kEnqcmd},
    {ZYDIS_ISA_SET_F16C, IsaExtension::kF16c},
    {ZYDIS_ISA_SET_FAT_NOP, IsaExtension::kBase},
    {ZYDIS_ISA_SET_FCMOV, IsaExtension::kX87},
    {ZYDIS_ISA_SET_FMA, IsaExtension::kFma},
    {ZYDIS_ISA_SET_FMA4, IsaExtension::kFma4},
    {ZYDIS_ISA_SET_FXSAVE, IsaExtension::kFxsr},
    {ZYDIS_ISA_SET_FXSAVE64, IsaExtension::kFxsr},
    {ZYDIS_ISA_SET_GFNI, IsaExtension::kGfni},
    {ZYDIS_ISA_SET_HRESET, IsaExtension::kSystem},
    {ZYDIS_ISA_SET_I186, IsaExtension::kBase},
    {ZYDIS_ISA_SET_I286PROTECTED, IsaExtension::kSystem},
    {ZYDIS_ISA_SET_I286REAL, IsaExtension::kBase},
    {ZYDIS_ISA_SET_I386, IsaExtension::kBase},
    {ZYDIS_ISA_SET_I486, IsaExtension::kBase},
    {ZYDIS_ISA_SET_I486REAL, IsaExtension::kBase},
    {ZYDIS_ISA_SET_I86, IsaExtension::kBase},
    {ZYDIS_ISA_SET_INVPCID, IsaExtension::kSystem},
    {ZYDIS_ISA_SET_KEYLOCKER, IsaExtension::kKeyLocker},
    {ZYDIS_ISA_SET_KEYLOCKER_WIDE, IsaExtension::kKeyLocker},
    {ZYDIS_ISA_SET_KNCE, IsaExtension::kKnc},
    {ZYDIS_ISA_SET_KNCJKBR, IsaExtension::kKnc},
    {ZYDIS_ISA_SET_KNCSTREAM, IsaExtension::kKnc},
    {ZYDIS_ISA_SET_KNCV, IsaExtension::kKnc},
    {ZYDIS_ISA_SET_KNC_MISC, IsaExtension::kKnc},
    {ZYDIS_ISA_SET_KNC_PF_HINT, IsaExtension::kKnc},
    {ZYDIS_ISA_SET_LAHF, IsaExtension::kBase},
    {ZYDIS_ISA_SET_LONGMODE, IsaExtension::kBase},
    {ZYDIS_ISA_SET_LWP, IsaExtension::kLwp},
    {ZYDIS_ISA_SET_LZCNT, IsaExtension::kLzcnt},
    {ZYDIS_ISA_SET_MCOMMIT, IsaExtension::kSystem},
    {ZYDIS_ISA_SET_MONITOR, IsaExtension::kMonitor},
    {ZYDIS_ISA_SET_MONITORX, IsaExtension::kMonitor},
    {ZYDIS_ISA_SET_MOVBE, IsaExtension::kMovbe},
    {ZYDIS_ISA_SET_MOVDIR, IsaExtension::kMovdir},
    {ZYDIS_ISA_SET_MPX, IsaExtension::kMpx},
    {ZYDIS_ISA_SET_PADLOCK_ACE, IsaExtension::kPadlock},
    {ZYDIS_ISA_SET_PADLOCK_PHE, IsaExtension::kPadlock},
    {ZYDIS_ISA_SET_PADLOCK_PMM, IsaExtension::kPadlock},
    {ZYDIS_ISA_SET_PADLOCK_RNG, IsaExtension::kPadlock},
    {ZYDIS_ISA_SET_PAUSE, IsaExtension::kBase},
    {ZYDIS_ISA_SET_PCLMULQDQ, IsaExtension::kPclmulqdq},
    {ZYDIS_ISA_SET_PCONFIG, IsaExtension::kSystem},
    {ZYDIS_ISA_SET_PENTIUMMMX, IsaExtension::kMmx},
    {ZYDIS_ISA_SET_PENTIUMREAL, IsaExtension::kBase},
    {ZYDIS_ISA_SET_PKU, IsaExtension::kPku},
    {ZYDIS_ISA_SET_POPCNT, IsaExtension::kPopcnt},
    {ZYDIS_ISA_SET_PPRO, IsaExtension::kBase},
    {ZYDIS_ISA_SET_PREFETCHWT1, IsaExtension::kPrefetchwt1},
    {ZYDIS_ISA_SET_PREFETCH_NOP, IsaExtension::kPrefetchw},
    {ZYDIS_ISA_SET_PT, IsaExtension::kSystem},
    {ZYDIS_ISA_SET_RDPID, IsaExtension::kRdpid},
    {ZYDIS_ISA_SET_RDPMC, IsaExtension::kBase},
    {ZYDIS_ISA_SET_RDPRU, IsaExtension::kSystem},
    {ZYDIS_ISA_SET_RDRAND, IsaExtension::kRdrand},
    {ZYDIS_ISA_SET_RDSEED, IsaExtension::kRdseed},
    {ZYDIS_ISA_SET_RDTSCP, IsaExtension::kRdtscp},
    {ZYDIS_ISA_SET_RDWRFSGS, IsaExtension::kFsgsbase},
    {ZYDIS_ISA_SET_RTM, IsaExtension::kRtm},
    {ZYDIS_ISA_SET_SERIALIZE, IsaExtension::kSerialize},
    {ZYDIS_ISA_SET_SGX, IsaExtension::kSgx},
    {ZYDIS_ISA_SET_SGX_ENCLV, IsaExtension::kSgx},
    {ZYDIS_ISA_SET_SHA, IsaExtension::kSha},
    {ZYDIS_ISA_SET_SMAP, IsaExtension::kSystem},
    {ZYDIS_ISA_SET_SMX, IsaExtension::kSystem},
    {ZYDIS_ISA_SET_SNP, IsaExtension::kVirtualization},
    {ZYDIS_ISA_SET_SSE, IsaExtension::kSse},
    {ZYDIS_ISA_SET_SSE2, IsaExtension::kSse2},
    {ZYDIS_ISA_SET_SSE2MMX, IsaExtension::kSse2},
    {ZYDIS_ISA_SET_SSE3, IsaExtension::kSse3},
    {ZYDIS_ISA_SET_SSE3X87, IsaExtension::kSse3},
    {ZYDIS_ISA_SET_SSE4, IsaExtension::kSse41},
    {ZYDIS_ISA_SET_SSE42, IsaExtension::kSse42},
    {ZYDIS_ISA_SET_SSE4A, IsaExtension::kSse4a},
    {ZYDIS_ISA_SET_SSEMXCSR, IsaExtension::kSse},
    {ZYDIS_ISA_SET_SSE_PREFETCH, IsaExtension::kSse},
    {ZYDIS_ISA_SET_SSSE3, IsaExtension::kSsse3},
    {ZYDIS_ISA_SET_SSSE3MMX, IsaExtension::kSsse3},
    {ZYDIS_ISA_SET_SVM, IsaExtension::kVirtualization},
    {ZYDIS_ISA_SET_TBM, IsaExtension::kTbm},
    {ZYDIS_ISA_SET_TDX, IsaExtension::kVirtualization},
    {ZYDIS_ISA_SET_TSX_LDTRK, IsaExtension::kRtm},
    {ZYDIS_ISA_SET_UINTR, IsaExtension::kUintr},
    {ZYDIS_ISA_SET_VAES, IsaExtension::kVaes},
    {ZYDIS_ISA_SET_VMFUNC, IsaExtension::kVirtualization},
    {ZYDIS_ISA_SET_VPCLMULQDQ, IsaExtension::kVpclmulqdq},
    {ZYDIS_ISA_SET_VTX, IsaExtension::kVirtualization},
    {ZYDIS_ISA_SET_WAITPKG, IsaExtension::kWaitpkg},
    {ZYDIS_ISA_SET_X87, IsaExtension::kX87},
    {ZYDIS_ISA_SET_XOP, IsaExtension::kXop},
    {ZYDIS_ISA_SET_XSAVE, IsaExtension::kXsave},
    {ZYDIS_ISA_SET_XSAVEC, IsaExtension::kXsave},
    {ZYDIS_ISA_SET_XSAVEOPT, IsaExtension::kXsave},
    {ZYDIS_ISA_SET_XSAVES, IsaExtension::kXsave},
};

struct SetTraits {
  IsaExtension extension = IsaExtension::kOther;
  bool is_vl = false;
};

consteval auto MakeSetTable() {
  std::array<SetTraits, ZYDIS_ISA_SET_MAX_VALUE + 1> table{};
  for (const SetEntry& entry : kSets) table[entry.set] = {entry.extension, entry.is_vl};
  return table;
}

constexpr auto kSetTable = MakeSetTable();

// Recognizes the instructions on MMX registers that came with SSE; Zydis has them in the set of
// MMX.
bool IsSseOnMmxRegisters(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MOVNTQ:
    case ZYDIS_MNEMONIC_PAVGB:
    case ZYDIS_MNEMONIC_PAVGW:
    case ZYDIS_MNEMONIC_PEXTRW:
    case ZYDIS_MNEMONIC_PINSRW:
    case ZYDIS_MNEMONIC_PMAXSW:
    case ZYDIS_MNEMONIC_PMAXUB:
    case ZYDIS_MNEMONIC_PMINSW:
    case ZYDIS_MNEMONIC_PMINUB:
    case ZYDIS_MNEMONIC_PMOVMSKB:
    case ZYDIS_MNEMONIC_PMULHUW:
    case ZYDIS_MNEMONIC_PSADBW:
    case ZYDIS_MNEMONIC_PSHUFW:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view NameOf(IsaExtension extension) { return kNames[static_cast<size_t>(extension)]; }

IsaExtension ExtensionOf(const ZydisDecodedInstruction& instruction) {
  const IsaExtension extension = kSetTable[instruction.meta.isa_set].extension;
  if (extension == IsaExtension::kMmx && IsSseOnMmxRegisters(instruction.mnemonic)) {
    return IsaExtension::kSse;
  }
  // Zydis has fcomi in the set that came with the Pentium Pro, where cmov is too.
  const bool is_x87 = instruction.meta.isa_ext == ZYDIS_ISA_EXT_X87;
  return is_x87 && extension == IsaExtension::kBase ? IsaExtension::kX87 : extension;
}

bool NeedsAvx512vl(const ZydisDecodedInstruction& instruction) {
  return kSetTable[instruction.meta.isa_set].is_vl;
}

}  // namespace hbbp
