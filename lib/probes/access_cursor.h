// AccessCursor finds the accesses to memory of a burst, in the order of its instructions.
#ifndef HBBP_LIB_PROBES_ACCESS_CURSOR_H_
#define HBBP_LIB_PROBES_ACCESS_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/recorded_access.h"

namespace hbbp {

class AccessCursor {
 public:
  // The accesses must outlive this object.
  explicit AccessCursor(std::span<const RecordedAccess> accesses) : accesses_(accesses) {}

  // Returns the first address of an instruction, or nothing if none was recorded. Instructions are
  // those of RecordedAccess, and come in order; some may be left out.
  std::optional<uint64_t> Find(uint32_t branch, uint32_t offset) {
    const auto key = [this] { return std::pair(accesses_[next_].branch, accesses_[next_].offset); };
    while (next_ < accesses_.size() && key() < std::pair(branch, offset)) ++next_;
    if (next_ == accesses_.size() || key() != std::pair(branch, offset)) return std::nullopt;
    return accesses_[next_].address;
  }

 private:
  std::span<const RecordedAccess> accesses_;
  size_t next_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_ACCESS_CURSOR_H_
