// SplitUnits finds the other part of a split unit, in its .dwo file or in a .dwp package.
#ifndef HBBP_LIB_SYMBOLS_SPLIT_UNITS_H_
#define HBBP_LIB_SYMBOLS_SPLIT_UNITS_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "image/elf_file.h"
#include "symbols/debug_info_file.h"
#include "symbols/dwo_package.h"
#include "symbols/libdw.h"

namespace hbbp {

struct SplitUnit {
  UniqueFd fd;  // set if the unit was cut out of a package
  std::unique_ptr<Dwarf, int (*)(Dwarf*)> dwarf{nullptr, nullptr};  // likewise
  Dwarf_Die die = {};

  bool IsOfPackage() const { return dwarf != nullptr; }
};

// This class is not thread-safe.
class SplitUnits {
 public:
  // `file` must outlive this object. If `cancel` is set while a package is read, WorkCancelled is
  // thrown.
  SplitUnits(const Libdw& libdw, const DebugInfoFile& file, std::string module,
             const CancelFlag* cancel)
      : libdw_(libdw), file_(file), module_(std::move(module)), cancel_(cancel) {}

  // `libdw_fd` is the file that libdw reads `unit` from. Returns nothing if the unit is not split;
  // kNotFound if its other part is missing, and kMismatch, kBadFormat or another error if it cannot
  // be used.
  StatusOr<std::optional<SplitUnit>> Find(Dwarf_Die* unit, int libdw_fd);

 private:
  std::string ReadText(Dwarf_Die* unit, std::initializer_list<unsigned int> names) const;
  std::optional<uint64_t> ReadNumber(Dwarf_Die* unit,
                                     std::initializer_list<unsigned int> names) const;
  // Returns the files that libdw opens for a unit of `path`, in order: next to `path`, and in the
  // compilation directory.
  std::vector<std::string> Candidates(Dwarf_Die* unit, const std::string& name,
                                      const std::string& path) const;
  // Returns nothing if no candidate exists, and kMismatch if those that exist are not of this unit.
  // libdw 0.191 and later open `own_package` before the candidates.
  StatusOr<std::optional<SplitUnit>> FindInFile(Dwarf_Die* unit,
                                                const std::vector<std::string>& candidates,
                                                const std::string& own_package) const;
  void OpenPackage();
  Status ReadSections();
  StatusOr<SplitUnit> FindInPackage(Dwarf_Die* unit, uint64_t id);
  std::vector<uint8_t> Slice(const char* section, uint64_t offset, bool has_length) const;

  const Libdw& libdw_;
  const DebugInfoFile& file_;
  const std::string module_;
  const CancelFlag* const cancel_;
  bool was_opened_ = false;
  Status package_status_;
  std::unique_ptr<DwoPackage> package_;  // null: there is none
  std::unique_ptr<ElfFile> sections_;    // of file_; the sections that are used are not compressed
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_SPLIT_UNITS_H_
