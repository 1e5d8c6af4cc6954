#include "trace/restartable_sequence.h"

#include <atomic>

// glibc 2.35 and later have these.
extern "C" {
[[gnu::weak]] extern const ptrdiff_t __rseq_offset;
[[gnu::weak]] extern const unsigned int __rseq_size;
}

namespace hbbp::trace {
namespace {

constexpr size_t kMaxSequences = 1024;

// Of two lists the worker fills the one that is not used and then publishes it. It does so at most
// a few times a second, and a reader finishes within microseconds.
struct SequenceList {
  size_t count;
  SequenceRange ranges[kMaxSequences];
};
SequenceList lists[2];
std::atomic<unsigned> current{0};

}  // namespace

void SetRestartableSequences(const SequenceRange* ranges, size_t count) {
  const unsigned next = 1 - current.load(std::memory_order_relaxed);
  SequenceList& list = lists[next];
  list.count = count < kMaxSequences ? count : kMaxSequences;
  for (size_t i = 0; i < list.count; ++i) list.ranges[i] = ranges[i];
  current.store(next, std::memory_order_release);
}

bool IsInRestartableSequence(uint64_t address) {
  const SequenceList& list = lists[current.load(std::memory_order_acquire)];
  for (size_t i = 0; i < list.count; ++i) {
    if (address - list.ranges[i].start < list.ranges[i].end - list.ranges[i].start) return true;
  }
  return false;
}

uint64_t AddressOfCurrentSequence(uint64_t thread_pointer) {
  if (&__rseq_offset == nullptr || &__rseq_size == nullptr || __rseq_size == 0) return 0;
  return thread_pointer + static_cast<uint64_t>(__rseq_offset) + kOffsetOfDescriptorAddress;
}

}  // namespace hbbp::trace
