// AddressLayout gives each module of a profile addresses of its own, as if one process had loaded
// them all: readers know a location by its run-time address, and analyses have addresses of files.
//
// Code that is not of a file keeps its addresses, and so does a file that is linked for certain
// ones. The others, which the loader maps anywhere, follow each other. Of these the program keeps
// the addresses of its file, too, unless other code is there: go tool pprof disassembles no code
// that was moved.
#ifndef HBBP_LIB_EXPORT_ADDRESS_LAYOUT_H_
#define HBBP_LIB_EXPORT_ADDRESS_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/analysis.h"
#include "base/address.h"
#include "image/module_code.h"
#include "mix/pivot_input.h"
#include "profile/profile_data.h"

namespace hbbp {

// Pages of code as the loader maps them.
struct MappedCode {
  uint32_t module = 0;
  AddressRange range;  // in the module
  uint64_t start = 0;  // at run time
  uint64_t file_offset = 0;

  uint64_t end() const { return start + (range.end - range.start); }
  uint64_t AddressOf(ModuleAddress address) const { return start + (address - range.start); }
};

// Code of a module that needs run-time addresses.
struct UsedCode {
  uint32_t module = 0;
  AddressRange range;
};

class AddressLayout {
 public:
  // Lays out the executable segments of files that the code is in, and the pages of other code.
  AddressLayout(const Analysis& analysis, const std::vector<UsedCode>& code);
  // Does the same for the blocks of `input`.
  AddressLayout(const Analysis& analysis, const PivotInput& input);

  // Returns them by module and address.
  const std::vector<MappedCode>& mapped() const { return mapped_; }
  // Returns an index of mapped(), or its size for an address of other code than that.
  size_t Find(uint32_t module, ModuleAddress address) const;

 private:
  std::vector<MappedCode> mapped_;
};

// Returns the module that was started: the first one that the command line names, which may begin
// with that of perf record. Returns kNoIndex if it names none.
uint32_t ProgramOf(const ProfileData& data);

// Returns the address of a block, or of the function that it stands for.
ModuleAddress FindStart(const PivotBlock& block, const Analysis& analysis);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_ADDRESS_LAYOUT_H_
