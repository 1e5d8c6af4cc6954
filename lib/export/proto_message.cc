#include "export/proto_message.h"

#include "base/leb128.h"

namespace hbbp {
namespace {

// The lowest three bits of a key.
constexpr uint32_t kVarint = 0;
constexpr uint32_t kLengthDelimited = 2;

constexpr size_t VarintBytes(uint64_t number) {
  size_t bytes = 1;
  for (; number >= 0x80; number >>= 7) ++bytes;
  return bytes;
}

}  // namespace

void ProtoMessage::AddNumber(uint32_t field, uint64_t number) {
  if (number != 0) AddPresent(field, number);
}

void ProtoMessage::AddPresent(uint32_t field, uint64_t number) {
  AppendVarint(field << 3 | kVarint);
  AppendVarint(number);
}

void ProtoMessage::AddPacked(uint32_t field, std::initializer_list<uint64_t> numbers) {
  size_t bytes = 0;
  for (const uint64_t number : numbers) bytes += VarintBytes(number);
  AppendVarint(field << 3 | kLengthDelimited);
  AppendVarint(bytes);
  for (const uint64_t number : numbers) AppendVarint(number);
}

void ProtoMessage::AddBytes(uint32_t field, std::string_view bytes) {
  AppendVarint(field << 3 | kLengthDelimited);
  AppendVarint(bytes.size());
  bytes_ += bytes;
}

void ProtoMessage::AppendVarint(uint64_t number) { AppendUleb128(number, &bytes_); }

}  // namespace hbbp
