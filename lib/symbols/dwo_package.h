// DwoPackage reads split units from a .dwp file, of DWARF 5 or of GNU's form of it for DWARF 4.
//
// libdw before 0.191 does not read packages, and has no function to set the file of a split unit.
// So a unit is cut out and completed to an ELF file in memory with an ordinary unit, whose
// addresses, strings and ranges begin at 0 of their sections.
#ifndef HBBP_LIB_SYMBOLS_DWO_PACKAGE_H_
#define HBBP_LIB_SYMBOLS_DWO_PACKAGE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "image/elf_file.h"

namespace hbbp {

// SkeletonUnit is the part of a split unit that is in the program itself.
struct SkeletonUnit {
  uint64_t id = 0;
  uint64_t low_pc = 0;
  std::vector<uint8_t> addresses;  // .debug_addr from the unit's base on
  std::vector<uint8_t> ranges;     // .debug_ranges likewise (DWARF 4)
};

// This class is not thread-safe.
class DwoPackage {
 public:
  // Returns kNotFound if there is no such file, and kBadFormat or kUnsupported with the reason.
  // Messages begin with the path.
  static StatusOr<std::unique_ptr<DwoPackage>> Open(const std::string& path);

  // Returns kMismatch if no unit has that id.
  StatusOr<UniqueFd> CutOut(const SkeletonUnit& skeleton) const;

 private:
  enum Kind { kInfo, kAbbrev, kStrOffsets, kRnglists, kKinds };
  struct Part {
    uint32_t offset = 0;
    uint32_t size = 0;
  };
  using Parts = std::array<Part, kKinds>;
  // Section is the range that the file has of a section, which may be less than its header claims.
  struct Section {
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  DwoPackage(std::unique_ptr<ElfFile> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  Status ReadIndex();
  Section FindSection(std::string_view name) const;
  Status Damaged(std::string_view what) const;
  StatusOr<std::vector<uint8_t>> Read(const Parts& parts, Kind kind) const;
  std::string_view String(uint64_t offset) const;
  Status CutStrings(const std::vector<uint8_t>& offsets, size_t header,
                    std::vector<uint8_t>* new_offsets, std::vector<uint8_t>* strings) const;

  std::unique_ptr<ElfFile> file_;
  std::string path_;
  Section strings_;
  std::array<Section, kKinds> sections_;
  std::unordered_map<uint64_t, Parts> units_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_DWO_PACKAGE_H_
