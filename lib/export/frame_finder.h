// FrameFinder finds the frames of addresses in rising order, which mostly have the same range as
// the one before.
#ifndef HBBP_LIB_EXPORT_FRAME_FINDER_H_
#define HBBP_LIB_EXPORT_FRAME_FINDER_H_

#include <vector>

#include "base/address.h"
#include "symbols/line_table.h"

namespace hbbp {

class FrameFinder {
 public:
  explicit FrameFinder(const LineTable* table) : table_(table) {}

  const std::vector<LineFrame>& At(ModuleAddress address) {
    if (!is_valid_ || !found_.range.Contains(address)) {
      found_ = table_->Find(address);
      is_valid_ = true;
    }
    return found_.frames;
  }

  // Returns where the frames returned last hold.
  const AddressRange& range() const { return found_.range; }

 private:
  const LineTable* table_;
  LineRange found_;
  bool is_valid_ = false;
};

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_FRAME_FINDER_H_
