// Lists the vector instructions of 128 bits with handlers of their own. They have a destination and
// an operand in a register or in memory; with VEX, another source.
//
// Contract: constant data.
#ifndef HBBP_LIB_TRACE_INTERPRETER_VECTOR_OPERATIONS_H_
#define HBBP_LIB_TRACE_INTERPRETER_VECTOR_OPERATIONS_H_

#include <cstdint>

namespace hbbp::trace {

enum VectorPrefix : uint8_t { kPrefixNone, kPrefix66, kPrefixF3, kPrefixF2 };

// The arguments are X(name, prefix, opcode after 0f, bytes of the operand, whether MXCSR matters).
#define HBBP_VECTOR_OPERATIONS(X)           \
  X(addps, kPrefixNone, 0x58, 16, true)     \
  X(addpd, kPrefix66, 0x58, 16, true)       \
  X(addss, kPrefixF3, 0x58, 4, true)        \
  X(addsd, kPrefixF2, 0x58, 8, true)        \
  X(mulps, kPrefixNone, 0x59, 16, true)     \
  X(mulpd, kPrefix66, 0x59, 16, true)       \
  X(mulss, kPrefixF3, 0x59, 4, true)        \
  X(mulsd, kPrefixF2, 0x59, 8, true)        \
  X(subps, kPrefixNone, 0x5c, 16, true)     \
  X(subpd, kPrefix66, 0x5c, 16, true)       \
  X(subss, kPrefixF3, 0x5c, 4, true)        \
  X(subsd, kPrefixF2, 0x5c, 8, true)        \
  X(minss, kPrefixF3, 0x5d, 4, true)        \
  X(minsd, kPrefixF2, 0x5d, 8, true)        \
  X(divps, kPrefixNone, 0x5e, 16, true)     \
  X(divpd, kPrefix66, 0x5e, 16, true)       \
  X(divss, kPrefixF3, 0x5e, 4, true)        \
  X(divsd, kPrefixF2, 0x5e, 8, true)        \
  X(maxss, kPrefixF3, 0x5f, 4, true)        \
  X(maxsd, kPrefixF2, 0x5f, 8, true)        \
  X(sqrtss, kPrefixF3, 0x51, 4, true)       \
  X(sqrtsd, kPrefixF2, 0x51, 8, true)       \
  X(cvtss2sd, kPrefixF3, 0x5a, 4, true)     \
  X(cvtsd2ss, kPrefixF2, 0x5a, 8, true)     \
  X(unpcklps, kPrefixNone, 0x14, 16, false) \
  X(unpcklpd, kPrefix66, 0x14, 16, false)   \
  X(unpckhpd, kPrefix66, 0x15, 16, false)   \
  X(andps, kPrefixNone, 0x54, 16, false)    \
  X(andpd, kPrefix66, 0x54, 16, false)      \
  X(andnps, kPrefixNone, 0x55, 16, false)   \
  X(andnpd, kPrefix66, 0x55, 16, false)     \
  X(orps, kPrefixNone, 0x56, 16, false)     \
  X(orpd, kPrefix66, 0x56, 16, false)       \
  X(xorps, kPrefixNone, 0x57, 16, false)    \
  X(xorpd, kPrefix66, 0x57, 16, false)      \
  X(punpcklbw, kPrefix66, 0x60, 16, false)  \
  X(punpcklwd, kPrefix66, 0x61, 16, false)  \
  X(punpckldq, kPrefix66, 0x62, 16, false)  \
  X(punpckhdq, kPrefix66, 0x6a, 16, false)  \
  X(punpcklqdq, kPrefix66, 0x6c, 16, false) \
  X(punpckhqdq, kPrefix66, 0x6d, 16, false) \
  X(pcmpgtd, kPrefix66, 0x66, 16, false)    \
  X(pcmpeqb, kPrefix66, 0x74, 16, false)    \
  X(pcmpeqw, kPrefix66, 0x75, 16, false)    \
  X(pcmpeqd, kPrefix66, 0x76, 16, false)    \
  X(paddq, kPrefix66, 0xd4, 16, false)      \
  X(psubusb, kPrefix66, 0xd8, 16, false)    \
  X(pminub, kPrefix66, 0xda, 16, false)     \
  X(pand, kPrefix66, 0xdb, 16, false)       \
  X(pmaxub, kPrefix66, 0xde, 16, false)     \
  X(pandn, kPrefix66, 0xdf, 16, false)      \
  X(por, kPrefix66, 0xeb, 16, false)        \
  X(pxor, kPrefix66, 0xef, 16, false)       \
  X(pmuludq, kPrefix66, 0xf4, 16, false)    \
  X(psubb, kPrefix66, 0xf8, 16, false)      \
  X(psubd, kPrefix66, 0xfa, 16, false)      \
  X(psubq, kPrefix66, 0xfb, 16, false)      \
  X(paddb, kPrefix66, 0xfc, 16, false)      \
  X(paddw, kPrefix66, 0xfd, 16, false)      \
  X(paddd, kPrefix66, 0xfe, 16, false)

enum VectorOperation : uint8_t {
#define HBBP_VECTOR_NUMBER(name, prefix, opcode, bytes, uses_mxcsr) kVector_##name,
  HBBP_VECTOR_OPERATIONS(HBBP_VECTOR_NUMBER)
#undef HBBP_VECTOR_NUMBER
      kVectorOperations
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_VECTOR_OPERATIONS_H_
