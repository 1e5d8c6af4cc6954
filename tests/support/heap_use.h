// HeapBytes returns the bytes that all threads have allocated now.
#ifndef HBBP_TESTS_SUPPORT_HEAP_USE_H_
#define HBBP_TESTS_SUPPORT_HEAP_USE_H_

#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace hbbp {

// Returns 0 if the allocator does not report it.
inline int64_t HeapBytes() {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  if (stream == nullptr) return 0;
  const bool is_known = ::malloc_info(0, stream) == 0;
  std::fclose(stream);
  const std::string report = is_known ? std::string(text, size) : std::string();
  std::free(text);
  // The sums of all arenas come last.
  const auto size_of = [&report](const std::string& element) -> int64_t {
    const size_t found = report.rfind("<" + element);
    const size_t value = found == std::string::npos ? found : report.find("size=\"", found);
    return value == std::string::npos ? 0 : std::atoll(report.c_str() + value + 6);
  };
  return size_of("system type=\"current\"") + size_of("total type=\"mmap\"") -
         size_of("total type=\"fast\"") - size_of("total type=\"rest\"");
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_HEAP_USE_H_
