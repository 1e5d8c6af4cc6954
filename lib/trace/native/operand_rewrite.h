// RewriteOperand redirects the memory operand of an encoded instruction to MachineState::operand.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_TRACE_NATIVE_OPERAND_REWRITE_H_
#define HBBP_LIB_TRACE_NATIVE_OPERAND_REWRITE_H_

#include <cstddef>
#include <cstdint>

#include "trace/native/full_decode.h"

namespace hbbp::trace {

inline constexpr size_t kMaxInstructionBytes = 15;

struct RewrittenInstruction {
  uint8_t size = 0;
  uint8_t bytes[kMaxInstructionBytes] = {};
};

// The ModRM memory operand, if there is one, becomes [base + offset of operand]; `base` is one of
// rcx, rdx, rbx, rbp, rsi, rdi. Prefixes without effect on a private operand are dropped, so that
// instructions that differ only in their addresses become equal. Returns false if it cannot be
// encoded.
bool RewriteOperand(const uint8_t* code, const FullDecode& decode, unsigned base,
                    RewrittenInstruction* rewritten);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_OPERAND_REWRITE_H_
