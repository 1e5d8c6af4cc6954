// Reads any bytes as an ELF image, with every function of ElfImage.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include "image/elf_image.h"

namespace {

using hbbp::AddressRange;
using hbbp::ElfImage;
using hbbp::ModuleAddress;

void Require(bool condition) {
  if (!condition) std::abort();
}

volatile uint8_t sink;

void ReadBytes(std::span<const uint8_t> bytes) {
  for (uint8_t byte : bytes) sink = byte;
}

void Ask(const ElfImage& image, ModuleAddress address) {
  ReadBytes(image.CodeAt(address, 64));
  ReadBytes(image.DataAt(address, 64));
  std::optional<AddressRange> range = image.FunctionAround(address);
  if (range) Require(range->Contains(address));
  std::string name = image.FunctionName(address);
  Require(range.has_value() || name.empty());
  std::optional<hbbp::FileOffset> offset = image.OffsetOfAddress(address);
  if (offset) Require(image.AddressOfOffset(*offset).has_value());
  const std::optional<hbbp::DataObject> object = image.DataAround({address, address + 1});
  if (object) Require(!object->name.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto image = ElfImage::FromMemory({data, data + size}, "fuzz", {.debug_root = ""});
  if (!image.ok()) return 0;
  ReadBytes((*image)->build_id());
  ModuleAddress end{0};
  for (const AddressRange& function : (*image)->AllFunctions()) {
    Require(end <= function.start && function.start < function.end);
    end = function.end;
    Ask(**image, function.start);
    Ask(**image, function.end);
  }
  for (uint64_t offset = 0; offset < size; offset += 97) {
    std::optional<ModuleAddress> address = (*image)->AddressOfOffset({offset});
    if (address) Ask(**image, *address);
  }
  for (uint64_t extreme : {uint64_t{0}, UINT64_MAX, UINT64_MAX / 2}) Ask(**image, {extreme});
  return 0;
}
