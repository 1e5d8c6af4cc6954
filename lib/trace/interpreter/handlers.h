// The handlers of micro-operations, for the lifter.
//
// Contract: constant tables; the handlers run in signal handlers on the stack of a LookAhead.
#ifndef HBBP_LIB_TRACE_INTERPRETER_HANDLERS_H_
#define HBBP_LIB_TRACE_INTERPRETER_HANDLERS_H_

#include "trace/interpreter/micro_op.h"
#include "trace/interpreter/vector_operations.h"

namespace hbbp::trace {

// Sizes of operands: 0 ... 3 are 8 ... 64 bits. Unless said otherwise, operand a is the
// destination and b or the immediate the source.
inline constexpr unsigned kSizes = 4;

enum AluOperation : uint8_t { kAdd, kOr, kAdc, kSbb, kAnd, kSub, kXor, kCmp, kTest, kAluCount };

// How the flags that an instruction writes are dealt with.
enum FlagsUse : uint8_t {
  kFlagless,  // nobody reads them
  kFlags,
  kThenBranch,  // and the conditional jump, which is the next micro-operation, is executed as well
  kFlagsUses
};

struct AluHandlers {
  Handler reg_reg[kFlagsUses];
  Handler reg_imm[kFlagsUses];
  Handler reg_mem[kFlagsUses];
  // [memory] with b or the immediate. All but cmp and test store the result.
  Handler mem_reg[kFlagsUses];
  Handler mem_imm[kFlagsUses];
};
extern const AluHandlers kAlu[kAluCount][kSizes];

enum UnaryOperation : uint8_t { kInc, kDec, kNeg, kNot, kUnaryCount };
struct UnaryHandlers {
  Handler reg[kFlagsUses];
  Handler mem[kFlagsUses];
};
extern const UnaryHandlers kUnary[kUnaryCount][kSizes];

enum ShiftOperation : uint8_t { kRol, kRor, kRcl, kRcr, kShl, kShr, kSal, kSar };
struct ShiftHandlers {
  Handler by_imm[2];  // kFlagless, kFlags
  Handler by_cl[2];
};
extern const ShiftHandlers kShift[8][kSizes];  // operand a
// Of a temporary that is then stored, by a constant.
extern const Handler kRotateMemory[4][kSizes];
// shld, shrd: a, b, count; sizes 1 ... 3.
extern const Handler kDoubleShiftByImm[2][kSizes];
extern const Handler kDoubleShiftByCl[2][kSizes];

extern const Handler kSetZeroFlagless;  // a = 0, 64 bits

// bt, bts, btr, btc of operand a by bit b; the offset is taken modulo the size.
extern const Handler kBitTestByReg[4][kSizes];
extern const Handler kBitTestByImm[4][kSizes];
// The memory form with a register: a = address temporary: word(a) += bytes of bit b.
extern const Handler kBitStringAddress[kSizes];

// [kFlagless, kFlags]
extern const Handler kImulRegReg[kSizes][2];     // a *= b
extern const Handler kImulRegRegImm[kSizes][2];  // a = b * immediate

// By operand a and rax, rdx.
extern const Handler kMul[2][kSizes];  // unsigned, signed
extern const Handler kDiv[2][kSizes];

enum BitScanOperation : uint8_t { kBsf, kBsr, kPopcnt, kLzcnt, kTzcnt, kBitScanCount };
extern const Handler kBitScan[kBitScanCount][kSizes];

extern const Handler kCmpxchg[kSizes];         // a with b and rax
extern const Handler kXadd[kSizes];            // a and b
extern const Handler kCompareExchangeWide[2];  // cmpxchg8b, cmpxchg16b, on memory

// Moves.
extern const Handler kMoveReg[kSizes];
extern const Handler kMoveImm[kSizes];
extern const Handler kLoad[kSizes];
extern const Handler kStore[kSizes];  // operand b
extern const Handler kStoreImm[kSizes];
// And makes sure that the store will succeed; its address is then in the address temporary.
extern const Handler kLoadForUpdate[kSizes];
extern const Handler kLea[kSizes];
extern const Handler kExchange[kSizes];
// [signed][size of source][size of destination]
extern const Handler kExtendReg[2][kSizes][kSizes];
extern const Handler kExtendMem[2][kSizes][kSizes];
// a = sign of rax, b = size of rax: cdq and its kin write rdx.
extern const Handler kSignToRdx[kSizes];
extern const Handler kByteSwap[kSizes];

// Conditions: a is the mask, b negated (Condition).
extern const Handler kJumpIf;  // immediate is the target, displacement its own address
// Conditional moves and sets: the destination is in `extra` (a word), or for set byte offset in
// immediate.
extern const Handler kMoveRegIf[kSizes];  // destination word in extra, source offset in immediate
extern const Handler kMoveMemIf[kSizes];
extern const Handler kSetIf;    // destination offset in immediate
extern const Handler kStoreIf;  // setcc to memory

// Stack. The address is that of the stack slot; rsp is changed too.
extern const Handler kPush;  // operand b
extern const Handler kPushImm;
extern const Handler kPushWord;
extern const Handler kPop;  // operand a
extern const Handler kPopWord;
extern const Handler kAddToRsp;  // immediate
extern const Handler kLeave;
extern const Handler kPushFlags;
extern const Handler kPopFlags;

// Ends of blocks.
extern const Handler kContinue;  // the next instruction is that of another block
extern const Handler kJump;
extern const Handler kCall;       // extra: its length
extern const Handler kReturn;     // a: bytes to release; immediate: its own address
extern const Handler kJumpToReg;  // operand a; immediate: its own address
extern const Handler kJumpToMem;
extern const Handler kCallReg;        // operand a
extern const Handler kCallMem;        // extra: its length
extern const Handler kJumpIfRcxZero;  // a: size
// loop, loope, loopne: a = 0, 1, 2
extern const Handler kLoop;

// Flags.
extern const Handler kSetFlags;      // immediate: kPackedCf to set, a: to clear, b: to toggle
extern const Handler kSetDirection;  // immediate: DF
extern const Handler kLoadAh;        // lahf
extern const Handler kStoreAh;       // sahf

extern const Handler kNop;

// String instructions: a = log2 of the size, b = StringPrefix, index = word of the segment's base,
// extra = StringOperation.
enum StringPrefix : uint8_t { kNoRepeat, kRepeat, kRepeatWhileNotEqual };
enum StringOperation : uint8_t { kMovs, kStos, kLods, kScas, kCmps, kStringCount };
extern const Handler kString;

// System state.
extern const Handler kReadXcr;             // xgetbv
extern const Handler kShadowStack;         // rdssp a
extern const Handler kSaveVectorState;     // a: 1 if the format is compacted
extern const Handler kRestoreVectorState;  // ends its block

// Vectors. a and b are offsets of registers; the width in bytes is in `extra` for the moves.
// Legacy instructions leave what is above 16 bytes; the others clear it.
enum VectorForm : uint8_t { kLegacy, kVex, kVectorForms };
// Of 4, 8, 16, 32 bytes: what is above, up to 16 bytes, is cleared in any case. `extra`: the
// alignment less 1.
inline constexpr unsigned kVectorSizes = 4;
extern const Handler kVectorLoad[kVectorForms][kVectorSizes];
extern const Handler kVectorStore[kVectorSizes];  // operand b
extern const Handler kVectorMove[kVectorForms][kVectorSizes];
extern const Handler kVectorZero[kVectorForms];
extern const Handler kScalarMerge[2];  // movss, movsd between registers, legacy

// a = b operation memory, or register at offset `immediate` (vector_operations.h).
struct VectorOperationHandlers {
  Handler reg[kVectorForms];
  Handler mem[kVectorForms];
};
extern const VectorOperationHandlers kVectorOperation[kVectorOperations];
extern const Handler kCompareScalars[2][2];             // [double][comis]: a, b
extern const Handler kFromInteger[2][2][kVectorForms];  // [double][64 bits]: b, offset immediate
extern const Handler kToInteger[2][2][2];               // [double][truncates][64 bits]: a = b
extern const Handler kByteSigns;                        // pmovmskb

// Unmodelled instructions.
extern const Handler kNative;  // immediate: NativeInstruction::execute; a: memory bytes; b:
                               // NativeFlags; extra: the alignment less 1
// Likewise, but without flags and exceptions, and without memory, or only loading 8, 16, 32 bytes.
extern const Handler kNativeSimple;
extern const Handler kNativeLoad[3];
extern const Handler kUnknown;  // its results are unknown

enum NativeFlags : uint16_t {
  kNativeReadsMemory = 1,
  kNativeWritesMemory = 2,
  kNativeFlags = 4,  // reads or writes arithmetic flags
  kNativeMayRaiseSse = 8,
  kNativeMayRaiseX87 = 16,
  kNativeMxcsr = 32,  // reads or writes it
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_HANDLERS_H_
