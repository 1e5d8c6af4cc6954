// InstructionCategory is the kind of work that an instruction does. docs/reference/properties.md
// has examples of each.
#ifndef HBBP_LIB_ISA_INSTRUCTION_CATEGORY_H_
#define HBBP_LIB_ISA_INSTRUCTION_CATEGORY_H_

#include <cstdint>
#include <string_view>

namespace hbbp {

enum class InstructionCategory : uint8_t {
  kOther,
  kDataMove,
  kConditionalMove,
  kSetCondition,
  kAddress,
  kStack,
  kString,
  kIntegerArithmetic,
  kIntegerMultiply,
  kFloatArithmetic,
  kFma,
  kMatrix,
  kDivide,
  kSqrt,
  kTranscendental,
  kLogic,
  kShift,
  kBit,
  kCompare,
  kConvert,
  kShuffle,
  kMask,
  kGather,
  kScatter,
  kConditionalBranch,
  kJump,
  kIndirectJump,
  kCall,
  kIndirectCall,
  kReturn,
  kAtomic,
  kFence,
  kTransaction,
  kWait,
  kPrefetch,
  kCacheControl,
  kCrypto,
  kRandom,
  kFlag,
  kMachineState,
  kNop,
  kTrap,
  kSystemCall,
  kIo,
  kSystem,
  kCount,
};

// Returns a name such as "data-move" or "integer-arithmetic".
std::string_view NameOf(InstructionCategory category);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_INSTRUCTION_CATEGORY_H_
