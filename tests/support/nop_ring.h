// A ring of io_uring whose operations do nothing, in threads of the kernel, which take a moment.
#ifndef HBBP_TESTS_SUPPORT_NOP_RING_H_
#define HBBP_TESTS_SUPPORT_NOP_RING_H_

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/unique_fd.h"

namespace hbbp {

class NopRing {
 public:
  NopRing() : file_(static_cast<int>(::syscall(SYS_io_uring_setup, 4, &facts_))) {
    if (!file_.valid()) return;
    submissions_ = Map(IORING_OFF_SQ_RING);
    completions_ = Map(IORING_OFF_CQ_RING);
    entries_ = reinterpret_cast<io_uring_sqe*>(Map(IORING_OFF_SQES));
  }
  ~NopRing() {
    for (void* part : {static_cast<void*>(submissions_), static_cast<void*>(completions_),
                       static_cast<void*>(entries_)}) {
      if (part != nullptr) ::munmap(part, kBytes);
    }
  }
  NopRing(const NopRing&) = delete;
  NopRing& operator=(const NopRing&) = delete;

  bool is_mapped() const {
    return submissions_ != nullptr && completions_ != nullptr && entries_ != nullptr;
  }

  // Has one operation done. Returns how often the wait for its end was interrupted.
  int DoOne() {
    const uint32_t entry = *At(submissions_, facts_.sq_off.tail) & (facts_.sq_entries - 1);
    entries_[entry] = {};
    entries_[entry].opcode = IORING_OP_NOP;
    entries_[entry].flags = IOSQE_ASYNC;
    *At(submissions_, facts_.sq_off.array + entry * sizeof(uint32_t)) = entry;
    Advance(At(submissions_, facts_.sq_off.tail));
    while (Enter(1, 0, 0) == -EINTR) {
    }
    int interrupted = 0;
    while (Enter(0, 1, IORING_ENTER_GETEVENTS) == -EINTR) ++interrupted;
    Advance(At(completions_, facts_.cq_off.head));
    return interrupted;
  }

 private:
  static constexpr size_t kBytes = 4096;

  uint8_t* Map(off_t part) const {
    void* const memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), part);
    return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
  }
  static uint32_t* At(uint8_t* ring, size_t offset) {
    return reinterpret_cast<uint32_t*>(ring + offset);
  }
  static void Advance(uint32_t* position) {
    std::atomic_ref(*position).fetch_add(1, std::memory_order_release);
  }

  // As liburing does it.
  long Enter(uint32_t submitted, uint32_t awaited, uint32_t flags) const {
    long result;
    register uint64_t r10 asm("r10") = flags;
    register uint64_t r8 asm("r8") = 0;
    register uint64_t r9 asm("r9") = 0;
    asm volatile("mov $426, %%eax\n\tsyscall"
                 : "=a"(result)
                 : "D"(file_.get()), "S"(submitted), "d"(awaited), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
  }

  io_uring_params facts_ = {};
  const UniqueFd file_;
  uint8_t* submissions_ = nullptr;
  uint8_t* completions_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_NOP_RING_H_
