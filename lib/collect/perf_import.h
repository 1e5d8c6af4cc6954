// ImportRecording: what perf recorded, as a profile.
#ifndef HBBP_LIB_COLLECT_PERF_IMPORT_H_
#define HBBP_LIB_COLLECT_PERF_IMPORT_H_

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/work.h"
#include "collect/host_settings.h"
#include "collect/importer.h"
#include "profile/profile_data.h"

namespace hbbp {

struct PerfImportOptions : HostSettings {
  ImportOptions files;
  // For text without mappings: the one file whose addresses it has; empty: none.
  std::string binary;
  // Of instruction pointers that come with branch stacks; see perf/ip_correction.h.
  EbsMethod ebs_method = EbsMethod::kAuto;
  Work work;  // in bytes
};

// Either of the two that follow, by what is at the start of the file. kBadFormat if it is neither.
// What there is no memory for is dropped, counted and said in notes; kNoMemory if that is all.
StatusOr<ProfileData> ImportRecording(const std::string& path, const PerfImportOptions& options);

// `path` "-": standard input. What of a damaged recording could not be used is said in the notes of
// its sources.
StatusOr<ProfileData> ImportPerfData(const std::string& path, const PerfImportOptions& options);

// Text of `perf script` with branch stacks. It has no periods: a sample counts as one event. A
// count in front of a sample, as in aggregated text, says how often it was seen.
StatusOr<ProfileData> ImportPerfScript(const std::string& path, const PerfImportOptions& options);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_PERF_IMPORT_H_
