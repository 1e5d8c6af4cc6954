// ElfImage: an ELF file as a ModuleCode, with build ID, segments and symbols.
#ifndef HBBP_LIB_IMAGE_ELF_IMAGE_H_
#define HBBP_LIB_IMAGE_ELF_IMAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "image/module_code.h"

namespace hbbp {

struct ElfImageOptions {
  // Where separate debug files are looked for by build ID and by .gnu_debuglink; empty: nowhere.
  std::string debug_root = "/usr/lib/debug";
};

class ElfImage : public ModuleCode {
 public:
  // Errors: kNotFound, kPermission, kIo for the file; kBadFormat for what is no x86-64 ELF
  // executable or shared object. Messages begin with the path.
  static StatusOr<std::unique_ptr<ElfImage>> Open(const std::string& path,
                                                  const ElfImageOptions& options = {});
  // Takes the descriptor: for a file that was deleted or replaced while it is open.
  static StatusOr<std::unique_ptr<ElfImage>> FromFd(UniqueFd fd, const std::string& name,
                                                    const ElfImageOptions& options = {});
  // A whole image in memory, such as the vdso.
  static StatusOr<std::unique_ptr<ElfImage>> FromMemory(std::vector<uint8_t> bytes,
                                                        const std::string& name,
                                                        const ElfImageOptions& options = {});
  ~ElfImage() override;

  // Raw bytes of NT_GNU_BUILD_ID; empty if there is none.
  std::span<const uint8_t> build_id() const;

  // Of the file, owned by this object; -1 if the image is in memory.
  int fd() const;

  // By program headers. Nothing outside every PT_LOAD.
  std::optional<ModuleAddress> AddressOfOffset(FileOffset offset) const;
  std::optional<FileOffset> OffsetOfAddress(ModuleAddress address) const;

  // Of a symbol of any kind, in the file or its separate debug file.
  std::optional<ModuleAddress> AddressOfSymbol(std::string_view name) const;
  // Does it, or its separate debug file, name functions?
  bool HasSymbols() const;
  // False for a separate debug file, which has the headers of code that it does not have.
  bool HasCode() const;
  // The start of the first executable segment.
  std::optional<ModuleAddress> CodeStart() const;

  // Every function that a symbol table or the unwind table gives, sorted by start, no overlaps.
  std::vector<AddressRange> AllFunctions() const;

  std::span<const uint8_t> CodeAt(ModuleAddress address, size_t size) const override;
  std::span<const uint8_t> DataAt(ModuleAddress address, size_t size) const override;
  std::optional<AddressRange> FunctionAround(ModuleAddress address) const override;
  std::string FunctionName(ModuleAddress address) const override;

 private:
  struct State;
  explicit ElfImage(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_ELF_IMAGE_H_
