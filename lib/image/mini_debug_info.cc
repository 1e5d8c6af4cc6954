// liblzma is loaded when it is first needed, as most files have no such section. libdw needs it, so
// it is installed where source lines can be had.
#include "image/mini_debug_info.h"

#include <dlfcn.h>
#include <lzma.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/shared_library.h"
#include "image/file_bytes.h"

namespace hbbp {
namespace {

// Real ones unpack to some ten times their size, and to some megabytes.
constexpr uint64_t kMaxBytes = 64ull << 20;
constexpr uint64_t kMaxFactor = 32;
constexpr uint64_t kMaxDecoderBytes = 128ull << 20;  // the dictionary of xz -9 has 64 MiB
constexpr size_t kFirstBytes = 1 << 20;

struct Liblzma {
  decltype(&::lzma_stream_decoder) stream_decoder = nullptr;
  decltype(&::lzma_code) code = nullptr;
  decltype(&::lzma_end) end = nullptr;
};

const Liblzma* LoadLiblzma() {
  static const std::optional<Liblzma> loaded = []() -> std::optional<Liblzma> {
    const StatusOr<void*> library = LoadSharedLibrary("liblzma.so.5");
    if (!library.ok()) return std::nullopt;
    Liblzma lzma;
    lzma.stream_decoder =
        reinterpret_cast<decltype(lzma.stream_decoder)>(::dlsym(*library, "lzma_stream_decoder"));
    lzma.code = reinterpret_cast<decltype(lzma.code)>(::dlsym(*library, "lzma_code"));
    lzma.end = reinterpret_cast<decltype(lzma.end)>(::dlsym(*library, "lzma_end"));
    if (lzma.stream_decoder == nullptr || lzma.code == nullptr || lzma.end == nullptr) {
      return std::nullopt;
    }
    return lzma;
  }();
  return loaded ? &*loaded : nullptr;
}

// Returns nothing if it is damaged or too large.
std::vector<uint8_t> Unpack(const Liblzma& lzma, std::span<const uint8_t> packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma.stream_decoder(&stream, kMaxDecoderBytes, 0) != LZMA_OK) return {};
  const std::unique_ptr<lzma_stream, decltype(lzma.end)> owned(&stream, lzma.end);
  stream.next_in = packed.data();
  stream.avail_in = packed.size();
  const uint64_t limit = std::min(kMaxBytes, kFirstBytes + kMaxFactor * packed.size());
  std::vector<uint8_t> bytes(kFirstBytes);
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK) {
    if (stream.total_out == bytes.size()) {
      if (bytes.size() == limit) return {};
      bytes.resize(std::min<uint64_t>(limit, 2 * bytes.size()));
    }
    stream.next_out = bytes.data() + stream.total_out;
    stream.avail_out = bytes.size() - stream.total_out;
    result = lzma.code(&stream, LZMA_FINISH);
  }
  if (result != LZMA_STREAM_END) return {};
  bytes.resize(stream.total_out);
  return bytes;
}

}  // namespace

std::unique_ptr<ElfFile> OpenMiniDebugInfo(const ElfFile& file, const std::string& name) {
  const ElfSection* const section = file.FindSection(".gnu_debugdata");
  if (section == nullptr) return nullptr;
  const Liblzma* const lzma = LoadLiblzma();
  if (lzma == nullptr) return nullptr;
  std::vector<uint8_t> bytes = Unpack(*lzma, file.SectionBytes(*section));
  if (bytes.empty()) return nullptr;
  StatusOr<std::unique_ptr<ElfFile>> unpacked =
      ElfFile::Create(FileBytes::FromMemory(std::move(bytes)), name);
  return unpacked.ok() ? *std::move(unpacked) : nullptr;
}

}  // namespace hbbp
