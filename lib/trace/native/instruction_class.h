// What becomes of an instruction that the interpreter has no handler for.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_TRACE_NATIVE_INSTRUCTION_CLASS_H_
#define HBBP_LIB_TRACE_NATIVE_INSTRUCTION_CLASS_H_

#include <cstdint>

#include "trace/native/full_decode.h"

namespace hbbp::trace {

enum class InstructionClass : uint8_t {
  kRefused,         // not even its effects are known
  kNoEffect,        // hints, fences, prefetches: nothing that the interpreter can see
  kUnknownResults,  // its effects are known, its results are not
  kOrdinary,        // runs natively
  // See state_functions.h.
  kLoadMxcsr,
  kStoreMxcsr,
  kClearUpperVectors,
  kClearVectors,
  kSetDirection,
  kClearDirection,
};

InstructionClass Classify(const FullDecode& decode);

// A bit test whose bit number is a register: it reaches beyond its memory operand.
bool IsBitString(const FullDecode& decode);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_INSTRUCTION_CLASS_H_
