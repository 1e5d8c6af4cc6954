// DwoPackage::Open reads the index of the package, by either version, into a map from unit ids to
// the parts of sections. CutOut then reads the parts of one unit, copies the strings that it uses
// (CutStrings), puts the address of its code where the split unit has its id (MakeWhole5,
// MakeWhole4), and writes an ELF file in memory by SectionFile. SplitUnits calls both.
#include "symbols/dwo_package.h"

#include <dwarf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/byte_cursor.h"
#include "base/leb128.h"
#include "image/file_bytes.h"
#include "symbols/section_file.h"

namespace hbbp {
namespace {

constexpr const char* kSectionNames[] = {".debug_info.dwo", ".debug_abbrev.dwo",
                                         ".debug_str_offsets.dwo", ".debug_rnglists.dwo"};

// These are the section numbers in the index; both versions agree on all but the last.
constexpr uint32_t kSectionNumbers[] = {1, 3, 6, 8};
constexpr uint32_t kRnglistsNumber = 8;  // in DWARF 4: types
constexpr uint32_t kMaxColumns = 8;
// This bounds one section of a unit. No compiler writes as many bytes, but a sparse file may have
// any size.
constexpr uint64_t kMaxUnitBytes = 256ull << 20;

// AttributeRange has the bounds of the attributes of `code` in a table of abbreviations.
struct AttributeRange {
  size_t start = 0;
  size_t end = 0;     // position of the pair 0, 0
  size_t dwo_id = 0;  // position of its DW_AT_GNU_dwo_id; 0: none
};

bool FindAttributes(std::span<const uint8_t> table, uint64_t code, AttributeRange* found) {
  ByteCursor cursor(table);
  for (;;) {
    uint64_t each, tag;
    uint8_t has_children;
    if (!ReadUleb128(&cursor, &each) || each == 0 || !ReadUleb128(&cursor, &tag) ||
        !cursor.Read(&has_children)) {
      return false;
    }
    found->start = cursor.position();
    found->dwo_id = 0;
    for (;;) {
      const size_t at = cursor.position();
      uint64_t name, form, value;
      if (!ReadUleb128(&cursor, &name) || !ReadUleb128(&cursor, &form)) return false;
      if (form == DW_FORM_implicit_const && !ReadUleb128(&cursor, &value)) return false;
      if (name == DW_AT_GNU_dwo_id && form == DW_FORM_data8) found->dwo_id = at;
      if (name == 0 && form == 0) break;
    }
    found->end = cursor.position();
    if (each == code) return true;
  }
}

// Skips a value that may precede the dwo_id in the DIE of a split unit. Returns false for forms
// that no compiler uses there.
bool SkipValue(ByteCursor* cursor, uint64_t form) {
  uint64_t value;
  std::string text;
  switch (form) {
    case DW_FORM_GNU_str_index:
    case DW_FORM_strx:
    case DW_FORM_udata:
    case DW_FORM_sdata:
      return ReadUleb128(cursor, &value);
    case DW_FORM_string:
      return cursor->ReadCString(&text);
    case DW_FORM_flag_present:
      return true;
    case DW_FORM_data1:
    case DW_FORM_flag:
      return cursor->Skip(1);
    case DW_FORM_data2:
      return cursor->Skip(2);
    case DW_FORM_data4:
    case DW_FORM_sec_offset:
      return cursor->Skip(4);
    case DW_FORM_data8:
      return cursor->Skip(8);
    default:
      return false;
  }
}

template <typename T>
void Put(std::vector<uint8_t>* bytes, size_t at, T value) {
  std::memcpy(bytes->data() + at, &value, sizeof(value));
}

// In DWARF 5, DW_AT_low_pc replaces the id in the header.
bool MakeWhole5(uint64_t low_pc, std::vector<uint8_t>* info, std::vector<uint8_t>* abbrev) {
  constexpr size_t kSplitHeader = 20, kHeader = 12, kUnitType = 6, kAbbrevOffset = 8;
  ByteCursor cursor(*info);
  uint64_t code;
  if (!cursor.Skip(kSplitHeader) || !ReadUleb128(&cursor, &code)) return false;
  AttributeRange attributes;
  if ((*info)[kUnitType] != DW_UT_split_compile || !FindAttributes(*abbrev, code, &attributes)) {
    return false;
  }
  const size_t code_bytes = cursor.position() - kSplitHeader;
  (*info)[kUnitType] = DW_UT_compile;
  Put<uint32_t>(info, kAbbrevOffset, 0);
  std::memmove(info->data() + kHeader, info->data() + kSplitHeader, code_bytes);
  Put(info, kHeader + code_bytes, low_pc);
  constexpr uint8_t kLowPc[] = {DW_AT_low_pc, DW_FORM_addr};
  abbrev->insert(abbrev->begin() + static_cast<ptrdiff_t>(attributes.start), std::begin(kLowPc),
                 std::end(kLowPc));
  return true;
}

// In DWARF 4, DW_AT_low_pc replaces the attribute that has the id.
bool MakeWhole4(uint64_t low_pc, std::vector<uint8_t>* info, std::vector<uint8_t>* abbrev) {
  constexpr size_t kHeader = 11, kAbbrevOffset = 6;
  ByteCursor cursor(*info);
  uint64_t code;
  AttributeRange attributes;
  if (!cursor.Skip(kHeader) || !ReadUleb128(&cursor, &code) ||
      !FindAttributes(*abbrev, code, &attributes) || attributes.dwo_id == 0) {
    return false;
  }
  ByteCursor names(*abbrev);
  uint64_t name, form;
  for (names.Seek(attributes.start); names.position() != attributes.dwo_id;) {
    if (!ReadUleb128(&names, &name) || !ReadUleb128(&names, &form) || !SkipValue(&cursor, form)) {
      return false;
    }
  }
  if (cursor.remaining() < sizeof(low_pc)) return false;
  Put<uint32_t>(info, kAbbrevOffset, 0);
  Put(info, cursor.position(), low_pc);
  // It has the length of what it replaces.
  constexpr uint8_t kLowPc[] = {DW_AT_low_pc | 0x80, 0, DW_FORM_addr};
  std::copy(std::begin(kLowPc), std::end(kLowPc), abbrev->begin() + attributes.dwo_id);
  return true;
}

}  // namespace

Status DwoPackage::Damaged(std::string_view what) const {
  return MakeStatus(StatusCode::kBadFormat,
                    "%s: %s is damaged; make it again (llvm-dwp -e PROGRAM)", path_.c_str(),
                    std::string(what).c_str());
}

StatusOr<std::unique_ptr<DwoPackage>> DwoPackage::Open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<FileBytes> bytes, FileBytes::FromFd(std::move(fd), path));
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<ElfFile> file,
                        ElfFile::Create(std::move(bytes), path, ElfKind::kAny));
  std::unique_ptr<DwoPackage> package(new DwoPackage(std::move(file), path));
  HBBP_RETURN_IF_ERROR(package->ReadIndex());
  return package;
}

