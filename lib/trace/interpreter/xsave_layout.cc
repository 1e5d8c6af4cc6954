// Contract: see the header.
#include "trace/interpreter/xsave_layout.h"

#include "base/cpuid.h"

namespace hbbp::trace {
namespace {

constexpr unsigned kXsaveLeaf = 0xd;
constexpr uint32_t kHasOsxsave = 1u << 27;
constexpr size_t kLegacyAndHeader = 576;
constexpr uint32_t kIsAligned = 2;
constexpr size_t kAlignment = 64;

}  // namespace

void XsaveLayout::Find() {
  if ((ReadCpuid(1).ecx & kHasOsxsave) == 0) return;
  uint32_t low, high;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  enabled = (uint64_t{high} << 32) | low;
  for (unsigned component = 2; component < kComponents; ++component) {
    if (((enabled >> component) & 1) == 0) continue;
    const CpuidLeaf leaf = ReadCpuid(kXsaveLeaf, component);
    size[component] = leaf.eax;
    offset[component] = leaf.ebx;
    if (leaf.ecx & kIsAligned) aligned |= uint64_t{1} << component;
  }
}

size_t XsaveLayout::AreaBytes(uint64_t components, bool is_compacted) const {
  size_t end = kLegacyAndHeader;
  for (unsigned component = 2; component < kComponents; ++component) {
    if (((components >> component) & 1) == 0) continue;
    if (!is_compacted) {
      const size_t component_end = size_t{offset[component]} + size[component];
      if (component_end > end) end = component_end;
      continue;
    }
    if ((aligned >> component) & 1) end = (end + kAlignment - 1) / kAlignment * kAlignment;
    end += size[component];
  }
  return end;
}

}  // namespace hbbp::trace
