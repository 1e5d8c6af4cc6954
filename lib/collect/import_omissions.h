// Says what of an import was left out or cannot be shown: a line each, with the number, the reason,
// and what helps.
#ifndef HBBP_LIB_COLLECT_IMPORT_OMISSIONS_H_
#define HBBP_LIB_COLLECT_IMPORT_OMISSIONS_H_

#include <string>
#include <vector>

#include "collect/import_options.h"
#include "collect/recorded_locator.h"
#include "collect/session_log.h"
#include "perf_data/perf_data_header.h"
#include "perf_data/perf_data_summary.h"
#include "profile/profile_data.h"

namespace hbbp {

// Returns what the records are that this library does not decode, and of another architecture.
std::vector<std::string> DescribeForeignParts(const PerfDataHeader& header,
                                              const PerfDataSummary& summary);

// Returns which options lead nowhere, and which modules with samples have no file here. To be
// called when the files of `data` have been searched.
std::vector<std::string> DescribeMissingFiles(const ImportOptions& options,
                                              const RecordedLocator& locator,
                                              const ProfileData& data);

// Adds the lines to the note of the first source, and to the log.
void AddOmissions(const std::vector<std::string>& lines, ProfileData* data, SessionLog* log);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_IMPORT_OMISSIONS_H_
