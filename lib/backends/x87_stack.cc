// The opcodes d8 to df are all of x87. The middle three bits of ModRM, here the digit, say what is
// done, and its last three which register takes part, if there is no memory operand.
#include "backends/x87_stack.h"

namespace hbbp {
namespace {

using Effect = X87Effect;

constexpr uint8_t kFirstOpcode = 0xd8;
constexpr uint8_t kLastOpcode = 0xdf;

// Computes in st(0), from it and the other operand. `compares`: fcom and fcomp, which compute
// nothing.
Effect Arithmetic(unsigned digit, int8_t other) {
  const bool compares = digit == 2 || digit == 3;
  Effect effect{.is_any = true, .reads_top = true, .reads = other};
  if (!compares) effect.writes = 0;
  if (digit == 3) effect.pops = 1;  // fcomp
  return effect;
}

Effect Push(int8_t reads = Effect::kNone) {
  return {.is_any = true, .pushes = true, .reads = reads, .writes = 0};
}

// Stores st(0) to memory, or to another register.
Effect Store(uint8_t pops, int8_t to = Effect::kNone) {
  return {.is_any = true, .pops = pops, .reads_top = true, .writes = to};
}

Effect Compare(int8_t other, uint8_t pops) {
  return {.is_any = true, .pops = pops, .reads_top = true, .reads = other};
}

Effect WithMemory(uint8_t opcode, unsigned digit) {
  switch (opcode) {
    case 0xd8:
    case 0xda:
    case 0xdc:
    case 0xde:  // fadd, fmul, fcom, fcomp, fsub, fsubr, fdiv, fdivr, and those of integers
      return Arithmetic(digit, Effect::kNone);
    case 0xd9:
      if (digit == 0) return Push();                          // fld
      if (digit == 2 || digit == 3) return Store(digit - 2);  // fst, fstp
      return {};                                              // fldcw and the like
    default:
      if (digit == 0) return Push();                      // fild, fld
      if (digit == 2) return Store(0);                    // fist, fst
      if (digit == 1 || digit == 3) return Store(1);      // fisttp, fistp, fstp
      if (digit == 5 && opcode != 0xdd) return Push();    // fld, fild
      if (digit == 4 && opcode == 0xdf) return Push();    // fbld
      if (digit >= 6 && opcode != 0xdd) return Store(1);  // fstp, fbstp, fistp
      return {};                                          // frstor, fnsave, fnstsw
  }
}

// Those of d9 whose ModRM has no register.
Effect Operation(uint8_t modrm) {
  switch (modrm) {
    case 0xe0:  // fchs
    case 0xe1:  // fabs
    case 0xf0:  // f2xm1
    case 0xfa:  // fsqrt
    case 0xfc:  // frndint
    case 0xfe:  // fsin
    case 0xff:  // fcos
      return Store(0, 0);
    case 0xe4:  // ftst
    case 0xe5:  // fxam
      return Compare(Effect::kNone, 0);
    case 0xf1:  // fyl2x
    case 0xf3:  // fpatan
    case 0xf9:  // fyl2xp1
      return {.is_any = true, .pops = 1, .reads_top = true, .reads = 1, .writes = 1};
    case 0xf2:  // fptan
    case 0xf4:  // fxtract
    case 0xfb:  // fsincos
      return {.is_any = true, .pushes = true, .reads_top = true, .writes = 0};
    case 0xf5:  // fprem1
    case 0xf8:  // fprem
    case 0xfd:  // fscale
      return {.is_any = true, .reads_top = true, .reads = 1, .writes = 0};
    case 0xf6:  // fdecstp
      return {.is_any = true, .pushes = true};
    case 0xf7:  // fincstp
      return {.is_any = true, .pops = 1};
    default:
      if (modrm >= 0xe8 && modrm <= 0xee) return Push();  // fld1, fldz, ...
      return {};
  }
}

Effect WithRegister(uint8_t opcode, unsigned digit, int8_t other) {
  switch (opcode) {
    case 0xd8:  // fadd, ... with st(0) as the destination
      return Arithmetic(digit, other);
    case 0xd9:
      if (digit == 0) return Push(other);                           // fld
      if (digit == 1) return {.is_any = true, .exchanges = other};  // fxch
      if (digit == 3) return Store(1, other);                       // fstp, as it is not spelled
      return {};
    case 0xda:
    case 0xdb:
      if (digit < 4)
        return {.is_any = true, .reads_top = true, .reads = other, .writes = 0};  // fcmov
      if (opcode == 0xda && digit == 5) return Compare(other, 2);                 // fucompp
      if (opcode == 0xdb && digit >= 5 && digit <= 6) return Compare(other, 0);   // fucomi, fcomi
      return {};
    case 0xdc:
    case 0xde: {  // fadd, ... and faddp, ... with st(i) as the destination
      const auto pops = static_cast<uint8_t>(opcode == 0xde ? 1 : 0);
      if (digit == 2) return Compare(other, pops);
      if (digit == 3) return Compare(other, static_cast<uint8_t>(pops + 1));  // fcompp
      return {.is_any = true, .pops = pops, .reads_top = true, .reads = other, .writes = other};
    }
    case 0xdd:
      if (digit == 2 || digit == 3)
        return Store(static_cast<uint8_t>(digit - 2), other);  // fst, fstp
      if (digit == 4 || digit == 5)
        return Compare(other, static_cast<uint8_t>(digit - 4));  // fucom, fucomp
      return {};
    default:
      if (digit == 0) return {.is_any = true, .pops = 1};      // ffreep
      if (digit == 2 || digit == 3) return Store(1, other);    // fstp, as it is not spelled
      if (digit == 5 || digit == 6) return Compare(other, 1);  // fucomip, fcomip
      return {};
  }
}

}  // namespace

X87Effect EffectOnX87(const ZydisDecodedInstruction& instruction) {
  const uint8_t opcode = instruction.opcode;
  const bool is_x87 = instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
                      opcode >= kFirstOpcode && opcode <= kLastOpcode;
  if (!is_x87) return {};
  const auto& modrm = instruction.raw.modrm;
  if (modrm.mod != 3) return WithMemory(opcode, modrm.reg);
  const auto other = static_cast<int8_t>(modrm.rm);
  if (opcode == 0xd9 && modrm.reg >= 4) {
    return Operation(static_cast<uint8_t>(0xc0 | modrm.reg << 3 | modrm.rm));
  }
  return WithRegister(opcode, modrm.reg, other);
}

}  // namespace hbbp
