// Reads any bytes as an ELF file with DWARF, and finds the lines of addresses all over it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/unique_fd.h"
#include "symbols/line_table.h"

namespace {

using hbbp::LineRange;
using hbbp::LineTable;
using hbbp::ModuleAddress;

volatile uint64_t sink;

void Ask(const LineTable& lines, ModuleAddress address, ModuleAddress* next) {
  const LineRange found = lines.Find(address);
  if (!found.range.Contains(address) && address.value != UINT64_MAX) std::abort();
  for (const hbbp::LineFrame& frame : found.frames) {
    for (const std::string_view text : {frame.file, frame.function}) {
      if (!text.empty())
        sink = static_cast<uint64_t>(text.front()) + static_cast<uint64_t>(text.back());
    }
  }
  *next = found.range.end;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const hbbp::UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  if (!file.valid() || ::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  hbbp::DebugInfoOptions options;
  options.search.debug_root = "";
  // With this limit units are decoded repeatedly.
  options.memory_limit = 4096;
  const auto lines = LineTable::Open({"fuzz", file.get(), {}}, options);
  if (!lines.ok()) {
    if (lines.status().message().empty()) std::abort();
    return 0;
  }
  ModuleAddress address{0};
  for (int i = 0; i < 200 && address.value != UINT64_MAX; ++i) {
    ModuleAddress next{0};
    Ask(**lines, address, &next);
    if (next <= address) std::abort();
    address = next;
  }
  for (const uint64_t each : {uint64_t{0x1000}, uint64_t{0x401000}, UINT64_MAX}) {
    ModuleAddress ignored{0};
    Ask(**lines, {each}, &ignored);
  }
  sink = (*lines)->Problem().size();
  return 0;
}
