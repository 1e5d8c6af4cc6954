// KernelMemory composes the text of a kernel from layers that have parts of it, at stable
// addresses.
//
// The kernel rewrites its own code: alternatives at boot; trace points, static calls and jump
// labels at any time. So what was in memory takes precedence over the static file.
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

// This class is not thread-safe, because At reads lazily.
class KernelMemory {
 public:
  // Fills `buffer` from `address` on, as far as the layer has these bytes without a gap, and
  // returns how many.
  using Layer = std::function<size_t(ModuleAddress address, std::span<uint8_t> buffer)>;

  KernelMemory();
  ~KernelMemory();
  KernelMemory(const KernelMemory&) = delete;
  KernelMemory& operator=(const KernelMemory&) = delete;

  // Call it before the first call of At. A later layer supplies only what the layers before it
  // lack.
  void AddLayer(Layer layer) { layers_.push_back(std::move(layer)); }

  // Returns `size` bytes from `address` on, or fewer where no layer has more, but at least 2 MiB
  // where the layers have them. Returns nothing outside the range of kernels and their modules. The
  // bytes are valid for the life of this object.
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
