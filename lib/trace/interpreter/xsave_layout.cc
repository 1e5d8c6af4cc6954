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

XsaveLayout Detect() {
  XsaveLayout layout;
  if ((ReadCpuid(1).ecx & kHasOsxsave) == 0) return layout;
  uint32_t low, high;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  layout.enabled = (uint64_t{high} << 32) | low;
  for (unsigned component = 2; component < XsaveLayout::kComponents; ++component) {
    if (((layout.enabled >> component) & 1) == 0) continue;
    const CpuidLeaf leaf = ReadCpuid(kXsaveLeaf, component);
    layout.size[component] = leaf.eax;
    layout.offset[component] = leaf.ebx;
    if (leaf.ecx & kIsAligned) layout.aligned |= uint64_t{1} << component;
  }
  return layout;
}

}  // namespace

void XsaveLayout::Find() {
  static const XsaveLayout layout = Detect();
  *this = layout;
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
