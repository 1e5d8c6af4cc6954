#include "export/bolt_functions.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "base/byte_cursor.h"
#include "image/file_bytes.h"
#include "image/plt.h"

namespace hbbp {

// A symbol of code, with the end of its section.
struct BoltFunctions::Label {
  ModuleAddress address;
  uint64_t size = 0;
  bool is_function = false;
  bool is_code = false;
  ModuleAddress section_end;
  std::string name;
};

StatusOr<std::unique_ptr<BoltFunctions>> BoltFunctions::Create(const ElfImage& image,
                                                               const std::string& name) {
  UniqueFd fd(image.fd() < 0 ? -1 : ::fcntl(image.fd(), F_DUPFD_CLOEXEC, 0));
  if (!fd.valid()) {
    return MakeStatus(StatusCode::kNotFound, "%s is not a file, and BOLT rewrites nothing else",
                      name.c_str());
  }
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<FileBytes> bytes, FileBytes::FromFd(std::move(fd), name));
  HBBP_ASSIGN_OR_RETURN(const std::unique_ptr<ElfFile> file,
                        ElfFile::Create(std::move(bytes), name));
  auto functions = std::make_unique<BoltFunctions>();
  functions->AddPlt(*file, image);
  functions->AddFunctions(ListLabels(*file));
  functions->AddUnwound(image);
  return functions;
}

const BoltFunctions::Function* BoltFunctions::Find(ModuleAddress address) const {
  const auto next = std::upper_bound(
      functions_.begin(), functions_.end(), address,
      [](ModuleAddress wanted, const Function& function) { return wanted < function.range.start; });
  if (next == functions_.begin()) return nullptr;
  const Function& function = *std::prev(next);
  return function.range.Contains(address) ? &function : nullptr;
}

// Local symbols are numbered by name in the order in which llvm-bolt registers them, whatever they
// name: by address, functions first and sections last, then as in the table.
std::vector<BoltFunctions::Label> BoltFunctions::ListLabels(const ElfFile& file) {
  const ElfSection* table = file.FindSectionOfType(SHT_SYMTAB);
  if (table == nullptr) return {};
  const std::span<const uint8_t> names = file.LinkedSectionBytes(*table);
  struct Entry {
    Elf64_Sym symbol;
    unsigned type;
  };
  std::vector<Entry> entries;
  ByteCursor cursor(file.SectionBytes(*table));
  Elf64_Sym symbol;
  while (cursor.Read(&symbol)) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_FILE || type == STT_TLS || symbol.st_value == 0) continue;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= file.sections().size()) continue;
    if ((file.sections()[symbol.st_shndx].header.sh_flags & SHF_ALLOC) == 0) continue;
    entries.push_back({symbol, type});
  }
  const auto key = [](const Entry& entry) {
    const bool is_function = entry.type == STT_FUNC || entry.type == STT_GNU_IFUNC;
    return std::tuple(entry.symbol.st_value, !is_function, entry.type == STT_SECTION);
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&key](const Entry& a, const Entry& b) { return key(a) < key(b); });
  std::vector<Label> labels;
  std::map<std::string, unsigned, std::less<>> numbers;
  for (const auto& [found, type] : entries) {
    const ElfSection& section = file.sections()[found.st_shndx];
    std::string name(StringAt(names, found.st_name));
    if (type == STT_SECTION) continue;
    if (ELF64_ST_BIND(found.st_info) == STB_LOCAL) {
      const unsigned number = ++numbers[name];
      name += '/' + std::to_string(number);
    }
    labels.push_back({{found.st_value},
                      found.st_size,
                      type == STT_FUNC || type == STT_GNU_IFUNC,
                      section.IsCode(),
                      {section.header.sh_addr + section.header.sh_size},
                      std::move(name)});
  }
  return labels;
}

// Inside of a function with a size, only another one begins a function; otherwise all labels do.
void BoltFunctions::AddFunctions(const std::vector<Label>& labels) {
  std::vector<Function> found;
  ModuleAddress sized_end;
  for (const Label& label : labels) {
    if (!label.is_code || label.name.empty() || Find(label.address) != nullptr) continue;
    if (!found.empty()) {
      AddressRange& before = found.back().range;
      const bool has_size = label.is_function && label.size != 0;
      if (before.start == label.address || (label.address < sized_end && !has_size)) continue;
      before.end = std::min(before.end, label.address);
    }
    sized_end = label.address + label.size;
    const ModuleAddress end = label.size != 0 ? sized_end : label.section_end;
    found.push_back({{label.address, std::min(end, label.section_end)}, label.name});
  }
  functions_.insert(functions_.end(), found.begin(), found.end());
  std::ranges::sort(functions_, {}, [](const Function& each) { return each.range.start; });
}

void BoltFunctions::AddPlt(const ElfFile& file, const ElfImage& image) {
  constexpr std::string_view kSuffix = "@plt";
  for (const ElfSection& section : file.sections()) {
    const uint64_t size = PltEntrySize(section);
    if (size == 0) continue;
    const uint64_t bytes = file.SectionBytes(section).size();
    for (uint64_t offset = 0; offset + size <= bytes; offset += size) {
      const ModuleAddress start{section.header.sh_addr + offset};
      std::string name = image.FunctionName(start);
      if (name.ends_with(kSuffix)) {
        name.replace(name.size() - kSuffix.size(), kSuffix.size(), "@PLT");
      } else if (offset == 0) {
        name = "__BOLT_PSEUDO_" + std::string(section.name);
      } else {
        continue;
      }
      functions_.push_back({{start, start + size}, std::move(name)});
    }
  }
  std::ranges::sort(functions_, {}, [](const Function& each) { return each.range.start; });
}

void BoltFunctions::AddUnwound(const ElfImage& image) {
  std::vector<Function> found;
  for (const AddressRange& range : image.AllFunctions()) {
    if (Find(range.start) != nullptr || image.FunctionName(range.start).ends_with("@plt")) continue;
    char name[64];
    std::snprintf(name, sizeof(name), "__BOLT_FDE_FUNCat%lx",
                  static_cast<unsigned long>(range.start.value));
    const auto next = std::ranges::upper_bound(
        functions_, range.start, {}, [](const Function& each) { return each.range.start; });
    const ModuleAddress end =
        next == functions_.end() ? range.end : std::min(range.end, next->range.start);
    found.push_back({{range.start, end}, name});
  }
  functions_.insert(functions_.end(), found.begin(), found.end());
  std::ranges::sort(functions_, {}, [](const Function& each) { return each.range.start; });
}

}  // namespace hbbp