DwoPackage::Section DwoPackage::FindSection(std::string_view name) const {
  const ElfSection* const found = file_->FindSection(name);
  const uint64_t file_size = file_->bytes().size();
  if (found == nullptr || found->header.sh_type == SHT_NOBITS ||
      found->header.sh_offset > file_size) {
    return {};
  }
  const uint64_t offset = found->header.sh_offset;
  return {offset, std::min(found->header.sh_size, file_size - offset)};
}

Status DwoPackage::ReadIndex() {
  const ElfSection* const index = file_->FindSection(".debug_cu_index");
  strings_ = FindSection(".debug_str.dwo");
  for (int kind = 0; kind < kKinds; ++kind) sections_[kind] = FindSection(kSectionNames[kind]);
  for (const ElfSection& section : file_->sections()) {
    if ((section.header.sh_flags & SHF_COMPRESSED) == 0) continue;
    return MakeStatus(StatusCode::kUnsupported,
                      "%s: is compressed; unpack it (objcopy --decompress-debug-sections)",
                      path_.c_str());
  }
  if (index == nullptr) return Damaged("the file has no .debug_cu_index, which");
  const std::span<const uint8_t> bytes = file_->SectionBytes(*index);
  ByteCursor cursor(bytes);
  uint32_t version, columns, units, slots;
  if (!cursor.Read(&version) || !cursor.Read(&columns) || !cursor.Read(&units) ||
      !cursor.Read(&slots)) {
    return Damaged(".debug_cu_index");
  }
  if (version != 2 && version != 5) {
    return MakeStatus(StatusCode::kUnsupported, "%s: .debug_cu_index has version %u, not 2 or 5",
                      path_.c_str(), version);
  }
  const size_t rows_at = cursor.position() + uint64_t{slots} * 12;
  const size_t cells = uint64_t{units} * columns * sizeof(uint32_t);
  if (columns > kMaxColumns || rows_at + columns * sizeof(uint32_t) + 2 * cells > bytes.size()) {
    return Damaged(".debug_cu_index");
  }
  std::array<uint32_t, kMaxColumns> numbers = {};
  cursor.Seek(rows_at);
  for (uint32_t i = 0; i < columns; ++i) cursor.Read(&numbers[i]);
  const size_t offsets_at = cursor.position();
  for (uint32_t slot = 0; slot < slots; ++slot) {
    uint64_t id;
    uint32_t row;
    ByteCursor ids(bytes), rows(bytes);
    ids.Seek(16 + slot * sizeof(id));
    rows.Seek(16 + slots * sizeof(id) + slot * sizeof(row));
    if (!ids.Read(&id) || !rows.Read(&row) || row == 0 || row > units) continue;
    Parts parts;
    for (uint32_t column = 0; column < columns; ++column) {
      const auto* const kind = std::ranges::find(kSectionNumbers, numbers[column]);
      if (kind == std::end(kSectionNumbers) || (*kind == kRnglistsNumber && version != 5)) continue;
      Part& part = parts[static_cast<size_t>(kind - kSectionNumbers)];
      const size_t cell = (uint64_t{row - 1} * columns + column) * sizeof(uint32_t);
      cursor.Seek(offsets_at + cell);
      cursor.Read(&part.offset);
      cursor.Seek(offsets_at + cells + cell);
      cursor.Read(&part.size);
    }
    units_.emplace(id, parts);
  }
  return OkStatus();
}

