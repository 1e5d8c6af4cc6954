// ImportRecording makes a profile of a recording of perf.
#ifndef HBBP_LIB_COLLECT_PERF_IMPORT_H_
#define HBBP_LIB_COLLECT_PERF_IMPORT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/work.h"
#include "collect/host_settings.h"
#include "collect/importer.h"
#include "perf_data/byte_source.h"
#include "perf_data/perf_data_reader.h"
#include "profile/profile_data.h"

namespace hbbp {

struct PerfImportOptions : HostSettings {
  ImportOptions files;
  // For text without mappings, this is the one file whose addresses it has; empty: none.
  std::string binary;
  // The method for instruction pointers that come with branch stacks; see perf/ip_correction.h.
  EbsMethod ebs_method = EbsMethod::kAuto;
  Work work;  // in bytes
};

// Imports what perf record writes, text of perf script, or text that was added up, according to the
// start of the file; returns kBadFormat if it is none of these. `path` may be a pipe, and "-" is
// standard input. Samples that there is no memory for are dropped and counted, and notes say so;
// returns kNoMemory if no sample is left.
StatusOr<ProfileData> ImportRecording(const std::string& path, const PerfImportOptions& options);

// The notes of the sources say which parts of a damaged recording could not be used.
StatusOr<ProfileData> ImportPerfData(std::unique_ptr<PerfDataReader> reader,
                                     const PerfImportOptions& options);

// Imports text of `perf script` with branch stacks. Without periods a sample counts as one event. A
// count in front of a sample, as in aggregated text, says how often it was seen. `name` is for
// messages.
StatusOr<ProfileData> ImportPerfScript(ByteSource* source, const std::string& name,
                                       const PerfImportOptions& options);

// Imports text that was added up for BOLT (perf_data/aggregated_line.h). Its addresses are those of
// files: of `options.binary`, and of those that are found by build ID.
StatusOr<ProfileData> ImportAggregatedText(ByteSource* source, const PerfImportOptions& options);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_PERF_IMPORT_H_
