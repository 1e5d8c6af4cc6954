// Finds restartable sequences (rseq): code that the kernel aborts whenever a signal interrupts it.
// A breakpoint inside would abort it each time that it runs.
//
// They are known from the descriptors that programs keep in a section __rseq_cs, and from the
// per-thread area in which a thread registers the sequence that it enters.
//
// Contract: only the worker calls SetRestartableSequences; the other functions are
// async-signal-safe.
#ifndef HBBP_LIB_TRACE_RESTARTABLE_SEQUENCE_H_
#define HBBP_LIB_TRACE_RESTARTABLE_SEQUENCE_H_

#include <cstddef>
#include <cstdint>

namespace hbbp::trace {

struct SequenceRange {
  uint64_t start;
  uint64_t end;  // exclusive
};

// Of the address of a descriptor in the area of a thread, which is struct rseq of <linux/rseq.h>.
constexpr uint64_t kOffsetOfDescriptorAddress = 8;

// This is struct rseq_cs of <linux/rseq.h>.
struct SequenceDescriptor {
  uint32_t version;
  uint32_t flags;
  uint64_t start_ip;
  uint64_t post_commit_offset;
  uint64_t abort_ip;
};

// Replaces the list; at most 1024 ranges are kept. The worker may call it at any time.
void SetRestartableSequences(const SequenceRange* ranges, size_t count);

// Returns whether the address is in a sequence of the list.
bool IsInRestartableSequence(uint64_t address);

// Returns where the thread with this thread pointer stores the address of the descriptor of the
// sequence that it enters, or 0 if libc has not registered such an area. The memory is readable if
// it is the thread pointer of libc, which a program may have replaced.
uint64_t AddressOfCurrentSequence(uint64_t thread_pointer);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_RESTARTABLE_SEQUENCE_H_
