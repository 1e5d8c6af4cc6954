// Declares the handlers of micro-operations, for the lifter.
//
// Contract: constant tables; the handlers run in signal handlers on the stack of a LookAhead.
#ifndef HBBP_LIB_TRACE_INTERPRETER_HANDLERS_H_
#define HBBP_LIB_TRACE_INTERPRETER_HANDLERS_H_

#include "trace/interpreter/micro_op.h"
#include "trace/interpreter/vector_operations.h"

namespace hbbp::trace {

// The sizes 0 ... 3 of operands are 8 ... 64 bits. Unless a comment says otherwise, operand a is
// the destination and b or the immediate the source.
inline constexpr unsigned kSizes = 4;

enum AluOperation : uint8_t { kAdd, kOr, kAdc, kSbb, kAnd, kSub, kXor, kCmp, kTest, kAluCount };

// FlagsUse says what happens to the flags that an instruction writes.
enum FlagsUse : uint8_t {
  kFlagless,  // they are never read
  kFlags,
  kThenBranch,  // they are computed, and the conditional jump after it is executed too
  kFlagsUses
};

struct AluHandlers {
  Handler reg_reg[kFlagsUses];
  Handler reg_imm[kFlagsUses];
  Handler reg_mem[kFlagsUses];
  // The first operand is memory, the second b or the immediate. All but cmp and test store the
  // result.
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
// Rotate a temporary, which is then stored, by a constant.
extern const Handler kRotateMemory[4][kSizes];
// shld and shrd have operands a, b and the count; sizes are 1 ... 3.
extern const Handler kDoubleShiftByImm[2][kSizes];
extern const Handler kDoubleShiftByCl[2][kSizes];

extern const Handler kSetZeroFlagless;  // a = 0, 64 bits

// bt, bts, btr and btc test bit b of operand a, modulo the size.
extern const Handler kBitTestByReg[4][kSizes];
extern const Handler kBitTestByImm[4][kSizes];
// With a memory operand and a register, this first adds the byte offset of bit b to the address in
// a.
extern const Handler kBitStringAddress[kSizes];

// [kFlagless, kFlags]
extern const Handler kImulRegReg[kSizes][2];     // a *= b
extern const Handler kImulRegRegImm[kSizes][2];  // a = b * immediate

// These have operands a, rax and rdx.
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
// Ensures too that the store will succeed; its address is then in the address temporary.
extern const Handler kLoadForUpdate[kSizes];
extern const Handler kLea[kSizes];
extern const Handler kExchange[kSizes];
// [signed][size of source][size of destination]
extern const Handler kExtendReg[2][kSizes][kSizes];
extern const Handler kExtendMem[2][kSizes][kSizes];
// cwd, cdq and cqo write the sign of rax to rdx.
extern const Handler kSignToRdx[kSizes];
extern const Handler kByteSwap[kSizes];

// For conditions a is the mask and b says whether it is negated (Condition).
extern const Handler kJumpIf;  // immediate is the target, displacement its own address
// Conditional moves have the destination in `extra` (a word), conditional sets its byte offset in
// the immediate.
extern const Handler kMoveRegIf[kSizes];  // destination word in extra, source offset in immediate
extern const Handler kMoveMemIf[kSizes];
extern const Handler kSetIf;    // destination offset in immediate
extern const Handler kStoreIf;  // setcc to memory

// Stack operations have the address of the stack slot, and change rsp too.
extern const Handler kPush;  // operand b
extern const Handler kPushImm;
extern const Handler kPushWord;
extern const Handler kPop;  // operand a
extern const Handler kPopWord;
extern const Handler kAddToRsp;  // immediate
extern const Handler kLeave;
extern const Handler kPushFlags;
extern const Handler kPopFlags;

// These end a block.
extern const Handler kContinue;  // the next instruction is that of another block
extern const Handler kJump;
extern const Handler kCall;       // extra: its length
extern const Handler kReturn;     // a: bytes to release; immediate: its own address
extern const Handler kJumpToReg;  // operand a; immediate: its own address
extern const Handler kJumpToMem;
extern const Handler kCallReg;        // operand a
extern const Handler kCallMem;        // extra: its length
extern const Handler kJumpIfRcxZero;  // a: size
// Operand a is 0, 1 or 2 for loop, loope or loopne.
extern const Handler kLoop;

// Flags.
extern const Handler kSetFlags;      // immediate: kPackedCf to set, a: to clear, b: to toggle
extern const Handler kSetDirection;  // immediate: DF
extern const Handler kLoadAh;        // lahf
extern const Handler kStoreAh;       // sahf

// Precedes an instruction that accesses memory, and belongs to none; immediate: the address of the
// instruction. Only blocks of a CodeCache that records accesses have it.
extern const Handler kRecordAccess;
// Records operand a without `scale` bits at its top, as the RecordedKind `extra`, unless a register
// in `displacement`, a RegisterSet, is unknown; immediate: as above. It precedes calls and indirect
// jumps too, and belongs to divisions.
extern const Handler kRecordValue;

extern const Handler kNop;
extern const Handler kPrefetchLine;

// String instructions have a = log2 of the size, b = StringPrefix, index = word of the segment's
// base, and extra = StringOperation.
enum StringPrefix : uint8_t { kNoRepeat, kRepeat, kRepeatWhileNotEqual };
enum StringOperation : uint8_t { kMovs, kStos, kLods, kScas, kCmps, kStringCount };
extern const Handler kString;

// System state.
extern const Handler kReadXcr;             // xgetbv
extern const Handler kShadowStack;         // rdssp a
extern const Handler kSaveVectorState;     // a: 1 if the format is compacted
extern const Handler kRestoreVectorState;  // ends its block

// In vector handlers a and b are offsets of registers; moves have the width in bytes in `extra`.
// Legacy instructions keep the register above 16 bytes; the others clear it.
enum VectorForm : uint8_t { kLegacy, kVex, kVectorForms };
// The sizes are 4, 8, 16 and 32 bytes; the register above, up to 16 bytes, is always cleared.
// `extra` is the alignment less 1.
inline constexpr unsigned kVectorSizes = 4;
extern const Handler kVectorLoad[kVectorForms][kVectorSizes];
extern const Handler kVectorStore[kVectorSizes];  // operand b
extern const Handler kVectorMove[kVectorForms][kVectorSizes];
extern const Handler kVectorZero[kVectorForms];
extern const Handler kScalarMerge[2];  // movss, movsd between registers, legacy

// Computes a = b operation memory, or the register at offset `immediate` (vector_operations.h).
struct VectorOperationHandlers {
  Handler reg[kVectorForms];
  Handler mem[kVectorForms];
};
extern const VectorOperationHandlers kVectorOperation[kVectorOperations];
extern const Handler kCompareScalars[2][2];             // [double][comis]: a, b
extern const Handler kFromInteger[2][2][kVectorForms];  // [double][64 bits]: b, offset immediate
extern const Handler kToInteger[2][2][2];               // [double][truncates][64 bits]: a = b
extern const Handler kByteSigns;                        // pmovmskb

// These execute unmodelled instructions.
extern const Handler kNative;  // immediate: NativeInstruction::execute; a: memory bytes; b:
                               // NativeFlags; extra: the alignment less 1
// These do the same without flags and exceptions, and without memory, or only loading 8, 16 or 32
// bytes.
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
