// What is said of counts that there was not enough memory for.
#ifndef HBBP_LIB_COLLECT_MEMORY_NOTE_H_
#define HBBP_LIB_COLLECT_MEMORY_NOTE_H_

#include <cstdint>
#include <string>

#include "base/counted_memory.h"
#include "collect/memory_use.h"
#include "collect/session_log.h"

namespace hbbp {

// For the note of a source; empty if nothing was done.
std::string MemoryNote(const MemoryLosses& dropped, bool has_widened_slices);

// Tells of what was dropped, if that is more than twice `told`, which becomes that.
void LogDropped(const MemoryLosses& dropped, const CountedMemory& memory, uint64_t* told,
                SessionLog* log);
void LogCompacted(const CountedMemory& memory, SessionLog* log);
void LogWidened(uint64_t width_ns, SessionLog* log);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_MEMORY_NOTE_H_
