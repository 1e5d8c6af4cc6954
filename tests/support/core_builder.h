// CoreBuilder makes files in the ELF core format like /proc/kcore and dumps.
//
//   std::vector<uint8_t> file =
//       CoreBuilder().AddMemory(0xffffffff81000000, code).SetVmcoreInfo("BUILD-ID=12\n").Take();
#ifndef HBBP_TESTS_SUPPORT_CORE_BUILDER_H_
#define HBBP_TESTS_SUPPORT_CORE_BUILDER_H_

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace hbbp {

class CoreBuilder {
 public:
  CoreBuilder& AddMemory(uint64_t address, std::vector<uint8_t> bytes) {
    segments_.push_back({address, std::move(bytes)});
    return *this;
  }
  CoreBuilder& SetVmcoreInfo(const std::string& text) {
    vmcoreinfo_ = text;
    return *this;
  }
  // Puts the number of segments into a section header, as in files with 65535 and more.
  CoreBuilder& CountInSectionHeader() {
    count_in_section_header_ = true;
    return *this;
  }

  std::vector<uint8_t> Take() const {
    const bool has_notes = !vmcoreinfo_.empty();
    const size_t count = segments_.size() + (has_notes ? 1 : 0);
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_CORE;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_phoff = sizeof(Elf64_Ehdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<uint16_t>(count);
    uint64_t offset = sizeof(Elf64_Ehdr) + count * sizeof(Elf64_Phdr);
    if (count_in_section_header_) {
      header.e_phnum = PN_XNUM;
      header.e_shoff = offset;
      offset += sizeof(Elf64_Shdr);
    }
    std::vector<uint8_t> file;
    Put(header, &file);
    const std::vector<uint8_t> notes = Notes();
    if (has_notes) Put(Segment(PT_NOTE, 0, offset, notes.size()), &file);
    offset += notes.size();
    for (const auto& [address, bytes] : segments_) {
      Put(Segment(PT_LOAD, address, offset, bytes.size()), &file);
      offset += bytes.size();
    }
    if (count_in_section_header_) {
      Elf64_Shdr section = {};
      section.sh_info = static_cast<uint32_t>(count);
      Put(section, &file);
    }
    file.insert(file.end(), notes.begin(), notes.end());
    for (const auto& [address, bytes] : segments_) {
      file.insert(file.end(), bytes.begin(), bytes.end());
    }
    return file;
  }

  void Write(const std::string& path) const {
    const std::vector<uint8_t> file = Take();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()),
               static_cast<std::streamsize>(file.size()));
  }

 private:
  template <typename Struct>
  static void Put(const Struct& value, std::vector<uint8_t>* file) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    file->insert(file->end(), bytes, bytes + sizeof(value));
  }

  static Elf64_Phdr Segment(uint32_t type, uint64_t address, uint64_t offset, uint64_t size) {
    Elf64_Phdr segment = {};
    segment.p_type = type;
    segment.p_flags = PF_R | PF_W | PF_X;
    segment.p_vaddr = address;
    segment.p_offset = offset;
    segment.p_filesz = segment.p_memsz = size;
    return segment;
  }

  // Makes notes like /proc/kcore, with registers of a CPU first.
  std::vector<uint8_t> Notes() const {
    std::vector<uint8_t> notes;
    if (vmcoreinfo_.empty()) return notes;
    const auto add = [&notes](const std::string& name, uint32_t type, const std::string& content) {
      Put(Elf64_Nhdr{static_cast<uint32_t>(name.size() + 1), static_cast<uint32_t>(content.size()),
                     type},
          &notes);
      for (const std::string& text : {name + '\0', content}) {
        notes.insert(notes.end(), text.begin(), text.end());
        notes.resize((notes.size() + 3) / 4 * 4);
      }
    };
    add("CORE", NT_PRSTATUS, std::string(337, 'r'));
    add("VMCOREINFO", 0, vmcoreinfo_);
    return notes;
  }

  std::vector<std::pair<uint64_t, std::vector<uint8_t>>> segments_;
  std::string vmcoreinfo_;
  bool count_in_section_header_ = false;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_CORE_BUILDER_H_
