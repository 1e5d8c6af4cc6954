// NamedRange is an address range with the name of its contents.
#ifndef HBBP_LIB_IMAGE_NAMED_RANGE_H_
#define HBBP_LIB_IMAGE_NAMED_RANGE_H_

#include <string>

#include "image/module_code.h"

namespace hbbp {

struct NamedRange {
  AddressRange range;
  std::string name;

  bool operator==(const NamedRange&) const = default;
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_NAMED_RANGE_H_
