// A ring of io_uring whose operations do nothing, in threads of the kernel, which take a moment.
#ifndef HBBP_TESTS_SUPPORT_NOP_RING_H_
#define HBBP_TESTS_SUPPORT_NOP_RING_H_

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
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

  // Has one operation done. Returns how many waits ended before it was.
  int DoOne(bool waits_where_it_submits) {
    const uint32_t entry = Load(submissions_, facts_.sq_off.tail) & (facts_.sq_entries - 1);
    entries_[entry] = {};
    entries_[entry].opcode = IORING_OP_NOP;
    entries_[entry].flags = IOSQE_ASYNC;
    *At(submissions_, facts_.sq_off.array + entry * sizeof(uint32_t)) = entry;
    Advance(At(submissions_, facts_.sq_off.tail));
    long to_submit = 1;
    if (!waits_where_it_submits) to_submit -= std::max(0L, Enter(to_submit, 0, 0));
    for (int interrupted = 0;; ++interrupted) {
      to_submit -= std::max(0L, Enter(to_submit, 1, IORING_ENTER_GETEVENTS));
      if (Load(completions_, facts_.cq_off.tail) == Load(completions_, facts_.cq_off.head))
        continue;
      Advance(At(completions_, facts_.cq_off.head));
      return interrupted;
    }
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
  static uint32_t Load(uint8_t* ring, size_t offset) {
    return std::atomic_ref(*At(ring, offset)).load(std::memory_order_acquire);
  }
  static void Advance(uint32_t* position) {
    std::atomic_ref(*position).fetch_add(1, std::memory_order_release);
  }
  long Enter(long submitted, long awaited, long flags) const {
    return ::syscall(SYS_io_uring_enter, file_.get(), submitted, awaited, flags, nullptr, 0);
  }

  io_uring_params facts_ = {};
  const UniqueFd file_;
  uint8_t* submissions_ = nullptr;
  uint8_t* completions_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_NOP_RING_H_
