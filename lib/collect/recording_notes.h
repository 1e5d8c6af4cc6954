// Says in notes what sampling missed of a recording, how much, and how to record better. A host
// that feeds records knows how it samples, and gets counters alone.
#ifndef HBBP_LIB_COLLECT_RECORDING_NOTES_H_
#define HBBP_LIB_COLLECT_RECORDING_NOTES_H_

#include <span>

#include "collect/perf_record_import.h"
#include "perf_data/perf_data_event.h"
#include "profile/profile_data.h"

namespace hbbp {

// Adds to the notes of the `sources` that the import has made of `events`.
void AddRecordingNotes(const EventTable& events, const PerfRecordImport& import,
                       std::span<SourceRecord> sources);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RECORDING_NOTES_H_
