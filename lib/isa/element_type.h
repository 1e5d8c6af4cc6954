// ElementType is the type of the elements of a vector.
#ifndef HBBP_LIB_ISA_ELEMENT_TYPE_H_
#define HBBP_LIB_ISA_ELEMENT_TYPE_H_

#include <cstdint>

namespace hbbp {

// The type of the elements of the result, or of the sources for comparisons, stores and the like.
enum class ElementType : uint8_t {
  kNone,
  kInteger,
  kHalf,
  kBfloat16,
  kSingle,
  kDouble,
  kExtended,
  kBit,
};

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_ELEMENT_TYPE_H_
