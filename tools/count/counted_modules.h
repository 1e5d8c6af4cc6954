// Finds the modules that traced processes execute, and the addresses of their files.
#ifndef HBBP_TOOLS_COUNT_COUNTED_MODULES_H_
#define HBBP_TOOLS_COUNT_COUNTED_MODULES_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "image/elf_image.h"
#include "image/process_maps.h"

namespace hbbp::tools {

struct CountedModule {
  std::string path;                 // "[vdso]"; "???" for code that no file backs
  std::string build_id;             // hexadecimal; empty if there is none
  std::unique_ptr<ElfImage> image;  // null if it could not be read

  // Returns the address in the ELF file or, without an image, the offset in the file.
  uint64_t ModuleAddressFrom(const Mapping& mapping, uint64_t runtime_address) const;
};

// Opens each file when it is first executed, so that the file may be deleted afterwards.
class CountedModules {
 public:
  CountedModules();

  // The module lives as long as this object.
  const CountedModule* Of(const Mapping& mapping, pid_t pid);
  // Returns the module of code that no file backs.
  const CountedModule* generated() const { return &generated_; }

  // Returns what could not be read, one line each.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  using Key = std::tuple<std::string, uint32_t, uint32_t, uint64_t>;

  StatusOr<std::unique_ptr<ElfImage>> Open(const Mapping& mapping, pid_t pid) const;

  std::map<Key, CountedModule> modules_;
  CountedModule generated_;
  std::vector<std::string> problems_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COUNT_COUNTED_MODULES_H_
