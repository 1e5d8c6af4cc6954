// PerfDataSummary says what was in a recording, and what of it could not be used.
#ifndef HBBP_LIB_PERF_DATA_PERF_DATA_SUMMARY_H_
#define HBBP_LIB_PERF_DATA_PERF_DATA_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hbbp {

// Describes something that was dropped, and says why.
struct PerfDataProblem {
  uint64_t offset = 0;  // in the recording; of a compressed record, where its block is
  uint64_t dropped_bytes = 0;
  std::string what;
};

struct PerfDataSummary {
  static constexpr size_t kMaxProblems = 32;

  std::map<uint32_t, uint64_t> records;          // how many there were, by type
  std::map<uint32_t, uint64_t> skipped_records;  // of these, those that no visitor sees
  uint64_t rounds = 0;                           // records of type FINISHED_ROUND
  uint64_t bytes = 0;                            // of the recording, read
  // These were delivered after a record of a later time.
  uint64_t late_records = 0;
  uint64_t dropped_records = 0;  // as far as they can be distinguished
  uint64_t dropped_bytes = 0;
  uint64_t problem_count = 0;
  std::vector<PerfDataProblem> problems;  // the first kMaxProblems
  // perf was killed before it wrote how long the recording is and what machine it is from.
  bool is_unfinished = false;

  void AddProblem(uint64_t offset, uint64_t dropped_bytes, std::string what);

  uint64_t RecordsOf(uint32_t type) const {
    const auto found = records.find(type);
    return found == records.end() ? 0 : found->second;
  }
};

// Returns "SAMPLE", "MMAP2"; "type 99" where there is no name.
std::string PerfRecordName(uint32_t type);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_PERF_DATA_SUMMARY_H_
