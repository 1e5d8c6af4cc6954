#include "collect/import_messages.h"

#include <algorithm>
#include <cinttypes>

#include "collect/memory_note.h"

namespace hbbp {

Status CheckAnyFound(const MemoryLosses& dropped, const ProfileData& data) {
  if (dropped.samples == 0 || !data.counts.empty() || !data.branches.empty()) return OkStatus();
  return MakeStatus(StatusCode::kNoMemory,
                    "no memory for any of %" PRIu64 " samples; allow more (max_memory)",
                    dropped.samples);
}

void CompleteImport(const PerfDataSummary& summary, const PerfRecordImport& import,
                    const Importer& importer, ProfileData* data) {
  import.CompleteSources(summary, data->sources);
  const PerfRecordImport::Totals totals = import.totals();
  data->duration_ns = totals.last_time_ns - totals.first_time_ns;
  const std::string memory =
      MemoryNote(importer.dropped(), importer.aggregator().has_widened_slices());
  for (SourceRecord& source : data->sources) AppendNote(memory, &source.note);
  const bool is_one_process =
      !data->threads.empty() &&
      std::all_of(data->threads.begin(), data->threads.end(), [&](const ThreadRecord& thread) {
        return thread.pid == data->threads.front().pid;
      });
  if (is_one_process) data->pid = data->threads.front().pid;
}

void ImportMessages::LogSource(const SourceRecord& source) {
  const char* event =
      source.event_name.empty() ? EventName(source.event) : source.event_name.c_str();
  if (source.frequency_hz != 0) {
    log_.Log(LogLevel::kInfo, "samples of %s, %" PRIu64 " times a second", event,
             source.frequency_hz);
  } else if (source.period != 0) {
    log_.Log(LogLevel::kInfo, "samples of %s, each %" PRIu64, event, source.period);
  } else {
    log_.Log(LogLevel::kInfo, "samples of %s", event);
  }
}

void ImportMessages::LogGrowth(uint64_t number, const char* what, uint64_t* last_logged) {
  if (number <= 2 * *last_logged) return;
  log_.Log(LogLevel::kWarning, "%" PRIu64 " %s", number, what);
  *last_logged = number;
}

void ImportMessages::LogRecords(const PerfDataSummary& summary, const PerfRecordImport& import) {
  for (; logged_problems_ < summary.problems.size(); ++logged_problems_) {
    const PerfDataProblem& problem = summary.problems[logged_problems_];
    log_.Log(LogLevel::kWarning, "at byte %" PRIu64 ": %s", problem.offset, problem.what.c_str());
  }
  if (summary.problem_count > summary.problems.size()) {
    LogGrowth(summary.dropped_records, "records could not be read", &logged_unreadable_);
  }
  for (; logged_jit_problems_ < import.jit_problems().size(); ++logged_jit_problems_) {
    log_.Log(LogLevel::kWarning, "%s", import.jit_problems()[logged_jit_problems_].c_str());
  }
  for (const auto& [type, count] : summary.skipped_records) {
    if (!logged_types_.insert(type).second) continue;
    log_.Log(LogLevel::kDebug, "%s records are skipped", PerfRecordName(type).c_str());
  }
  LogGrowth(summary.late_records,
            "records came after later ones, and may be in what was mapped then", &logged_late_);
  const PerfRecordImport::Totals totals = import.totals();
  LogGrowth(totals.lost,
            "samples were lost before they came here: longer periods or larger "
            "buffers help",
            &logged_lost_);
  LogGrowth(totals.throttled, "times sampling was held back: periods are too short for the kernel",
            &logged_throttled_);
}

void ImportMessages::LogCounts(const Importer& importer) {
  const RecordedLocator& locator = importer.locator();
  LogGrowth(locator.mappings_beyond_limit(), "mappings left out, more than any machine has",
            &logged_mappings_);
  LogGrowth(locator.code_beyond_limit(),
            "pieces of code are more than can be kept; samples in them are counted by address",
            &logged_code_);
  LogMemory(importer);
}

void ImportMessages::LogMemory(const Importer& importer) {
  if (importer.aggregator().compactions() > logged_compactions_)
    LogCompacted(*importer.memory(), &log_);
  logged_compactions_ = importer.aggregator().compactions();
  if (importer.aggregator().has_widened_slices() &&
      importer.aggregator().slice_width_ns() > logged_width_ns_) {
    LogWidened(importer.aggregator().slice_width_ns(), &log_);
    logged_width_ns_ = importer.aggregator().slice_width_ns();
  }
  LogDropped(importer.dropped(), *importer.memory(), &logged_dropped_, &log_);
}

}  // namespace hbbp
