// InstructionClass says how an instruction without a handler of the interpreter is executed.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_TRACE_NATIVE_INSTRUCTION_CLASS_H_
#define HBBP_LIB_TRACE_NATIVE_INSTRUCTION_CLASS_H_

#include <cstdint>

#include "trace/native/full_decode.h"

namespace hbbp::trace {

enum class InstructionClass : uint8_t {
  kRefused,         // not even its effects are known
  kNoEffect,        // hints, fences and prefetches change nothing that the interpreter can see
  kUnknownResults,  // its effects are known, its results are not
  kOrdinary,        // it runs natively
  // A function of state_functions.h executes these.
  kLoadMxcsr,
  kStoreMxcsr,
  kClearUpperVectors,
  kClearVectors,
  kSetDirection,
  kClearDirection,
};

InstructionClass Classify(const FullDecode& decode);

// Returns whether it is a bit test whose bit number is a register, so that it reaches beyond its
// memory operand.
bool IsBitString(const FullDecode& decode);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_INSTRUCTION_CLASS_H_
