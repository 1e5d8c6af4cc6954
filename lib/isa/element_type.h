// What vectors consist of.
#ifndef HBBP_LIB_ISA_ELEMENT_TYPE_H_
#define HBBP_LIB_ISA_ELEMENT_TYPE_H_

#include <cstdint>

namespace hbbp {

// What the result consists of; of comparisons, stores and the like, what the sources do.
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
