#include "backends/rseq_sections.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <span>

#include "base/hash.h"
#include "base/unique_fd.h"
#include "image/process_memory.h"

namespace hbbp {
namespace {

constexpr size_t kMaxHeaders = 4096;
constexpr size_t kMaxNameBytes = 1 << 20;
constexpr char kSectionName[] = "__rseq_cs";

// Hashes of mappings of files without a section of sequences. Children of fork have it, whenever
// that is.
constexpr size_t kMaxWithout = 1024;
std::array<std::atomic<uint64_t>, kMaxWithout> mappings_without;

uint64_t HashMapping(const Mapping& mapping) {
  return HashNumbers({mapping.start.value, mapping.end.value, mapping.offset.value,
                      mapping.device_major, mapping.device_minor, mapping.inode,
                      std::hash<std::string>()(mapping.path)});
}

std::atomic<uint64_t>& CellOf(uint64_t hash) { return mappings_without[hash % kMaxWithout]; }

bool IsWithout(uint64_t hash) { return CellOf(hash).load(std::memory_order_relaxed) == hash; }

void SetWithout(uint64_t hash) { CellOf(hash).store(hash, std::memory_order_relaxed); }

template <typename T>
bool ReadAt(int fd, uint64_t offset, std::vector<T>* items) {
  const size_t bytes = items->size() * sizeof(T);
  return ::pread(fd, items->data(), bytes, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(bytes);
}

// Sets `has_none` if all sections could be read and it is not there.
std::optional<Elf64_Shdr> FindSection(int fd, const Elf64_Ehdr& header, bool* has_none) {
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMaxHeaders ||
      header.e_shstrndx >= header.e_shnum) {
    return std::nullopt;
  }
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!ReadAt(fd, header.e_shoff, &sections)) return std::nullopt;
  const Elf64_Shdr& names_section = sections[header.e_shstrndx];
  if (names_section.sh_size > kMaxNameBytes) return std::nullopt;
  std::vector<char> names(names_section.sh_size);
  if (!ReadAt(fd, names_section.sh_offset, &names)) return std::nullopt;
  for (const Elf64_Shdr& section : sections) {
    const bool fits = section.sh_name + sizeof(kSectionName) <= names.size();
    if (fits && std::memcmp(&names[section.sh_name], kSectionName, sizeof(kSectionName)) == 0) {
      return section;
    }
  }
  *has_none = true;
  return std::nullopt;
}

// Returns the difference between the addresses of the mapping and those in the file.
std::optional<uint64_t> LoadBias(int fd, const Elf64_Ehdr& header, const Mapping& mapping) {
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMaxHeaders) return std::nullopt;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!ReadAt(fd, header.e_phoff, &segments)) return std::nullopt;
  for (const Elf64_Phdr& segment : segments) {
    const uint64_t offset = mapping.offset.value;
    const bool is_code = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
    if (is_code && offset <= segment.p_offset + segment.p_filesz &&
        segment.p_offset <= offset + mapping.size()) {
      return mapping.start.value + segment.p_offset - offset - segment.p_vaddr;
    }
  }
  return std::nullopt;
}

std::vector<trace::SequenceRange> ReadSequences(const Mapping& mapping, bool* has_no_section) {
  std::vector<trace::SequenceRange> ranges;
  const UniqueFd fd(::open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<Elf64_Ehdr> header(1);
  if (!fd.valid() || !ReadAt(fd.get(), 0, &header) ||
      std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64) {
    return ranges;
  }
  const std::optional<Elf64_Shdr> section = FindSection(fd.get(), header[0], has_no_section);
  if (!section) return ranges;
  const std::optional<uint64_t> bias = LoadBias(fd.get(), header[0], mapping);
  if (!bias) return ranges;
  // The descriptors are read from memory, where their addresses are relocated.
  for (uint64_t offset = 0; offset + sizeof(trace::SequenceDescriptor) <= section->sh_size;
       offset += sizeof(trace::SequenceDescriptor)) {
    trace::SequenceDescriptor descriptor;
    const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(&descriptor), sizeof(descriptor));
    const RuntimeAddress address{*bias + section->sh_addr + offset};
    if (ReadProcessMemory(0, address, bytes) != bytes.size()) break;
    if (descriptor.start_ip == 0) continue;
    ranges.push_back({descriptor.start_ip, descriptor.start_ip + descriptor.post_commit_offset});
  }
  return ranges;
}

}  // namespace

std::vector<trace::SequenceRange> RseqSections::Find(const std::vector<Mapping>& mappings) {
  std::vector<trace::SequenceRange> all;
  std::map<Key, std::vector<trace::SequenceRange>> found;
  for (const Mapping& mapping : mappings) {
    if (!mapping.executable || !mapping.IsFile()) continue;
    Key key(mapping.start.value, mapping.path);
    std::vector<trace::SequenceRange> ranges;
    if (const auto known = known_.find(key); known != known_.end()) {
      ranges = known->second;
    } else if (const uint64_t hash = HashMapping(mapping); !IsWithout(hash)) {
      bool has_no_section = false;
      ranges = ReadSequences(mapping, &has_no_section);
      if (has_no_section) SetWithout(hash);
    }
    all.insert(all.end(), ranges.begin(), ranges.end());
    found.emplace(std::move(key), std::move(ranges));
  }
  known_ = std::move(found);
  return all;
}

}  // namespace hbbp
