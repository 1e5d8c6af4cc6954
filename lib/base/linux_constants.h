// Constants of Linux on x86-64.
#ifndef HBBP_LIB_BASE_LINUX_CONSTANTS_H_
#define HBBP_LIB_BASE_LINUX_CONSTANTS_H_

#include <cstdint>
#include <string_view>

namespace hbbp {

inline constexpr uint64_t kPageBytes = 4096;

// The advice MADV_POPULATE_WRITE, since Linux 5.14, which headers may be too old for.
inline constexpr int kPopulateForWriting = 23;

// The kernel appends this to the path of a mapped file that was deleted. The name of a file may end
// so, too.
inline constexpr std::string_view kDeletedSuffix = " (deleted)";

constexpr std::string_view WithoutDeletedSuffix(std::string_view path) {
  if (path.ends_with(kDeletedSuffix)) path.remove_suffix(kDeletedSuffix.size());
  return path;
}

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_LINUX_CONSTANTS_H_
