// Reads any bytes as the files that a JIT writes for perf: a jitdump, and a map.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "perf_data/jit_dump.h"
#include "perf_data/perf_map.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void ReadDump(const uint8_t* data, size_t size) {
  hbbp::UniqueFd file(::memfd_create("jitdump", MFD_CLOEXEC));
  Require(::write(file.get(), data, size) == static_cast<ssize_t>(size));
  auto reader = hbbp::JitDumpReader::FromFd(std::move(file), "jitdump");
  if (!reader.ok()) return;
  // A move repeats the bytes of what it moves, but each record has 16 bytes at least.
  size_t pieces = 0;
  while (const auto code = reader->Next()) {
    Require(++pieces <= size / 16);
    for (const hbbp::CodeLine& row : code->lines.rows) {
      Require(row.file < code->lines.files.size() && row.offset <= code->bytes.size());
    }
    Require(!code->bytes.empty() && code->bytes.size() + code->name.size() < size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ReadDump(data, size);
  size_t names = 0;
  for (const hbbp::JitSymbol& symbol :
       hbbp::ParsePerfMap({reinterpret_cast<const char*>(data), size})) {
    Require(symbol.size != 0 && symbol.address + symbol.size >= symbol.address);
    names += symbol.name.size() + 1;
  }
  Require(names <= size);
  return 0;
}
