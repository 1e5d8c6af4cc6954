// CodeRegions divides the executable address ranges of a module at the bounds of its sections.
#ifndef HBBP_LIB_IMAGE_CODE_REGIONS_H_
#define HBBP_LIB_IMAGE_CODE_REGIONS_H_

#include <cstdint>
#include <vector>

#include "image/elf_file.h"
#include "image/module_code.h"
#include "image/segments.h"

namespace hbbp {

struct CodeRegion {
  AddressRange range;
  // This is the size of one stub in a procedure linkage table, otherwise 0.
  uint64_t plt_entry_size = 0;
};

// Together the regions cover every executable segment and nothing else: a gap between sections is a
// region too.
class CodeRegions {
 public:
  CodeRegions(const ElfFile& file, const Segments& segments);

  // Returns the regions by address, without overlaps.
  const std::vector<CodeRegion>& all() const { return regions_; }
  // Returns null where there is no code.
  const CodeRegion* Find(ModuleAddress address) const;

 private:
  std::vector<CodeRegion> regions_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_CODE_REGIONS_H_
