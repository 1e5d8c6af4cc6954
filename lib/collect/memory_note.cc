#include "collect/memory_note.h"

#include <cinttypes>
#include <cstdio>

#include "events/samples.h"

namespace hbbp {

std::string MemoryNote(const MemoryLosses& dropped, bool has_widened_slices) {
  std::string note;
  if (has_widened_slices) AppendNote("slices were made wider, for want of memory", &note);
  if (dropped.all() == 0) return note;
  char text[192];
  std::snprintf(text, sizeof(text),
                "no memory for %" PRIu64 " samples and %" PRIu64
                " mappings: counts are too low, and not of all code alike",
                dropped.samples, dropped.mappings);
  AppendNote(text, &note);
  return note;
}

void LogDropped(const MemoryLosses& dropped, const CountedMemory& memory, uint64_t* last_logged,
                SessionLog* log) {
  if (dropped.all() <= 2 * *last_logged) return;
  log->Log(LogLevel::kError,
           "%" PRIu64 " samples and %" PRIu64 " mappings were dropped: no memory (%" PRIu64
           " bytes used, max_memory %" PRIu64 ")",
           dropped.samples, dropped.mappings, memory.used(), memory.limit());
  *last_logged = dropped.all();
}

void LogCompacted(const CountedMemory& memory, SessionLog* log) {
  log->Log(LogLevel::kDebug, "compacted: %" PRIu64 " of %" PRIu64 " bytes are used", memory.used(),
           memory.limit());
}

void LogWidened(uint64_t width_ns, SessionLog* log) {
  log->Log(LogLevel::kInfo, "slices are %" PRIu64 " ns wide, for want of memory", width_ns);
}

}  // namespace hbbp