StatusOr<std::vector<uint8_t>> DwoPackage::Read(const Parts& parts, Kind kind) const {
  const Part& part = parts[kind];
  const Section& section = sections_[kind];
  if (part.size == 0) return std::vector<uint8_t>();
  if (part.offset > section.size || part.size > section.size - part.offset ||
      part.size > kMaxUnitBytes) {
    return Damaged(kSectionNames[kind]);
  }
  std::vector<uint8_t> bytes(part.size);
  const auto at = static_cast<off_t>(section.offset + part.offset);
  if (::pread(file_->bytes().fd(), bytes.data(), bytes.size(), at) !=
      static_cast<ssize_t>(bytes.size())) {
    return Damaged(kSectionNames[kind]);
  }
  return bytes;
}

std::string_view DwoPackage::String(uint64_t offset) const {
  if (offset >= strings_.size) return {};
  const uint64_t limit = std::min(kMaxNameSize, strings_.size - offset);
  return StringAt(file_->bytes().Span({strings_.offset + offset}, limit), 0);
}

// Copies the strings that `offsets` refers to after its header, and sets `new_offsets` to their new
// positions.
Status DwoPackage::CutStrings(const std::vector<uint8_t>& offsets, size_t header,
                              std::vector<uint8_t>* new_offsets,
                              std::vector<uint8_t>* strings) const {
  if (offsets.size() < header) return Damaged(kSectionNames[kStrOffsets]);
  if (strings_.size == 0) return offsets.empty() ? OkStatus() : Damaged(".debug_str.dwo");
  // Overlapping strings of a hostile file could take more memory than the section, and as long to
  // copy.
  const uint64_t max_bytes = std::min(kMaxUnitBytes, strings_.size + offsets.size());
  *new_offsets = offsets;
  std::unordered_map<uint32_t, uint32_t> known;
  for (size_t at = header; at + sizeof(uint32_t) <= offsets.size(); at += sizeof(uint32_t)) {
    uint32_t offset;
    std::memcpy(&offset, offsets.data() + at, sizeof(offset));
    const auto [copied, is_new] = known.emplace(offset, static_cast<uint32_t>(strings->size()));
    if (is_new) {
      const std::string_view text = String(offset);
      strings->insert(strings->end(), text.begin(), text.end());
      strings->push_back(0);
      if (strings->size() > max_bytes) return Damaged(".debug_str.dwo");
    }
    Put(new_offsets, at, copied->second);
  }
  return OkStatus();
}

