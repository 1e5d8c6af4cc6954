// The plain integer and SSE instructions that make up most code, decoded by one table look-up
// instead of a full decoder: DecodeControlFlow is the inner loop of every block map.
#ifndef HBBP_LIB_ISA_COMMON_FORMS_H_
#define HBBP_LIB_ISA_COMMON_FORMS_H_

#include <cstddef>
#include <cstdint>

#include "isa/branch_kind.h"

namespace hbbp {

// REX, two opcode bytes, ModRM, SIB, four bytes of displacement, four of immediate.
inline constexpr size_t kMaxCommonFormLength = 13;

// Reads at most kMaxCommonFormLength bytes, which must be readable. False says nothing about the
// bytes: a full decoder has to look at them. True is what a full decoder would say too, which
// common_forms_test proves for every encoding.
bool DecodeCommonForm(const uint8_t* code, uint64_t address, ControlFlow* flow);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_COMMON_FORMS_H_
