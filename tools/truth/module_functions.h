// The functions of a module's file, whether anything of them was sampled or not.
#ifndef HBBP_TOOLS_TRUTH_MODULE_FUNCTIONS_H_
#define HBBP_TOOLS_TRUTH_MODULE_FUNCTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "compare.h"
#include "image/elf_image.h"

namespace hbbp::tools {

class ModuleFunctions {
 public:
  // Finds nothing where the file is missing or has another build ID.
  ModuleFunctions(const std::string& path, const std::string& build_id);

  std::optional<Code::Function> Find(uint64_t address) const;

 private:
  std::unique_ptr<ElfImage> image_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_MODULE_FUNCTIONS_H_
