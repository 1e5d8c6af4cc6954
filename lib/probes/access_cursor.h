// AccessCursor finds the accesses to memory of a burst, or its values, in the order of its
// instructions.
#ifndef HBBP_LIB_PROBES_ACCESS_CURSOR_H_
#define HBBP_LIB_PROBES_ACCESS_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "base/recorded_access.h"

namespace hbbp {

class AccessCursor {
 public:
  // The accesses must outlive this object.
  explicit AccessCursor(std::span<const RecordedAccess> accesses) : accesses_(accesses) {}

  // Returns the first number of the kind that an instruction has, or nothing if none was recorded.
  // Instructions are those of RecordedAccess, and come in order, those of one by kind; some may be
  // left out.
  std::optional<uint64_t> Find(uint32_t branch, uint32_t offset,
                               RecordedKind kind = RecordedKind::kAddress) {
    using Key = std::tuple<uint32_t, uint32_t, RecordedKind>;
    const Key wanted(branch, offset, kind);
    const auto key = [this] {
      const RecordedAccess& access = accesses_[next_];
      return Key(access.branch, access.offset, access.kind);
    };
    while (next_ < accesses_.size() && key() < wanted) ++next_;
    if (next_ == accesses_.size() || key() != wanted) return std::nullopt;
    return accesses_[next_].number;
  }

 private:
  std::span<const RecordedAccess> accesses_;
  size_t next_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_ACCESS_CURSOR_H_
