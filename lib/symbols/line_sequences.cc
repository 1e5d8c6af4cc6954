// ReadSequences runs the line program of a unit as far as addresses depend on it (SequenceReader),
// and sorts the rows as libdw does. LineSection finds .debug_line in a file, which it unpacks
// first if the section is compressed, and reads the table of one unit. ReadLineUnit calls them for
// units with rows at addresses where no code can be.
#include "symbols/line_sequences.h"

#include <dwarf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/byte_cursor.h"
#include "base/leb128.h"
#include "image/elf_file.h"
#include "symbols/unpacked_debug.h"

namespace hbbp {
namespace {

constexpr uint32_t kIs64Bit = UINT32_MAX;  // a length of 64 bits follows

// Reads a number of 32 bits, or of 64 in DWARF of that format.
bool ReadOffset(ByteCursor* cursor, bool is_64_bit, uint64_t* value) {
  if (is_64_bit) return cursor->Read(value);
  uint32_t narrow;
  if (!cursor->Read(&narrow)) return false;
  *value = narrow;
  return true;
}

bool ReadUnitLength(ByteCursor* cursor, bool* is_64_bit, uint64_t* length) {
  uint32_t narrow;
  if (!cursor->Read(&narrow)) return false;
  *is_64_bit = narrow == kIs64Bit;
  *length = narrow;
  return !*is_64_bit || cursor->Read(length);
}

// Runs a line program as far as addresses depend on it.
class SequenceReader {
 public:
  explicit SequenceReader(std::span<const uint8_t> table) : cursor_(table) {}

  bool Read() {
    if (!ReadHeader()) return false;
    while (cursor_.remaining() != 0) {
      if (!Step()) return false;
    }
    return true;
  }

  std::vector<SequenceRow> TakeRows() { return std::move(rows_); }

 private:
  bool ReadHeader() {
    bool is_64_bit;
    uint64_t length, header_length;
    std::span<const uint8_t> unit;
    if (!ReadUnitLength(&cursor_, &is_64_bit, &length) || !cursor_.ReadBytes(length, &unit)) {
      return false;
    }
    cursor_ = ByteCursor(unit);
    uint16_t version;
    if (!cursor_.Read(&version) || version < 2 || version > 5) return false;
    constexpr size_t kAddressSizes = 2;
    if (version >= 5 && !cursor_.Skip(kAddressSizes)) return false;
    if (!ReadOffset(&cursor_, is_64_bit, &header_length)) return false;
    if (header_length > cursor_.remaining()) return false;
    const size_t program = cursor_.position() + header_length;
    uint8_t operations = 1, is_statement, line_base;
    if (!cursor_.Read(&instruction_bytes_) || (version >= 4 && !cursor_.Read(&operations)) ||
        !cursor_.Read(&is_statement) || !cursor_.Read(&line_base) || !cursor_.Read(&line_range_) ||
        !cursor_.Read(&opcode_base_) || opcode_base_ == 0 ||
        !cursor_.ReadBytes(opcode_base_ - 1u, &operands_)) {
      return false;
    }
    // Other processors have several operations in an instruction.
    return operations == 1 && line_range_ != 0 && cursor_.Seek(program);
  }

  bool Step() {
    uint8_t opcode;
    if (!cursor_.Read(&opcode)) return false;
    if (opcode >= opcode_base_) {
      AdvanceAsSpecial(opcode);
      AddRow(false);
      return true;
    }
    uint64_t value;
    switch (opcode) {
      case 0:
        return StepExtended();
      case DW_LNS_copy:
        AddRow(false);
        return true;
      case DW_LNS_advance_pc:
        if (!ReadUleb128(&cursor_, &value)) return false;
        address_ += value * instruction_bytes_;
        return true;
      case DW_LNS_const_add_pc:
        AdvanceAsSpecial(UINT8_MAX);
        return true;
      case DW_LNS_fixed_advance_pc: {
        uint16_t bytes;
        if (!cursor_.Read(&bytes)) return false;
        address_ += bytes;
        return true;
      }
      default:
        for (uint8_t i = 0; i < operands_[opcode - 1u]; ++i) {
          if (!ReadUleb128(&cursor_, &value)) return false;
        }
        return true;
    }
  }

