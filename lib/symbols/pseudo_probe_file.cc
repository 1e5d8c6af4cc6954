#include "symbols/pseudo_probe_file.h"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"
#include "base/unique_fd.h"
#include "image/debug_file.h"
#include "image/elf_file.h"
#include "image/file_bytes.h"
#include "symbols/function_guid.h"

namespace hbbp {
namespace {

struct ProbeSections {
  std::span<const uint8_t> descriptions;
  std::span<const uint8_t> trees;
};

std::span<const uint8_t> BytesOfSection(const ElfFile& file, std::string_view name) {
  const ElfSection* section = file.FindSection(name);
  return section == nullptr ? std::span<const uint8_t>() : file.SectionBytes(*section);
}

bool FindSections(const ElfFile& file, ProbeSections* found) {
  *found = {BytesOfSection(file, ".pseudo_probe_desc"), BytesOfSection(file, ".pseudo_probe")};
  return !found->descriptions.empty() && !found->trees.empty();
}

// Appends the functions by their names without the version that the linker appends.
void AddFunctionStarts(const ElfFile& file, std::vector<FunctionStart>* starts) {
  for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    const ElfSection* table = file.FindSectionOfType(type);
    if (table == nullptr) continue;
    const std::span<const uint8_t> names = file.LinkedSectionBytes(*table);
    ByteCursor cursor(file.SectionBytes(*table));
    Elf64_Sym symbol;
    while (cursor.Read(&symbol)) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      const std::string_view name = StringAt(names, symbol.st_name);
      const ModuleAddress start{symbol.st_value};
      const ModuleAddress end = start + std::min(symbol.st_size, UINT64_MAX - start.value);
      starts->push_back({FunctionGuid(name.substr(0, name.find('@', 1))), {start, end}});
    }
  }
}

StatusOr<std::unique_ptr<ElfFile>> OpenElfFile(const ElfImage& image, const std::string& path) {
  UniqueFd fd(image.fd() < 0 ? -1 : ::fcntl(image.fd(), F_DUPFD_CLOEXEC, 0));
  if (!fd.valid()) {
    return MakeStatus(StatusCode::kNotFound, "%s is not a file that may have pseudo-probes",
                      path.c_str());
  }
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<FileBytes> bytes, FileBytes::FromFd(std::move(fd), path));
  return ElfFile::Create(std::move(bytes), path);
}

}  // namespace

StatusOr<PseudoProbes> OpenPseudoProbes(const ElfImage& image, const std::string& path,
                                        const std::string& debug_root) {
  HBBP_ASSIGN_OR_RETURN(const std::unique_ptr<ElfFile> file, OpenElfFile(image, path));
  std::unique_ptr<ElfFile> debug_file;
  if (file->FindSectionOfType(SHT_SYMTAB) == nullptr) {
    debug_file = OpenDebugFile(*file, image.build_id(), path, debug_root);
  }
  ProbeSections sections;
  if (!FindSections(*file, &sections) &&
      (debug_file == nullptr || !FindSections(*debug_file, &sections))) {
    return MakeStatus(StatusCode::kNotFound, "%s has no pseudo-probes", path.c_str());
  }
  std::vector<FunctionStart> starts;
  AddFunctionStarts(*file, &starts);
  if (debug_file != nullptr) AddFunctionStarts(*debug_file, &starts);
  StatusOr<PseudoProbes> probes =
      PseudoProbes::Read(sections.descriptions, sections.trees, std::move(starts));
  if (!probes.ok()) return probes.status().Annotate(path);
  return probes;
}

}  // namespace hbbp
