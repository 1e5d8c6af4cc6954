// SplitUnits: where the other part of a split unit is: in its .dwo file, or in a .dwp package.
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
  UniqueFd fd;  // of a unit that was cut out of a package
  std::unique_ptr<Dwarf, int (*)(Dwarf*)> dwarf{nullptr, nullptr};  // likewise
  Dwarf_Die die = {};

  bool IsOfPackage() const { return dwarf != nullptr; }
};

// Not thread-safe.
class SplitUnits {
 public:
  // `file` has to outlive this. If `cancel` is set while a package is read, WorkCancelled is
  // thrown.
  SplitUnits(const Libdw& libdw, const DebugInfoFile& file, std::string module,
             const CancelFlag* cancel)
      : libdw_(libdw), file_(file), module_(std::move(module)), cancel_(cancel) {}

  // `libdw_fd` is what libdw reads `unit` from. Nothing if the unit is not split, or what it was
  // split from is missing or damaged: then `problem` says so.
  std::optional<SplitUnit> Find(Dwarf_Die* unit, int libdw_fd, std::string* problem);

 private:
  std::string TextOf(Dwarf_Die* unit, std::initializer_list<unsigned int> names) const;
  std::optional<uint64_t> NumberOf(Dwarf_Die* unit,
                                   std::initializer_list<unsigned int> names) const;
  // The files that libdw opens for a unit of `path`, in order: beside that, and where the compiler
  // put it.
  std::vector<std::string> Candidates(Dwarf_Die* unit, const std::string& name,
                                      const std::string& path) const;
  // Nothing if no candidate is of this unit; `problem` says what is wrong with those that are
  // there. `own_package` is what libdw 0.191 and later open before them.
  std::optional<SplitUnit> FindInFile(Dwarf_Die* unit, const std::vector<std::string>& candidates,
                                      const std::string& own_package, std::string* problem) const;
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
  std::unique_ptr<ElfFile> sections_;    // of file_; those that are used are not compressed
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_SPLIT_UNITS_H_
