// IsaExtension is the extension of the instruction set that an instruction belongs to.
#ifndef HBBP_LIB_ISA_ISA_EXTENSION_H_
#define HBBP_LIB_ISA_ISA_EXTENSION_H_

#include <cstdint>
#include <string_view>

#include "isa/zydis_decode.h"

namespace hbbp {

enum class IsaExtension : uint8_t {
  kOther,
  kBase,
  kX87,
  kMmx,
  k3dNow,
  kSse,
  kSse2,
  kSse3,
  kSsse3,
  kSse41,
  kSse42,
  kSse4a,
  kAvx,
  kAvx2,
  kFma,
  kF16c,
  kFma4,
  kXop,
  kAvxVnni,
  kAvx512f,
  kAvx512bw,
  kAvx512cd,
  kAvx512dq,
  kAvx512er,
  kAvx512pf,
  kAvx5124fmaps,
  kAvx5124vnniw,
  kAvx512Bf16,
  kAvx512Bitalg,
  kAvx512Fp16,
  kAvx512Ifma,
  kAvx512Vbmi,
  kAvx512Vbmi2,
  kAvx512Vnni,
  kAvx512Vp2intersect,
  kAvx512Vpopcntdq,
  kAmxTile,
  kAmxInt8,
  kAmxBf16,
  kKnc,
  kBmi1,
  kBmi2,
  kTbm,
  kLzcnt,
  kPopcnt,
  kMovbe,
  kAdx,
  kAes,
  kVaes,
  kPclmulqdq,
  kVpclmulqdq,
  kGfni,
  kSha,
  kKeyLocker,
  kPadlock,
  kRdrand,
  kRdseed,
  kPrefetchw,
  kPrefetchwt1,
  kClflush,
  kClflushopt,
  kClwb,
  kCldemote,
  kClzero,
  kMovdir,
  kEnqcmd,
  kFxsr,
  kXsave,
  kRtm,
  kCet,
  kMpx,
  kMonitor,
  kWaitpkg,
  kUintr,
  kSerialize,
  kFsgsbase,
  kRdtscp,
  kRdpid,
  kPku,
  kLwp,
  kVirtualization,
  kSgx,
  kSystem,
  kCount,
};

// Returns a name such as "base", "sse4.1" or "avx512bw".
std::string_view NameOf(IsaExtension extension);

IsaExtension ExtensionOf(const ZydisDecodedInstruction& instruction);

// Returns whether the instruction also needs AVX512VL: it is one of AVX-512 on 128 or 256 bits.
bool NeedsAvx512vl(const ZydisDecodedInstruction& instruction);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_ISA_EXTENSION_H_
