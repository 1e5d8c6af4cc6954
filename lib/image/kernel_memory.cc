#include "image/kernel_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bitset>
#include <cstring>

#include "base/linux_constants.h"

namespace hbbp {
namespace {

// Windows overlap by half, so that for any address one of them has at least that half after it.
constexpr uint64_t kWindowStep = uint64_t{2} << 20;
constexpr uint64_t kWindowBytes = 2 * kWindowStep;
constexpr uint64_t kPagesOfWindow = kWindowBytes / kPageBytes;
// Kernels have some ten MiB of text, and as much in modules.
constexpr size_t kMaxWindows = 256;
// This is the range of the kernel image and its modules in Documentation/arch/x86/x86_64/mm.rst.
constexpr uint64_t kCodeStart = 0xffffffff80000000;
constexpr uint64_t kCodeEnd = 0xffffffffff000000;

}  // namespace

struct KernelMemory::Window {
  enum class Page : uint8_t { kUnknown, kEmpty, kWhole, kPart };

  explicit Window(uint64_t window_start) : start(window_start), pages(kPagesOfWindow) {
    void* memory = ::mmap(nullptr, kWindowBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) data = static_cast<uint8_t*>(memory);
  }
  ~Window() {
    if (data != nullptr) ::munmap(data, kWindowBytes);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  const uint64_t start;
  uint8_t* data = nullptr;
  std::vector<Page> pages;
  std::map<uint64_t, std::bitset<kPageBytes>> parts;  // by page: which bytes are known
};

KernelMemory::KernelMemory() = default;
KernelMemory::~KernelMemory() = default;

KernelMemory::Window* KernelMemory::WindowAt(uint64_t index) const {
  const auto known = windows_.find(index);
  if (known != windows_.end()) return known->second.get();
  if (windows_.size() == kMaxWindows) return nullptr;
  auto window = std::make_unique<Window>(index * kWindowStep);
  if (window->data == nullptr) return nullptr;
  return windows_.emplace(index, std::move(window)).first->second.get();
}

void KernelMemory::FillPage(Window* window, uint64_t page) const {
  uint8_t* const data = window->data + page * kPageBytes;
  const uint64_t address = window->start + page * kPageBytes;
  std::bitset<kPageBytes> known;
  std::vector<uint8_t> buffer(kPageBytes);
  for (const Layer& layer : layers_) {
    for (uint64_t at = 0; at < kPageBytes && !known.all();) {
      const size_t got = layer({address + at}, std::span(buffer).subspan(at));
      if (got == 0) {
        ++at;
        continue;
      }
      for (uint64_t i = at; i < at + got; ++i) {
        if (!known[i]) data[i] = buffer[i];
        known.set(i);
      }
      at += got;
    }
  }
  window->pages[page] = known.all()    ? Window::Page::kWhole
                        : known.none() ? Window::Page::kEmpty
                                       : Window::Page::kPart;
  if (window->pages[page] == Window::Page::kPart) window->parts[page] = known;
}

std::span<const uint8_t> KernelMemory::At(ModuleAddress address, size_t size) const {
  if (address.value < kCodeStart || address.value >= kCodeEnd || size == 0) return {};
  Window* const window = WindowAt(address.value / kWindowStep);
  if (window == nullptr) return {};
  const uint64_t start = address.value - window->start;
  const uint64_t end = std::min(
      {kWindowBytes, start + std::min<uint64_t>(size, kWindowBytes), kCodeEnd - window->start});
  uint64_t at = start;
  while (at < end) {
    const uint64_t page = at / kPageBytes;
    if (window->pages[page] == Window::Page::kUnknown) FillPage(window, page);
    const uint64_t page_end = (page + 1) * kPageBytes;
    if (window->pages[page] == Window::Page::kEmpty) break;
    if (window->pages[page] == Window::Page::kPart) {
      const std::bitset<kPageBytes>& known = window->parts[page];
      while (at < page_end && known[at % kPageBytes]) ++at;
      if (at < page_end) break;
    }
    at = page_end;
  }
  at = std::min(at, end);
  if (at <= start) return {};
  return {window->data + start, static_cast<size_t>(at - start)};
}

}  // namespace hbbp
