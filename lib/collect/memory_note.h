// Reports what was dropped or made coarser for want of memory, in notes and in the log.
#ifndef HBBP_LIB_COLLECT_MEMORY_NOTE_H_
#define HBBP_LIB_COLLECT_MEMORY_NOTE_H_

#include <cstdint>
#include <string>

#include "base/counted_memory.h"
#include "collect/memory_use.h"
#include "collect/session_log.h"

namespace hbbp {

// Returns a text for the note of a source, which is empty if there was enough memory.
std::string MemoryNote(const MemoryLosses& dropped, bool has_widened_slices);

// Logs `dropped` if it is more than twice `last_logged`, and then sets that.
void LogDropped(const MemoryLosses& dropped, const CountedMemory& memory, uint64_t* last_logged,
                SessionLog* log);
void LogCompacted(const CountedMemory& memory, SessionLog* log);
void LogWidened(uint64_t width_ns, SessionLog* log);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_MEMORY_NOTE_H_
