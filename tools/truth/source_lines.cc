#include "truth/source_lines.h"

#include <dwarf.h>
#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/unique_fd.h"
#include "symbols/libdw.h"
#include "symbols/line_unit.h"

namespace hbbp::tools {
namespace {

std::string ReadProducer(const Libdw& libdw, Dwarf_Die* unit) {
  Dwarf_Attribute attribute;
  const char* const text = libdw.formstring_(libdw.attr_(unit, DW_AT_producer, &attribute));
  return text == nullptr ? "" : text;
}

void VisitUnit(const Libdw& libdw, Dwarf_Die* die,
               const std::function<void(const LineRange&)>& range) {
  const LineUnit unit = ReadLineRows(libdw, die);
  const std::string producer = ReadProducer(libdw, die);
  std::vector<std::string> files;
  for (const std::string& file : unit.files) {
    files.push_back(std::filesystem::path(file).lexically_normal().string());
  }
  for (size_t i = 0; i + 1 < unit.rows.size(); ++i) {
    const LineRow& row = unit.rows[i];
    if (row.is_end || row.file == kNoFile || row.line == 0) continue;
    range({files[row.file], producer, row.line, row.address, unit.rows[i + 1].address});
  }
}

}  // namespace

Status ForEachLineRange(const std::string& path,
                        const std::function<void(const LineRange&)>& range) {
  HBBP_ASSIGN_OR_RETURN(const Libdw* const libdw, LoadLibdw());
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  const std::unique_ptr<Dwarf, decltype(libdw->end_)> dwarf(libdw->begin_(fd.get(), DWARF_C_READ),
                                                            libdw->end_);
  if (dwarf == nullptr) return MakeStatus(StatusCode::kNotFound, "%s: no DWARF", path.c_str());
  Dwarf_CU* unit = nullptr;
  Dwarf_Half version;
  uint8_t type;
  Dwarf_Die die;
  while (libdw->get_units_(dwarf.get(), unit, &unit, &version, &type, &die, nullptr) == 0) {
    if (type == DW_UT_compile || type == DW_UT_partial) VisitUnit(*libdw, &die, range);
  }
  return OkStatus();
}

}  // namespace hbbp::tools
