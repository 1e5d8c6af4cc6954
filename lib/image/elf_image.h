// ElfImage is an ELF file as a ModuleCode, with build ID, segments and symbols.
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
#include "image/data_objects.h"
#include "image/module_code.h"
#include "image/segments.h"

namespace hbbp {

class FileBytes;

struct ElfImageOptions {
  // Separate debug files are searched for here, by build ID and by .gnu_debuglink; if it is empty,
  // nowhere.
  std::string debug_root = "/usr/lib/debug";
};

class ElfImage : public ModuleCode {
 public:
  // Returns kNotFound, kPermission or kIo for the file, and kBadFormat if it is not an x86-64 ELF
  // executable or shared object. Messages begin with the path.
  static StatusOr<std::unique_ptr<ElfImage>> Open(const std::string& path,
                                                  const ElfImageOptions& options = {});
  // Takes the descriptor, for a file that was deleted or replaced while it is open.
  static StatusOr<std::unique_ptr<ElfImage>> FromFd(UniqueFd fd, const std::string& name,
                                                    const ElfImageOptions& options = {});
  // Shares the descriptor, which the caller keeps too.
  static StatusOr<std::unique_ptr<ElfImage>> FromSharedFd(std::shared_ptr<const UniqueFd> fd,
                                                          const std::string& name,
                                                          const ElfImageOptions& options = {});
  // Takes a whole image in memory, such as the vdso.
  static StatusOr<std::unique_ptr<ElfImage>> FromMemory(std::vector<uint8_t> bytes,
                                                        const std::string& name,
                                                        const ElfImageOptions& options = {});
  ~ElfImage() override;

  // Returns the raw bytes of NT_GNU_BUILD_ID, or nothing if there is none.
  std::span<const uint8_t> build_id() const;

  // Returns the descriptor of the file, open as long as this object lives, or -1 if the image is in
  // memory.
  int fd() const;

  // Both convert by program headers, and return nothing outside of every PT_LOAD.
  std::optional<ModuleAddress> AddressOfOffset(FileOffset offset) const;
  std::optional<FileOffset> OffsetOfAddress(ModuleAddress address) const;

  // Finds a symbol of any kind, in the file or its separate debug file.
  std::optional<ModuleAddress> AddressOfSymbol(std::string_view name) const;
  // Returns whether it, or its separate debug file, names functions.
  bool HasSymbols() const;
  // Returns false for a separate debug file, which has the headers of code but not the code.
  bool HasCode() const;
  // Returns what the loader maps, by address.
  std::span<const Segment> LoadSegments() const;
  // Returns the start of the first executable section.
  std::optional<ModuleAddress> CodeStart() const;

  // Returns every function that a symbol table or the unwind table gives, by address, without
  // overlaps.
  std::vector<AddressRange> AllFunctions() const;

  // Returns the object around an address, or that a range touches alone; else the section, or
  // nothing if the file has no memory there.
  std::optional<DataObject> DataAround(const AddressRange& range) const;

  std::span<const uint8_t> CodeAt(ModuleAddress address, size_t size) const override;
  std::span<const uint8_t> DataAt(ModuleAddress address, size_t size) const override;
  std::optional<AddressRange> FunctionAround(ModuleAddress address) const override;
  std::string FunctionName(ModuleAddress address) const override;
  std::optional<ModuleAddress> PointerAt(ModuleAddress slot) const override;
  std::string ImportAt(ModuleAddress slot) const override;
  bool HasDistantHandlers(const AddressRange& part) const override;

 private:
  struct State;
  static StatusOr<std::unique_ptr<ElfImage>> FromBytes(std::unique_ptr<FileBytes> bytes,
                                                       const std::string& name,
                                                       const ElfImageOptions& options);
  explicit ElfImage(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_ELF_IMAGE_H_
