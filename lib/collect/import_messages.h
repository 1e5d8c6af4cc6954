// ImportMessages: logs for a host what became of records and samples that it hands over, or has
// imported. What goes on is logged again each time that there is more than twice as much.
#ifndef HBBP_LIB_COLLECT_IMPORT_MESSAGES_H_
#define HBBP_LIB_COLLECT_IMPORT_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <set>

#include "base/status.h"
#include "collect/importer.h"
#include "collect/perf_record_import.h"
#include "collect/session_log.h"
#include "perf_data/perf_data_summary.h"

namespace hbbp {

// kNoMemory if samples were dropped and none was counted.
Status CheckAnyFound(const MemoryLosses& dropped, const ProfileData& data);

// Completes a snapshot of the importer: its sources, its duration, and its process if it is one.
void CompleteImport(const PerfDataSummary& summary, const PerfRecordImport& import,
                    const Importer& importer, ProfileData* data);

class ImportMessages {
 public:
  // Which must outlive it.
  explicit ImportMessages(SessionLog* log) : log_(*log) {}

  void LogSource(const SourceRecord& source);
  // What there is to log since the last call, of records and of what was counted.
  void LogRecords(const PerfDataSummary& summary, const PerfRecordImport& import);
  void LogCounts(const Importer& importer);
  // The same as LogCounts, of memory alone.
  void LogMemory(const Importer& importer);

 private:
  void LogGrowth(uint64_t number, const char* what, uint64_t* last_logged);

  SessionLog& log_;
  size_t logged_problems_ = 0;
  size_t logged_jit_problems_ = 0;
  std::set<uint32_t> logged_types_;  // of records
  uint64_t logged_unreadable_ = 0;
  uint64_t logged_late_ = 0;
  uint64_t logged_lost_ = 0;
  uint64_t logged_throttled_ = 0;
  uint64_t logged_mappings_ = 0;
  uint64_t logged_code_ = 0;
  uint64_t logged_dropped_ = 0;
  uint64_t logged_compactions_ = 0;
  uint64_t logged_width_ns_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_IMPORT_MESSAGES_H_