  bool StepExtended() {
    uint64_t size;
    std::span<const uint8_t> operation;
    if (!ReadUleb128(&cursor_, &size) || size == 0 || !cursor_.ReadBytes(size, &operation)) {
      return false;
    }
    if (operation[0] == DW_LNE_end_sequence) {
      AddRow(true);
      address_ = 0;
    } else if (operation[0] == DW_LNE_set_address) {
      if (size != 1 + sizeof(address_)) return false;
      std::memcpy(&address_, &operation[1], sizeof(address_));
    }
    return true;
  }

  void AdvanceAsSpecial(uint8_t opcode) {
    address_ += static_cast<uint64_t>((opcode - opcode_base_) / line_range_) * instruction_bytes_;
  }

  void AddRow(bool is_end) {
    const bool is_first = rows_.empty() || rows_.back().is_end;
    const bool is_dropped = is_first ? IsDropped(address_) : rows_.back().is_dropped;
    rows_.push_back({address_, is_end, is_dropped});
  }

  ByteCursor cursor_;
  uint8_t instruction_bytes_ = 1;
  uint8_t line_range_ = 0;
  uint8_t opcode_base_ = 0;
  std::span<const uint8_t> operands_;  // how many each standard opcode has
  uint64_t address_ = 0;
  std::vector<SequenceRow> rows_;
};

}  // namespace

std::vector<SequenceRow> ReadSequences(std::span<const uint8_t> table) {
  SequenceReader reader(table);
  if (!reader.Read()) return {};
  std::vector<SequenceRow> rows = reader.TakeRows();
  std::ranges::stable_sort(
      rows, {}, [](const SequenceRow& row) { return std::pair(row.address, !row.is_end); });
  return rows;
}

std::vector<uint8_t> LineSection::Read(uint64_t offset) {
  if (!was_opened_) Open();
  was_opened_ = true;
  if (offset >= size_) return {};
  constexpr uint64_t kMaxLengthBytes = sizeof(uint32_t) + sizeof(uint64_t);
  const std::vector<uint8_t> start = ReadBytes(offset, std::min(kMaxLengthBytes, size_ - offset));
  ByteCursor cursor(start);
  bool is_64_bit;
  uint64_t length;
  if (!ReadUnitLength(&cursor, &is_64_bit, &length) || length > size_ - offset) return {};
  return ReadBytes(offset, std::min(cursor.position() + length, size_ - offset));
}

void LineSection::Open() {
  const std::string name = ".debug_line";
  UniqueFd fd(::fcntl(fd_, F_DUPFD_CLOEXEC, 0));
  for (;;) {
    StatusOr<std::unique_ptr<FileBytes>> bytes = FileBytes::FromFd(std::move(fd), name);
    if (!bytes.ok()) return;
    const StatusOr<std::unique_ptr<ElfFile>> file =
        ElfFile::Create(*std::move(bytes), name, ElfKind::kAny);
    if (!file.ok()) return;
    const ElfSection* const section = (*file)->FindSection(name);
    if (section == nullptr || section->header.sh_type == SHT_NOBITS) return;
    if ((section->header.sh_flags & SHF_COMPRESSED) == 0) {
      start_ = section->header.sh_offset;
      if (start_ < (*file)->bytes().size()) {
        size_ = std::min(section->header.sh_size, (*file)->bytes().size() - start_);
      }
      return;
    }
    if (unpacked_.valid()) return;
    StatusOr<UniqueFd> unpacked = UnpackDebugSections(
        fd_, name, [this](uint64_t, uint64_t) { CancelCheck(cancel_).CheckNow(); });
    if (!unpacked.ok()) return;
    unpacked_ = *std::move(unpacked);
    fd_ = unpacked_.get();
    fd = UniqueFd(::fcntl(fd_, F_DUPFD_CLOEXEC, 0));
  }
}

std::vector<uint8_t> LineSection::ReadBytes(uint64_t offset, uint64_t size) const {
  std::vector<uint8_t> bytes(size);
  const ssize_t got = ::pread(fd_, bytes.data(), size, static_cast<off_t>(start_ + offset));
  if (got < 0 || static_cast<uint64_t>(got) != size) bytes.clear();
  return bytes;
}

}  // namespace hbbp
