// ReadProgramMemory reads memory of the program that may be unmapped, by system calls that fail
// instead of faulting.
//
// Contract: async-signal-safe, no state.
#ifndef HBBP_LIB_TRACE_PROGRAM_MEMORY_H_
#define HBBP_LIB_TRACE_PROGRAM_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace hbbp::trace {

// Reads at most a page. Returns false if not all of it can be read, or if it is known not to be in
// memory.
bool ReadProgramMemory(uint64_t address, void* destination, size_t size);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_PROGRAM_MEMORY_H_
