// DecodeCommonForm decodes the plain integer and SSE instructions that make up most code by one
// table look-up instead of a full decoder, because DecodeControlFlow is the inner loop of every
// block map.
#ifndef HBBP_LIB_ISA_COMMON_FORMS_H_
#define HBBP_LIB_ISA_COMMON_FORMS_H_

#include <cstddef>
#include <cstdint>

#include "isa/branch_kind.h"

namespace hbbp {

// The longest form has REX, two opcode bytes, ModRM, SIB, four bytes of displacement and four of
// immediate.
inline constexpr size_t kMaxCommonFormLength = 13;

// Reads at most kMaxCommonFormLength bytes, which must be readable. Returns false if a full decoder
// has to decode the bytes. If it returns true, a full decoder would give the same result, which
// common_forms_test proves for every encoding.
bool DecodeCommonForm(const uint8_t* code, uint64_t address, ControlFlow* flow);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_COMMON_FORMS_H_
