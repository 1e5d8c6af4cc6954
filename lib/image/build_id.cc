#include "image/build_id.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/byte_cursor.h"
#include "base/linux_constants.h"
#include "image/process_memory.h"

namespace hbbp {
namespace {

constexpr size_t kSha1Bytes = 20;
// A real PT_NOTE has some hundred bytes; a larger one is cut.
constexpr uint64_t kMaxNoteBytes = 64 * 1024;

bool IsZero(std::span<const uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

// Padding inside a note follows the alignment of its segment, where that is 8.
bool Align(ByteCursor* cursor, uint64_t alignment) {
  size_t excess = cursor->position() % alignment;
  return excess == 0 || cursor->Skip(alignment - excess);
}

std::span<const uint8_t> FindInNotes(std::span<const uint8_t> notes, uint64_t alignment) {
  ByteCursor cursor(notes);
  Elf64_Nhdr header;
  while (cursor.Read(&header)) {
    std::span<const uint8_t> name;
    std::span<const uint8_t> description;
    if (!cursor.ReadBytes(header.n_namesz, &name) || !Align(&cursor, alignment) ||
        !cursor.ReadBytes(header.n_descsz, &description)) {
      break;
    }
    if (header.n_type == NT_GNU_BUILD_ID && name.size() == sizeof(ELF_NOTE_GNU) &&
        std::memcmp(name.data(), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
      return description;
    }
    if (!Align(&cursor, alignment)) break;
  }
  return {};
}

// Returns p_vaddr of the ELF header, if a segment contains it.
std::optional<uint64_t> HeaderAddress(std::span<const Elf64_Phdr> segments) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && segment.p_offset < kPageBytes) {
      return segment.p_vaddr - segment.p_offset;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<uint8_t> ReadBuildId(const ImageReader& reader, ImageLayout layout) {
  const std::vector<Elf64_Phdr> segments = ReadProgramHeaders(reader);
  uint64_t header_address = 0;
  if (layout == ImageLayout::kMemory) {
    std::optional<uint64_t> address = HeaderAddress(segments);
    if (!address) return {};
    header_address = *address;
  }
  std::vector<uint8_t> notes;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE) continue;
    notes.resize(std::min<uint64_t>(segment.p_filesz, kMaxNoteBytes));
    uint64_t position =
        layout == ImageLayout::kFile ? segment.p_offset : segment.p_vaddr - header_address;
    notes.resize(std::min(reader(position, notes), notes.size()));
    std::span<const uint8_t> build_id = FindInNotes(notes, segment.p_align == 8 ? 8 : 4);
    if (!build_id.empty()) return {build_id.begin(), build_id.end()};
  }
  return {};
}

std::vector<uint8_t> ReadBuildIdInNotes(std::span<const uint8_t> notes) {
  const std::span<const uint8_t> build_id = FindInNotes(notes, 4);
  return {build_id.begin(), build_id.end()};
}

bool SameBuildId(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (a.empty()) return b.empty();
  return std::ranges::equal(a, b.first(a.size())) && IsZero(b.subspan(a.size()));
}

std::span<const uint8_t> WithoutPadding(std::span<const uint8_t> build_id) {
  if (build_id.size() != kSha1Bytes) return build_id;
  for (const size_t size : {size_t{8}, size_t{16}}) {
    if (IsZero(build_id.subspan(size)) && !IsZero(build_id.first(size))) {
      return build_id.first(size);
    }
  }
  return build_id;
}

std::string BuildIdText(std::span<const uint8_t> build_id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : build_id) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text.empty() ? "none" : text;
}

std::vector<uint8_t> ReadBuildIdOfFd(int fd) {
  return ReadBuildId(ReaderOfFd(fd), ImageLayout::kFile);
}

std::vector<uint8_t> ReadBuildIdInMemory(pid_t pid, RuntimeAddress header) {
  return ReadBuildId(
      [pid, header](uint64_t position, std::span<uint8_t> buffer) {
        return ReadProcessMemory(pid, header + position, buffer);
      },
      ImageLayout::kMemory);
}

}  // namespace hbbp
