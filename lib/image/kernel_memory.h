// KernelMemory: the text of a kernel put together from what has parts of it, at stable addresses.
//
// The kernel rewrites its own code: alternatives at boot, trace points, static calls and jump
// labels at any time. So what was in memory is put over what the static file has.
#ifndef HBBP_LIB_IMAGE_KERNEL_MEMORY_H_
#define HBBP_LIB_IMAGE_KERNEL_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/address.h"

namespace hbbp {

// Not thread-safe: At reads lazily.
class KernelMemory {
 public:
  // Fills `buffer` from `address` on, as far as it has these bytes without a gap; returns how
  // many.
  using Layer = std::function<size_t(ModuleAddress address, std::span<uint8_t> buffer)>;

  KernelMemory();
  ~KernelMemory();
  KernelMemory(const KernelMemory&) = delete;
  KernelMemory& operator=(const KernelMemory&) = delete;

  // Before the first call of At. A layer that is added later has only what those before it have
  // not.
  void AddLayer(Layer layer) { layers_.push_back(std::move(layer)); }

  // From `address` on: `size` bytes, or fewer where no layer has more; at least 2 MiB if they are
  // there. Nothing outside of the area that has code of kernels and their modules. Valid for the
  // life of this object.
  std::span<const uint8_t> At(ModuleAddress address, size_t size) const;

 private:
  struct Window;

  Window* WindowAt(uint64_t index) const;
  void FillPage(Window* window, uint64_t page) const;

  std::vector<Layer> layers_;
  mutable std::map<uint64_t, std::unique_ptr<Window>> windows_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_KERNEL_MEMORY_H_
