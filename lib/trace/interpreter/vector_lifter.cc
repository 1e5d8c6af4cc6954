// Lifts the common vector instructions, legacy and VEX. LiftVectorMove reads the opcode after
// legacy prefixes, LiftVex after a VEX prefix; both call LiftVector, which dispatches moves by
// opcode and passes the others to LiftVectorOperation (table) and LiftScalarConversion. The opcodes
// of a case are those after 0f.
//
// Contract: see block_builder.h.
#include "trace/interpreter/vector_lifter.h"

namespace hbbp::trace {
namespace {

constexpr VectorPrefix kNone = kPrefixNone;
constexpr VectorPrefix k66 = kPrefix66;
constexpr VectorPrefix kF3 = kPrefixF3;
constexpr VectorPrefix kF2 = kPrefixF2;

constexpr uint16_t VectorOffset(unsigned number) {
  return static_cast<uint16_t>(offsetof(MachineState, zmm) + 64 * number);
}

// The constants are log2 of the bytes, less 2; see kVectorLoad.
constexpr unsigned kFourBytes = 0;
constexpr unsigned kEightBytes = 1;
constexpr unsigned kSixteenBytes = 2;

struct OperationForm {
  bool is_known;
  uint8_t number;
  uint8_t bytes;
  bool uses_mxcsr;
};

// The table finds operations by prefix and opcode.
struct OperationTable {
  OperationForm forms[4][256];
};

consteval OperationTable MakeOperationTable() {
  OperationTable table = {};
#define HBBP_VECTOR_FORM(name, prefix, opcode, bytes, uses_mxcsr) \
  table.forms[prefix][opcode] = {true, kVector_##name, bytes, uses_mxcsr};
  HBBP_VECTOR_OPERATIONS(HBBP_VECTOR_FORM)
#undef HBBP_VECTOR_FORM
  return table;
}

constexpr OperationTable kOperationTable = MakeOperationTable();

}  // namespace

VectorLifter::Outcome VectorLifter::LiftVectorMove(uint8_t opcode) {
  const unsigned prefix = encoding_.repeat == 0xf3   ? kF3
                          : encoding_.repeat == 0xf2 ? kF2
                          : encoding_.has_66         ? k66
                                                     : kNone;
  return LiftVector({opcode, static_cast<uint8_t>(prefix), false, 0, 0});
}

VectorLifter::Outcome VectorLifter::LiftVex() {
  VectorOpcode vector = {};
  const uint8_t escape = Byte();
  const uint8_t first = Byte();
  uint8_t last = first;
  uint8_t rex = (first & 0x80) ? 0 : 4;
  if (escape == 0xc4) {
    last = Byte();
    if ((first & 0x40) == 0) rex |= 2;
    if ((first & 0x20) == 0) rex |= 1;
    if (last & 0x80) rex |= 8;
    if ((first & 0x1f) != 1) return Outcome::kOther;
  }
  constexpr uint8_t kPrefixes[4] = {kNone, k66, kF3, kF2};
  if (encoding_.has_66 || encoding_.repeat != 0 || encoding_.has_rex) return Outcome::kOther;
  encoding_.rex = rex;
  encoding_.size = (rex & 8) ? 3 : 2;
  vector.is_vex = true;
  vector.prefix = kPrefixes[last & 3];
  vector.is_wide = (last >> 2) & 1;
  vector.source = static_cast<uint8_t>((~last >> 3) & 15);
  vector.opcode = Byte();
  return LiftVector(vector);
}

VectorLifter::Outcome VectorLifter::LiftVector(VectorOpcode vector) {
  const VectorForm form = vector.is_vex ? kVex : kLegacy;
  const unsigned full = kSixteenBytes + vector.is_wide;
  const bool has_source = vector.source != 0;
  switch (vector.opcode) {
    case 0x10:    // movups, movupd, movss, movsd to a register
    case 0x11: {  // the same to memory
      ParseModrm();
      const bool is_store = vector.opcode == 0x11;
      if (vector.prefix <= k66) {
        return has_source ? Outcome::kOther : LiftVectorCopy(form, full, is_store, 1);
      }
      const unsigned bytes = vector.prefix == kF3 ? kFourBytes : kEightBytes;
      if (HasMemory()) {
        return has_source ? Outcome::kOther : LiftVectorCopy(form, bytes, is_store, 1);
      }
      if (vector.is_vex) return Outcome::kOther;
      MicroOp& op = Emit(kScalarMerge[bytes]);
      const unsigned to = is_store ? encoding_.rm : encoding_.reg;
      const unsigned from = is_store ? encoding_.reg : encoding_.rm;
      op.a = VectorOffset(to);
      op.b = VectorOffset(from);
      info().reads |= VectorBit(to) | VectorBit(from);
      info().writes |= VectorBit(to);
      uses_vector_state_ = true;
      return Outcome::kNext;
    }
    case 0x28:  // movaps, movapd to a register
    case 0x29:  // the same to memory
      if (vector.prefix > k66 || has_source) return Outcome::kOther;
      ParseModrm();
      return LiftVectorCopy(form, full, vector.opcode == 0x29, 16u << vector.is_wide);
    case 0x2b:  // movntps, movntpd
    case 0xe7:  // movntdq
      if (vector.prefix != (vector.opcode == 0xe7 ? k66 : kNone) &&
          !(vector.opcode == 0x2b && vector.prefix == k66)) {
        return Outcome::kOther;
      }
      ParseModrm();
      if (!HasMemory() || has_source) return Outcome::kOther;
      return LiftVectorCopy(form, full, true, 16u << vector.is_wide);
    case 0x6f:  // movdqa, movdqu to a register
    case 0x7f:  // the same to memory
      if ((vector.prefix != k66 && vector.prefix != kF3) || has_source) return Outcome::kOther;
      ParseModrm();
      return LiftVectorCopy(form, full, vector.opcode == 0x7f,
                            vector.prefix == k66 ? 16u << vector.is_wide : 1);
    case 0x57:  // xorps, xorpd
    case 0xef:  // pxor
      if (vector.prefix != k66 && !(vector.opcode == 0x57 && vector.prefix == kNone)) {
        return Outcome::kOther;
      }
      ParseModrm();
      if (HasMemory() || encoding_.rm != (vector.is_vex ? vector.source : encoding_.reg)) {
        return LiftVectorOperation(vector);
      }
      // The instruction clears the register.
      Emit(kVectorZero[form]).a = VectorOffset(encoding_.reg);
      if (!vector.is_vex) info().reads |= VectorBit(encoding_.reg);  // keeps the upper part
      info().writes |= VectorBit(encoding_.reg);
      uses_vector_state_ = true;
      return Outcome::kNext;
    case 0x6e:    // movd, movq to a vector register
    case 0x7e: {  // movd, movq from a vector register
      if (vector.is_wide || has_source) return Outcome::kOther;
      if (vector.prefix == kF3 && vector.opcode == 0x7e) {  // movq xmm, xmm/m64
        ParseModrm();
        return LiftVectorCopy(form, kEightBytes, false, 1);
      }
      if (vector.prefix != k66) return Outcome::kOther;
      ParseModrm();
      const bool has_rex_w = (encoding_.rex & 8) != 0;
      const unsigned bytes = has_rex_w ? kEightBytes : kFourBytes;
      if (HasMemory()) return LiftVectorCopy(form, bytes, vector.opcode == 0x7e, 1);
      uses_vector_state_ = true;
      if (vector.opcode == 0x6e) {
        MicroOp& op = Emit(kVectorMove[form][bytes]);
        op.a = VectorOffset(encoding_.reg);
        op.b = Read(3, encoding_.rm);
        info().writes |= VectorBit(encoding_.reg);
        if (!vector.is_vex) info().reads |= VectorBit(encoding_.reg);
      } else {
        const unsigned size = has_rex_w ? 3 : 2;
        MicroOp& op = Emit(kMoveReg[size]);
        op.b = VectorOffset(encoding_.reg);
        op.a = Write(size, encoding_.rm);
        info().reads |= VectorBit(encoding_.reg);
      }
      return Outcome::kNext;
    }
    case 0xd6:  // movq to memory
      if (vector.prefix != k66 || vector.is_wide || has_source) return Outcome::kOther;
      ParseModrm();
      return LiftVectorCopy(form, kEightBytes, true, 1);
    case 0x2a:  // cvtsi2ss, cvtsi2sd
    case 0x2c:  // cvttss2si, cvttsd2si
    case 0x2d:  // cvtss2si, cvtsd2si
    case 0x2e:  // ucomiss, ucomisd
    case 0x2f:  // comiss, comisd
      return LiftScalarConversion(vector);
    case 0xd7:  // pmovmskb
      if (vector.prefix != k66 || vector.is_wide || has_source) return Outcome::kOther;
      ParseModrm();
      if (HasMemory()) return Outcome::kOther;
      {
        MicroOp& op = Emit(kByteSigns);
        op.b = VectorOffset(encoding_.rm);
        op.a = Write(2, encoding_.reg);
      }
      info().reads |= VectorBit(encoding_.rm);
      uses_vector_state_ = true;
      return Outcome::kNext;
    default:
      if (!kOperationTable.forms[vector.prefix][vector.opcode].is_known) return Outcome::kOther;
      ParseModrm();
      return LiftVectorOperation(vector);
  }
}

// The caller has parsed the ModRM byte.
VectorLifter::Outcome VectorLifter::LiftVectorOperation(VectorOpcode vector) {
  const OperationForm form = kOperationTable.forms[vector.prefix][vector.opcode];
  if (!form.is_known || vector.is_wide) return Outcome::kOther;
  const unsigned first = vector.is_vex ? vector.source : encoding_.reg;
  const VectorOperationHandlers& handlers = kVectorOperation[form.number];
  const unsigned kind = vector.is_vex ? kVex : kLegacy;
  MicroOp& op = HasMemory() ? EmitMemory(handlers.mem[kind]) : Emit(handlers.reg[kind]);
  op.a = VectorOffset(encoding_.reg);
  op.b = VectorOffset(first);
  if (HasMemory()) {
    if (!vector.is_vex && form.bytes == 16) op.extra = 15;
  } else {
    op.immediate = VectorOffset(encoding_.rm);
    info().reads |= VectorBit(encoding_.rm);
  }
  info().reads |= VectorBit(first);
  if (!vector.is_vex) info().reads |= VectorBit(encoding_.reg);
  info().writes |= VectorBit(encoding_.reg);
  if (form.uses_mxcsr) {
    info().reads |= kMxcsrBit;
    info().writes |= kMxcsrBit;
  }
  uses_vector_state_ = true;
  return Outcome::kNext;
}

// Lifts conversions between integers and floating point, and comparisons of scalars.
VectorLifter::Outcome VectorLifter::LiftScalarConversion(VectorOpcode vector) {
  const bool is_comparison = vector.opcode >= 0x2e;
  if (is_comparison ? vector.prefix > k66 : vector.prefix < kF3) return Outcome::kOther;
  const bool is_double = vector.prefix == (is_comparison ? k66 : kF2);
  const bool is_quad = (encoding_.rex & 8) != 0;
  if (vector.opcode != 0x2a && vector.source != 0) return Outcome::kOther;
  ParseModrm();
  info().reads |= kMxcsrBit;
  info().writes |= kMxcsrBit;
  uses_vector_state_ = true;
  if (vector.opcode == 0x2a) {
    const uint16_t operand = LoadOperand(is_quad ? 3 : 2);
    const unsigned first = vector.is_vex ? vector.source : encoding_.reg;
    MicroOp& op = Emit(kFromInteger[is_double][is_quad][vector.is_vex ? kVex : kLegacy]);
    op.a = VectorOffset(encoding_.reg);
    op.b = VectorOffset(first);
    op.immediate = operand;
    info().reads |= VectorBit(first) | (vector.is_vex ? 0 : VectorBit(encoding_.reg));
    info().writes |= VectorBit(encoding_.reg);
    return Outcome::kNext;
  }
  uint16_t operand = kValueTemp * 8;
  if (HasMemory()) {
    EmitMemory(kLoad[is_double ? 3 : 2]).a = kValueTemp * 8;
  } else {
    operand = VectorOffset(encoding_.rm);
    info().reads |= VectorBit(encoding_.rm);
  }
  if (is_comparison) {
    MicroOp& op = Emit(kCompareScalars[is_double][vector.opcode & 1]);
    op.a = VectorOffset(encoding_.reg);
    op.b = operand;
    info().reads |= VectorBit(encoding_.reg);
    Flags(kFlagBits);
  } else {
    MicroOp& op = Emit(kToInteger[is_double][vector.opcode == 0x2c][is_quad]);
    op.b = operand;
    op.a = Write(is_quad ? 3 : 2, encoding_.reg);
  }
  return Outcome::kNext;
}

VectorLifter::Outcome VectorLifter::LiftVectorCopy(unsigned form, unsigned bytes, bool is_store,
                                                   unsigned alignment) {
  uses_vector_state_ = true;
  if (HasMemory() && is_store) {
    info().store_bytes = static_cast<uint8_t>(4u << bytes);
    MicroOp& op = EmitMemory(kVectorStore[bytes]);
    op.b = VectorOffset(encoding_.reg);
    op.extra = static_cast<uint8_t>(alignment - 1);
    info().reads |= VectorBit(encoding_.reg);
    return Outcome::kNext;
  }
  const unsigned to = is_store ? encoding_.rm : encoding_.reg;
  if (HasMemory()) {
    MicroOp& op = EmitMemory(kVectorLoad[form][bytes]);
    op.a = VectorOffset(to);
    op.extra = static_cast<uint8_t>(alignment - 1);
  } else {
    const unsigned from = is_store ? encoding_.reg : encoding_.rm;
    MicroOp& op = Emit(kVectorMove[form][bytes]);
    op.a = VectorOffset(to);
    op.b = VectorOffset(from);
    info().reads |= VectorBit(from);
  }
  info().writes |= VectorBit(to);
  if (form == kLegacy) info().reads |= VectorBit(to);
  return Outcome::kNext;
}

}  // namespace hbbp::trace
