#include "truth/source_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "base/unique_fd.h"

namespace hbbp::tools {
namespace {

std::string Attribute(Dwarf_Die* unit, unsigned name) {
  Dwarf_Attribute attribute;
  const char* const text = dwarf_formstring(dwarf_attr(unit, name, &attribute));
  return text == nullptr ? "" : text;
}

// Reads the line table of one compilation unit.
void ReadUnit(Dwarf_Die* unit, const std::function<void(const LineRange&)>& range) {
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(unit, &lines, &count) != 0) return;
  const std::string folder = Attribute(unit, DW_AT_comp_dir);
  const std::string producer = Attribute(unit, DW_AT_producer);
  std::map<const char*, std::string> names;
  for (size_t i = 0; i + 1 < count; ++i) {
    Dwarf_Line* const row = dwarf_onesrcline(lines, i);
    bool ends = false;
    int number = 0;
    Dwarf_Addr start = 0, end = 0;
    const char* const source = dwarf_linesrc(row, nullptr, nullptr);
    if (source == nullptr || dwarf_lineendsequence(row, &ends) != 0 || ends ||
        dwarf_lineno(row, &number) != 0 || number <= 0 || dwarf_lineaddr(row, &start) != 0 ||
        dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end) != 0 || end <= start) {
      continue;
    }
    std::string& name = names[source];
    if (name.empty()) name = (std::filesystem::path(folder) / source).lexically_normal().string();
    range({name, producer, static_cast<uint64_t>(number), start, end});
  }
}

}  // namespace

Status ForEachLineRange(const std::string& path,
                        const std::function<void(const LineRange&)>& range) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  Dwarf* const dwarf = dwarf_begin(fd.get(), DWARF_C_READ);
  if (dwarf == nullptr) return MakeStatus(StatusCode::kNotFound, "%s: no DWARF", path.c_str());
  Dwarf_CU* unit = nullptr;
  Dwarf_Half version;
  uint8_t type;
  Dwarf_Die die, type_die;
  while (dwarf_get_units(dwarf, unit, &unit, &version, &type, &die, &type_die) == 0) {
    if (type == DW_UT_compile || type == DW_UT_partial) ReadUnit(&die, range);
  }
  dwarf_end(dwarf);
  return OkStatus();
}

}  // namespace hbbp::tools
