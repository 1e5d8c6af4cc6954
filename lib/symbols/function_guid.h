// The number by which LLVM identifies a function, whatever module it is in.
#ifndef HBBP_LIB_SYMBOLS_FUNCTION_GUID_H_
#define HBBP_LIB_SYMBOLS_FUNCTION_GUID_H_

#include <cstdint>
#include <string_view>

namespace hbbp {

// Returns the first eight bytes of the MD5 (RFC 1321) of the linkage name, as a little-endian
// number.
uint64_t FunctionGuid(std::string_view linkage_name);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_FUNCTION_GUID_H_
