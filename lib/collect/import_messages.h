// ImportMessages: tells the log of a host what became of records and samples that it hands over,
// or has imported. What goes on is told again each time that there is more than twice as much.
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

class ImportMessages {
 public:
  // Which must outlive it.
  explicit ImportMessages(SessionLog* log) : log_(*log) {}

  void TellSource(const SourceRecord& source);
  // What there is to say since the last call.
  void Tell(const PerfDataSummary& summary, const PerfRecordImport& import,
            const Importer& importer);
  // The same, of memory alone.
  void TellMemory(const Importer& importer);

 private:
  void TellGrowth(uint64_t number, const char* what, uint64_t* told);

  SessionLog& log_;
  size_t told_problems_ = 0;
  size_t told_jit_problems_ = 0;
  std::set<uint32_t> told_types_;  // of records
  uint64_t told_unreadable_ = 0;
  uint64_t told_late_ = 0;
  uint64_t told_lost_ = 0;
  uint64_t told_throttled_ = 0;
  uint64_t told_mappings_ = 0;
  uint64_t told_code_ = 0;
  uint64_t told_dropped_ = 0;
  uint64_t told_compactions_ = 0;
  uint64_t told_width_ns_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_IMPORT_MESSAGES_H_