StatusOr<UniqueFd> DwoPackage::CutOut(const SkeletonUnit& skeleton) const {
  const auto unit = units_.find(skeleton.id);
  if (unit == units_.end()) {
    return MakeStatus(
        StatusCode::kMismatch,
        "%s: has no unit 0x%016llx; it is of another build: make it again (llvm-dwp -e "
        "PROGRAM)",
        path_.c_str(), static_cast<unsigned long long>(skeleton.id));
  }
  HBBP_ASSIGN_OR_RETURN(std::vector<uint8_t> info, Read(unit->second, kInfo));
  HBBP_ASSIGN_OR_RETURN(std::vector<uint8_t> abbrev, Read(unit->second, kAbbrev));
  HBBP_ASSIGN_OR_RETURN(const std::vector<uint8_t> offsets, Read(unit->second, kStrOffsets));
  HBBP_ASSIGN_OR_RETURN(const std::vector<uint8_t> rnglists, Read(unit->second, kRnglists));
  ByteCursor header(info);
  uint32_t length;
  uint16_t version;
  if (!header.Read(&length) || length >= 0xfffffff0u || !header.Read(&version)) {
    return Damaged(kSectionNames[kInfo]);
  }
  const bool is_dwarf5 = version >= 5;
  if (!(is_dwarf5 ? MakeWhole5 : MakeWhole4)(skeleton.low_pc, &info, &abbrev)) {
    return Damaged(kSectionNames[kInfo]);
  }
  std::vector<uint8_t> new_offsets, strings;
  constexpr size_t kOffsetsHeader5 = 8;
  HBBP_RETURN_IF_ERROR(CutStrings(offsets, is_dwarf5 && !offsets.empty() ? kOffsetsHeader5 : 0,
                                  &new_offsets, &strings));

  UniqueFd memory(::memfd_create("hbbp-unit", MFD_CLOEXEC));
  if (!memory.valid()) return ErrnoStatus(errno, path_ + ": no memory for a unit");
  SectionFile whole(std::move(memory));
  const std::pair<std::string_view, std::span<const uint8_t>> sections[] = {
      {".debug_info", info},
      {".debug_abbrev", abbrev},
      {".debug_str", strings},
      {".debug_str_offsets", new_offsets},
      {".debug_rnglists", rnglists},
      {".debug_addr", skeleton.addresses},
      {".debug_ranges", skeleton.ranges}};
  for (const auto& [name, bytes] : sections) {
    if (bytes.empty()) continue;
    whole.Begin(name);
    HBBP_RETURN_IF_ERROR(whole.Write(bytes));
  }
  return whole.Finish();
}

}  // namespace hbbp
