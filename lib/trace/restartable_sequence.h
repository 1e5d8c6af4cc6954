// Restartable sequences (rseq): code that the kernel aborts whenever a signal comes in between. A
// breakpoint inside would abort it each time that it runs.
//
// They are known from the descriptors that programs keep in a section __rseq_cs, and from the
// per-thread area in which a thread names the one that it enters.
//
// Contract: SetRestartableSequences is the worker's; the others are async-signal-safe.
#ifndef HBBP_LIB_TRACE_RESTARTABLE_SEQUENCE_H_
#define HBBP_LIB_TRACE_RESTARTABLE_SEQUENCE_H_

#include <cstddef>
#include <cstdint>

namespace hbbp::trace {

struct SequenceRange {
  uint64_t start;
  uint64_t end;  // exclusive
};

// As in <linux/rseq.h>: struct rseq_cs.
struct SequenceDescriptor {
  uint32_t version;
  uint32_t flags;
  uint64_t start_ip;
  uint64_t post_commit_offset;
  uint64_t abort_ip;
};

// Replaces the list; at most 1024 are kept. Any time.
void SetRestartableSequences(const SequenceRange* ranges, size_t count);

// Is it in one of the list?
bool IsInRestartableSequence(uint64_t address);

// Where the calling thread stores the address of the descriptor of the sequence that it enters; 0
// if libc has not registered such an area.
uint64_t AddressOfCurrentSequence();

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_RESTARTABLE_SEQUENCE_H_
