// Builds the code of a native stub.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_TRACE_NATIVE_STUB_BUILDER_H_
#define HBBP_LIB_TRACE_NATIVE_STUB_BUILDER_H_

#include <cstdint>

#include "trace/native/code_emitter.h"
#include "trace/native/cpu_features.h"
#include "trace/native/full_decode.h"
#include "trace/native/native_instruction.h"
#include "trace/native/operand_rewrite.h"

namespace hbbp::trace {

// Rewrites the ordinary instruction at `code` for a stub. Equal results mean equal stubs. Returns
// false if no stub is possible.
bool PrepareStub(const uint8_t* code, const FullDecode& decode, const NativeInstruction& native,
                 RewrittenInstruction* rewritten);

// Builds the stub of an instruction that PrepareStub rewrote.
void BuildStub(const FullDecode& decode, const NativeInstruction& native,
               const RewrittenInstruction& rewritten, const CpuFeatures& features,
               CodeEmitter* emitter);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_STUB_BUILDER_H_
