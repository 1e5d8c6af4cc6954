// KernelSymbols has the functions of a kernel and its modules, from /proc/kallsyms or a System.map.
#ifndef HBBP_LIB_IMAGE_KERNEL_SYMBOLS_H_
#define HBBP_LIB_IMAGE_KERNEL_SYMBOLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "image/module_code.h"

namespace hbbp {

// This is a ModuleCode without code, in which a ModuleAddress is the address that the kernel runs
// at.
class KernelSymbols : public ModuleCode {
 public:
  // Returns kPermission if the kernel hides its addresses (kernel.kptr_restrict), kNotFound or kIo
  // if /proc/kallsyms cannot be read, and kBadFormat as Parse does.
  static StatusOr<std::unique_ptr<KernelSymbols>> Read();
  // Reads a copy of that file, or a System.map. Returns kNotFound, kPermission or kIo as well.
  static StatusOr<std::unique_ptr<KernelSymbols>> Open(const std::string& path);
  // `text` has the format of /proc/kallsyms. Returns kBadFormat with the number of the line that
  // has not, and kPermission if every address in it is zero.
  static StatusOr<std::unique_ptr<KernelSymbols>> Parse(std::string text);

  std::span<const uint8_t> CodeAt(ModuleAddress address, size_t size) const override;
  std::span<const uint8_t> DataAt(ModuleAddress address, size_t size) const override;
  // A symbol ends where the next one starts; the last one of a module ends with its page.
  std::optional<AddressRange> FunctionAround(ModuleAddress address) const override;
  std::string FunctionName(ModuleAddress address) const override;

  // Finds a symbol of any kind in the kernel itself.
  std::optional<ModuleAddress> AddressOf(std::string_view name) const;

  // Returns the name of the kernel module that has the function around `address`: nothing for the
  // kernel itself, or where there is no function.
  std::string KernelModule(ModuleAddress address) const;

 private:
  struct Function {
    ModuleAddress start;
    std::string_view name;    // in text_
    std::string_view module;  // in text_
    uint8_t rank;             // a higher one is a better choice
  };

  explicit KernelSymbols(std::string text) : text_(std::move(text)) {}
  Status ParseText();
  static bool IsBetter(const Function& a, const Function& b);
  ModuleAddress EndOf(const Function& function) const;
  const Function* Find(ModuleAddress address) const;

  const std::string text_;
  std::vector<Function> functions_;  // by address, one each
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_KERNEL_SYMBOLS_H_
