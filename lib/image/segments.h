// Segments finds by address what the loader maps of an ELF file.
#ifndef HBBP_LIB_IMAGE_SEGMENTS_H_
#define HBBP_LIB_IMAGE_SEGMENTS_H_

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "image/file_bytes.h"
#include "image/module_code.h"

namespace hbbp {

// A Segment is the part of a PT_LOAD that is in the file, without what the loader fills with zeros.
struct Segment {
  AddressRange range;
  FileOffset offset;
  bool executable = false;
};

class Segments {
 public:
  // `file` must outlive this object. A segment that overlaps one at a lower address is dropped.
  Segments(const FileBytes* file, std::span<const Elf64_Phdr> headers);

  const FileBytes& file() const { return *file_; }
  // Returns the segments by address.
  const std::vector<Segment>& all() const { return segments_; }
  const Segment* Find(ModuleAddress address) const;

  // Both return bytes from `address` on, to the end of the segment at most.
  std::span<const uint8_t> DataAt(ModuleAddress address, uint64_t size) const;
  std::span<const uint8_t> CodeAt(ModuleAddress address, uint64_t size) const;

  std::optional<FileOffset> OffsetOfAddress(ModuleAddress address) const;
  // An offset outside of all segments still has an address if it shares a page with the start of
  // one, because whole pages are mapped.
  std::optional<ModuleAddress> AddressOfOffset(FileOffset offset) const;

 private:
  std::span<const uint8_t> SegmentBytes(const Segment& segment, ModuleAddress address,
                                        uint64_t size) const;

  const FileBytes* file_;
  std::vector<Segment> segments_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_SEGMENTS_H_
