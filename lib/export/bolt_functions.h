// BoltFunctions names the functions of an ELF file as llvm-bolt does, which finds the functions of
// a profile by these names:
//
//   main                      a global symbol
//   step/2                    a local symbol: the second one of that name, by address
//   qsort@PLT                 a stub of a procedure linkage table
//   __BOLT_PSEUDO_.plt        the head of such a table, which binds functions at their first calls
//   __BOLT_FDE_FUNCat401136   code that only the unwind table describes, as in a stripped file
//
// Only the symbols of the file itself count, not those of a separate debug file: llvm-bolt does not
// read it.
#ifndef HBBP_LIB_EXPORT_BOLT_FUNCTIONS_H_
#define HBBP_LIB_EXPORT_BOLT_FUNCTIONS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/status.h"
#include "image/elf_file.h"
#include "image/elf_image.h"
#include "image/module_code.h"

namespace hbbp {

class BoltFunctions {
 public:
  struct Function {
    AddressRange range;
    std::string name;
  };

  // Messages begin with `name`. Returns kNotFound if the image is not of a file.
  static StatusOr<std::unique_ptr<BoltFunctions>> Create(const ElfImage& image,
                                                         const std::string& name);

  // Returns null where there is no function.
  const Function* Find(ModuleAddress address) const;

 private:
  struct Label;

  static std::vector<Label> ListLabels(const ElfFile& file);
  void AddFunctions(const std::vector<Label>& labels);
  void AddPlt(const ElfFile& file, const ElfImage& image);
  void AddUnwound(const ElfImage& image);

  std::vector<Function> functions_;  // by address, without overlaps
};

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_BOLT_FUNCTIONS_H_
