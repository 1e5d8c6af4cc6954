// Reads any bytes as a core file of a kernel, with every function for the code in it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "image/kernel_code.h"
#include "image/kernel_core.h"

namespace {

using hbbp::AddressRange;
using hbbp::KernelCode;
using hbbp::KernelCore;
using hbbp::ModuleAddress;

void Require(bool condition) {
  if (!condition) std::abort();
}

volatile uint8_t sink;

void ReadBytes(std::span<const uint8_t> bytes) {
  for (uint8_t byte : bytes) sink = byte;
}

void Ask(const KernelCore& core, const KernelCode& code, ModuleAddress address) {
  const std::optional<AddressRange> segment = core.SegmentAround(address);
  if (segment) Require(segment->Contains(address));
  std::vector<uint8_t> buffer(300);
  const size_t got = core.Read(address, buffer);
  Require(segment ? got <= segment->end - address : got == 0);
  const std::span<const uint8_t> bytes = code.CodeAt(address, buffer.size());
  Require(bytes.size() <= buffer.size());
  ReadBytes(bytes);
  if (!bytes.empty() && got != 0) Require(bytes[0] == buffer[0]);
  const std::optional<AddressRange> function = code.FunctionAround(address);
  if (function) Require(function->Contains(address));
  Require(code.IsLive(address) == (got != 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hbbp::UniqueFd fd(::memfd_create("core", MFD_CLOEXEC));
  Require(::write(fd.get(), data, size) == static_cast<ssize_t>(size));
  const auto core = KernelCore::FromFd(std::move(fd), "fuzz");
  if (!core.ok()) {
    Require(core.status().message().starts_with("fuzz: "));
    return 0;
  }
  hbbp::KernelParts parts;
  parts.core = *core;
  const KernelCode code(std::move(parts));
  for (const uint64_t address :
       {uint64_t{0xffffffff80000000}, uint64_t{0xffffffff81000000}, uint64_t{0xffffffff81000fff},
        uint64_t{0xffffffffc0000000}, uint64_t{0xffff888000000000}, UINT64_MAX, uint64_t{0}}) {
    Ask(**core, code, {address});
    const auto segment = (*core)->SegmentAround({address});
    if (segment) Ask(**core, code, segment->end - 1);
  }
  return 0;
}
