// Allocates memory for generated code in this process.
#ifndef HBBP_TESTS_SUPPORT_JIT_MEMORY_H_
#define HBBP_TESTS_SUPPORT_JIT_MEMORY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/catch.h"

namespace hbbp {

class JitMemory {
 public:
  static constexpr size_t kPage = 4096;

  explicit JitMemory(size_t pages) : bytes_(pages * kPage) {
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE | PROT_EXEC,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    memory_ = static_cast<uint8_t*>(memory);
  }
  ~JitMemory() { ::munmap(memory_, bytes_); }
  JitMemory(const JitMemory&) = delete;
  JitMemory& operator=(const JitMemory&) = delete;

  uint8_t* At(size_t offset) const { return memory_ + offset; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_); }
  void Put(size_t offset, const std::vector<uint8_t>& code) const {
    std::memcpy(At(offset), code.data(), code.size());
  }

 private:
  size_t bytes_;
  uint8_t* memory_ = nullptr;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_JIT_MEMORY_H_
