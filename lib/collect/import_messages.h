// ImportMessages logs for a host what became of the records and samples that it feeds or imports.
// A number that grows is logged again each time that it has more than doubled.
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

// Returns kNoMemory if samples were dropped and none was counted.
Status CheckAnyFound(const MemoryLosses& dropped, const ProfileData& data);

// Completes a snapshot of the importer: its sources, its duration, and its process if there is only
// one.
void CompleteImport(const PerfDataSummary& summary, const PerfRecordImport& import,
                    const Importer& importer, ProfileData* data);

class ImportMessages {
 public:
  // `log` must outlive the messages.
  explicit ImportMessages(SessionLog* log) : log_(*log) {}

  void LogSource(const SourceRecord& source);
  // Logs what is new since the last call, about records and about counts.
  void LogRecords(const PerfDataSummary& summary, const PerfRecordImport& import);
  void LogCounts(const Importer& importer);
  // Logs the part of LogCounts that is about memory.
  void LogMemory(const Importer& importer);

 private:
  void LogGrowth(uint64_t number, const char* what, uint64_t* last_logged);

  SessionLog& log_;
  size_t logged_problems_ = 0;
  size_t logged_jit_problems_ = 0;
  std::set<uint32_t> logged_types_;  // types of records
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
