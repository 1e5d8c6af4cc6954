// Decodes what AMD's instruction-based sampling knows of a sampled fetch or op.
//
// The kernel hands the registers over as raw data of a sample: the word of capabilities, then the
// registers in the order of their numbers (IBS_OP_CTL, _RIP, _DATA, _DATA2, _DATA3, IBS_DC_LINADDR,
// IBS_DC_PHYSADDR, then where there are, the branch target and IBS_OP_DATA4; IBS_FETCH_CTL,
// _LINADDR, _PHYSADDR, then IC_IBS_EXTD_CTL). Fields are those of the Processor Programming
// References for families 10h to 1Ah. Bits that a family reserves are decoded as on the others,
// without a mask: what families 10h, 12h and 14h have in them was not tested
// (docs/reference/hardware.md).
#ifndef HBBP_LIB_PERF_IBS_H_
#define HBBP_LIB_PERF_IBS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "events/ibs_sample.h"
#include "perf/byte_order.h"

namespace hbbp {

// IbsErrata says which registers of a processor are wrong, by AMD's revision guides.
struct IbsErrata {
  // 1293: of software prefetches, and of misses that found the line underway, what is said of
  // anything beyond the L1 data cache is that of other ops.
  bool has_1293 = false;
};

constexpr IbsErrata FindIbsErrata(unsigned family, unsigned model) {
  return {family == 0x19 && model < 0x10};
}
// `cpu_id` is the processor as perf spells it: "AuthenticAMD,25,1,1", with or without the last.
IbsErrata IbsErrataOf(std::string_view cpu_id);

// `raw` is the raw data of a sample. Both return nothing if it is too short for the registers that
// every family has.
std::optional<IbsOp> DecodeIbsOp(std::span<const uint8_t> raw, ByteOrder order,
                                 IbsErrata errata = {});
std::optional<IbsFetch> DecodeIbsFetch(std::span<const uint8_t> raw, ByteOrder order);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_IBS_H_
