#include "perf_data/bpf_programs.h"

#include <optional>

#include "perf/record_cursor.h"

namespace hbbp {
namespace {

// perf says by such bits which arrays it read; they follow struct bpf_prog_info, which has their
// offsets instead of pointers.
constexpr uint64_t kJitedCode = 1 << 0;
constexpr uint64_t kJitedAddresses = 1 << 3;
constexpr uint64_t kJitedLengths = 1 << 4;
constexpr uint64_t kNeeded = kJitedCode | kJitedAddresses | kJitedLengths;

// Returns nothing if the array is not within `data`.
std::optional<std::span<const uint8_t>> ArrayAt(std::span<const uint8_t> data, uint64_t offset,
                                                uint64_t size) {
  if (offset > data.size() || size > data.size() - offset) return std::nullopt;
  return data.subspan(offset, size);
}

bool ReadFunctions(std::span<const uint8_t> info, std::span<const uint8_t> data, ByteOrder order,
                   std::vector<BpfFunction>* functions) {
  // These are the fields of bpf_prog_info between those that are read.
  constexpr size_t kBeforeCode = 16, kTranslatedBytes = 4, kAfterCode = 72;
  RecordCursor fields(info, order);
  uint32_t code_bytes, address_count, length_count;
  uint64_t code_at, addresses_at, lengths_at;
  if (!fields.Skip(kBeforeCode) || !fields.Read(&code_bytes) || !fields.Skip(kTranslatedBytes) ||
      !fields.Read(&code_at)) {
    return false;
  }
  // Kernels before 4.18 do not know addresses.
  if (!fields.Skip(kAfterCode) || !fields.Read(&address_count) || !fields.Read(&length_count) ||
      !fields.Read(&addresses_at) || !fields.Read(&lengths_at)) {
    return true;
  }
  if (address_count != length_count) return false;
  const auto code = ArrayAt(data, code_at, code_bytes);
  const auto addresses = ArrayAt(data, addresses_at, uint64_t{address_count} * sizeof(uint64_t));
  const auto lengths = ArrayAt(data, lengths_at, uint64_t{length_count} * sizeof(uint32_t));
  if (!code || !addresses || !lengths) return false;
  RecordCursor code_cursor(*code, order), address_cursor(*addresses, order);
  RecordCursor length_cursor(*lengths, order);
  for (uint32_t i = 0; i < address_count; ++i) {
    uint32_t length;
    std::span<const uint8_t> part;
    BpfFunction function;
    if (!address_cursor.Read(&function.address) || !length_cursor.Read(&length) ||
        !code_cursor.ReadBytes(length, &part)) {
      return false;
    }
    if (function.address == 0 || part.empty()) continue;
    function.code.assign(part.begin(), part.end());
    functions->push_back(std::move(function));
  }
  return true;
}

}  // namespace

bool ParseBpfPrograms(std::span<const uint8_t> bytes, ByteOrder order,
                      std::vector<BpfFunction>* functions) {
  RecordCursor cursor(bytes, order);
  uint32_t count;
  if (!cursor.Read(&count)) return false;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t info_bytes, data_bytes;
    uint64_t arrays;
    std::span<const uint8_t> info, data;
    if (!cursor.Read(&info_bytes) || !cursor.Read(&data_bytes) || !cursor.Read(&arrays) ||
        !cursor.ReadBytes(info_bytes, &info) || !cursor.ReadBytes(data_bytes, &data)) {
      return false;
    }
    if ((arrays & kNeeded) == kNeeded && !ReadFunctions(info, data, order, functions)) return false;
  }
  return true;
}

}  // namespace hbbp
