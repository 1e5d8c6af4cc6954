// EhFrame finds the code ranges that the unwind tables of a module describe.
//
// A compiler emits one FDE for each function, or each part of one ("foo", "foo.cold"), so these
// ranges are exact even in a stripped file. Lookup uses the binary search table of .eh_frame_hdr
// and reads only the entries that it compares. If a file has no usable table, the first lookup
// reads all of its .eh_frame.
#ifndef HBBP_LIB_IMAGE_EH_FRAME_H_
#define HBBP_LIB_IMAGE_EH_FRAME_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"
#include "image/module_code.h"
#include "image/segments.h"

namespace hbbp {

class EhFrame {
 public:
  // `header` is .eh_frame_hdr (PT_GNU_EH_FRAME), `frames` is .eh_frame; either may be missing.
  // `segments` must outlive this object.
  EhFrame(const Segments* segments, std::optional<ModuleAddress> header,
          std::optional<AddressRange> frames);

  struct Neighbourhood {
    std::optional<AddressRange> around;
    // If no range is around the address, these are the end of the range before it and the start of
    // the next one.
    ModuleAddress previous_end{0};
    ModuleAddress next_start{UINT64_MAX};
  };
  Neighbourhood Find(ModuleAddress address) const;

  // Returns whether exceptions in `part` may be handled outside of it, as where a compiler moves
  // handlers to a cold part. Says so too if that cannot be found out.
  bool HasDistantHandlers(const AddressRange& part) const;

  // Returns all ranges, by address.
  std::vector<AddressRange> All() const;

 private:
  struct TableEntry {
    ModuleAddress start;
    ModuleAddress fde;
  };

  void ReadHeader();
  TableEntry EntryAt(uint64_t index) const;
  // Returns the number of entries that start at `address` or before it.
  uint64_t CountEntriesUpTo(ModuleAddress address) const;
  Neighbourhood FindInTable(ModuleAddress address) const;
  Neighbourhood FindInWalked(ModuleAddress address) const;
  // Returns the range of the entry, cut where the next entry starts.
  std::optional<AddressRange> RangeOfEntry(uint64_t index) const;
  const std::vector<AddressRange>& Walked() const;

  const Segments* segments_;
  std::optional<ModuleAddress> header_;
  std::optional<AddressRange> frames_;
  FileOffset table_{0};
  uint64_t table_count_ = 0;  // 0: no table
  mutable std::optional<std::vector<AddressRange>> walked_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_EH_FRAME_H_
