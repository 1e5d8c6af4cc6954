#include "truth/module_functions.h"

#include "format.h"

namespace hbbp::tools {

ModuleFunctions::ModuleFunctions(const std::string& path, const std::string& build_id) {
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path);
  if (!image.ok()) return;
  const std::string found = FormatHex((*image)->build_id().data(), (*image)->build_id().size());
  if (found == build_id) image_ = *std::move(image);
}

std::optional<Code::Function> ModuleFunctions::Find(uint64_t address) const {
  if (image_ == nullptr) return std::nullopt;
  const std::optional<AddressRange> range = image_->FunctionAround(ModuleAddress{address});
  if (!range) return std::nullopt;
  const std::string name = image_->FunctionName(range->start);
  return Code::Function{range->start.value,
                        name.empty() ? FormatAddress(range->start.value) : Demangle(name.c_str())};
}

}  // namespace hbbp::tools
