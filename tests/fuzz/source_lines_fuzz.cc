// Any bytes as an ELF file with DWARF, and where addresses all over it are in the source.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/unique_fd.h"
#include "symbols/source_lines.h"

namespace {

using hbbp::ModuleAddress;
using hbbp::SourceLines;
using hbbp::SourcePlace;

volatile uint64_t sink;

void Ask(const SourceLines& lines, ModuleAddress address, ModuleAddress* next) {
  const SourcePlace place = lines.Find(address);
  if (!place.range.Contains(address) && address.value != UINT64_MAX) std::abort();
  for (const hbbp::SourceFrame& frame : place.frames) {
    for (const std::string_view text : {frame.file, frame.function}) {
      if (!text.empty())
        sink = static_cast<uint64_t>(text.front()) + static_cast<uint64_t>(text.back());
    }
  }
  *next = place.range.end;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const hbbp::UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  if (!file.valid() || ::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  hbbp::SourceOptions options;
  options.search.debug_root = "";
  // Units are decoded again and again.
  options.memory_limit = 4096;
  const auto lines = SourceLines::Open({"fuzz", file.get(), {}}, options);
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
