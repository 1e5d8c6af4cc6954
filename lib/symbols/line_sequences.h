// A line table is made of sequences, each of code that is contiguous. Those of functions that the
// linker dropped (--gc-sections, copies of inline functions) are still in it: their address is 0
// for ld.bfd and gold, and -1 for newer versions of lld. They may be long enough to reach the code
// of other functions, and libdw sorts the rows of all sequences together.
#ifndef HBBP_LIB_SYMBOLS_LINE_SEQUENCES_H_
#define HBBP_LIB_SYMBOLS_LINE_SEQUENCES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "base/work.h"

namespace hbbp {

// Linkers give code that they dropped the address 0, 1 (in lists of ranges, which 0 would end) or
// the highest ones, at which no code is.
constexpr bool IsDropped(uint64_t start) { return start <= 1 || start >= UINT64_MAX - 2; }

// SequenceRow is a row of a line table.
struct SequenceRow {
  uint64_t address = 0;
  bool is_end = false;      // of its sequence
  bool is_dropped = false;  // its sequence is of a dropped function

  bool operator==(const SequenceRow&) const = default;
};

// Decodes the line table of a unit, of DWARF 2 to 5, and returns its rows in the order of libdw: by
// address, ends first. Returns nothing if it is damaged.
std::vector<SequenceRow> ReadSequences(std::span<const uint8_t> table);

// LineSection reads line tables from .debug_line of a file.
class LineSection {
 public:
  // `fd` must stay open.
  explicit LineSection(int fd, const CancelFlag* cancel = nullptr) : fd_(fd), cancel_(cancel) {}

  // Returns the bytes of the table at `offset`, or nothing if they cannot be read. Unpacks the
  // debug information at the first call if it is compressed. Throws WorkCancelled.
  std::vector<uint8_t> Read(uint64_t offset);

 private:
  void Open();
  std::vector<uint8_t> ReadBytes(uint64_t offset, uint64_t size) const;

  int fd_;
  const CancelFlag* cancel_;
  bool was_opened_ = false;
  UniqueFd unpacked_;
  uint64_t start_ = 0;  // in the file
  uint64_t size_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_LINE_SEQUENCES_H_
