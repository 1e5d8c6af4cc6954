// VectorLifter lifts the common vector instructions, legacy and VEX.
//
// Contract: see block_builder.h.
#ifndef HBBP_LIB_TRACE_INTERPRETER_VECTOR_LIFTER_H_
#define HBBP_LIB_TRACE_INTERPRETER_VECTOR_LIFTER_H_

#include "trace/interpreter/block_builder.h"

namespace hbbp::trace {

class VectorLifter : public BlockBuilder {
 protected:
  using BlockBuilder::BlockBuilder;

  // Lifts the instruction after its opcode, which follows 0f.
  Outcome LiftVectorMove(uint8_t opcode);
  // Lifts the instruction from its VEX prefix on.
  Outcome LiftVex();

 private:
  struct VectorOpcode {
    uint8_t opcode;  // the opcode after 0f
    uint8_t prefix;
    bool is_vex;
    uint8_t is_wide;  // the operands have 256 bits
    uint8_t source;   // the register of VEX.vvvv
  };
  Outcome LiftVector(VectorOpcode vector);
  Outcome LiftVectorOperation(VectorOpcode vector);
  Outcome LiftScalarConversion(VectorOpcode vector);
  Outcome LiftVectorCopy(unsigned form, unsigned bytes, bool is_store, unsigned alignment);
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_VECTOR_LIFTER_H_
