// Decodes what AMD's instruction-based sampling knows of a sampled fetch or op.
//
// The kernel hands the registers over as raw data of a sample: the word of capabilities, then the
// registers in the order of their numbers (IBS_OP_CTL, _RIP, _DATA, _DATA2, _DATA3, IBS_DC_LINADDR,
// IBS_DC_PHYSADDR, then where there are, the branch target and IBS_OP_DATA4; IBS_FETCH_CTL,
// _LINADDR, _PHYSADDR, then IC_IBS_EXTD_CTL). Fields are those of the Processor Programming
// References for families 10h to 1Ah.
#ifndef HBBP_LIB_PERF_IBS_H_
#define HBBP_LIB_PERF_IBS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "events/ibs_sample.h"
#include "perf/byte_order.h"

namespace hbbp {

// IbsQuirks says which registers and bits of a processor do not mean what they mean on others.
struct IbsQuirks {
  // Erratum 1293 of AMD's revision guides: of software prefetches, and of misses that found the
  // line underway, what is said of anything beyond the L1 data cache is that of other ops.
  bool has_1293 = false;
  // Families 10h, 12h and 14h reserve bits that others have.
  uint8_t family = 0;
};

constexpr IbsQuirks FindIbsQuirks(unsigned family, unsigned model) {
  return {family == 0x19 && model < 0x10, static_cast<uint8_t>(family)};
}
// `cpu_id` is the processor as perf spells it: "AuthenticAMD,25,1,1", with or without the last.
IbsQuirks IbsQuirksOf(const std::string& cpu_id);

// `raw` is the raw data of a sample. Both return nothing if it is too short for the registers that
// every family has.
std::optional<IbsOp> DecodeIbsOp(std::span<const uint8_t> raw, ByteOrder order,
                                 IbsQuirks quirks = {});
std::optional<IbsFetch> DecodeIbsFetch(std::span<const uint8_t> raw, ByteOrder order);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_IBS_H_
