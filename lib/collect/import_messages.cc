#include "collect/import_messages.h"

#include <cinttypes>

#include "collect/memory_note.h"

namespace hbbp {

Status CheckAnyFound(const MemoryLosses& dropped, const ProfileData& data) {
  if (dropped.samples == 0 || !data.counts.empty() || !data.branches.empty()) return OkStatus();
  return MakeStatus(StatusCode::kNoMemory,
                    "no memory for any of %" PRIu64 " samples; allow more (max_memory)",
                    dropped.samples);
}

void ImportMessages::TellSource(const SourceRecord& source) {
  const char* event =
      source.event_name.empty() ? EventName(source.event) : source.event_name.c_str();
  if (source.frequency_hz != 0) {
    log_.Say(LogLevel::kInfo, "samples of %s, %" PRIu64 " times a second", event,
             source.frequency_hz);
  } else {
    log_.Say(LogLevel::kInfo, "samples of %s, each %" PRIu64, event, source.period);
  }
}

void ImportMessages::TellGrowth(uint64_t number, const char* what, uint64_t* told) {
  if (number <= 2 * *told) return;
  log_.Say(LogLevel::kWarning, "%" PRIu64 " %s", number, what);
  *told = number;
}

void ImportMessages::Tell(const PerfDataSummary& summary, const PerfRecordImport& import,
                          const Importer& importer) {
  for (; told_problems_ < summary.problems.size(); ++told_problems_) {
    const PerfDataProblem& problem = summary.problems[told_problems_];
    log_.Say(LogLevel::kWarning, "at byte %" PRIu64 ": %s", problem.offset, problem.what.c_str());
  }
  if (summary.problem_count > summary.problems.size()) {
    TellGrowth(summary.dropped_records, "records could not be read", &told_unreadable_);
  }
  for (; told_jit_problems_ < import.jit_problems().size(); ++told_jit_problems_) {
    log_.Say(LogLevel::kWarning, "%s", import.jit_problems()[told_jit_problems_].c_str());
  }
  for (const auto& [type, count] : summary.skipped_records) {
    if (!told_types_.insert(type).second) continue;
    log_.Say(LogLevel::kDebug, "%s records are skipped", PerfRecordName(type).c_str());
  }
  TellGrowth(summary.late_records,
             "records came after later ones, and may be in what was mapped then", &told_late_);
  const PerfRecordImport::Totals totals = import.totals();
  TellGrowth(totals.lost,
             "samples were lost before they came here: longer periods or larger "
             "buffers help",
             &told_lost_);
  TellGrowth(totals.throttled, "times sampling was held back: periods are too short for the kernel",
             &told_throttled_);
  TellGrowth(importer.mappings_beyond_limit(), "mappings left out, more than any machine has",
             &told_mappings_);
  TellGrowth(importer.code_beyond_limit(),
             "pieces of code are more than can be kept; samples in them are counted by address",
             &told_code_);
  TellMemory(importer);
}

void ImportMessages::TellMemory(const Importer& importer) {
  if (importer.compactions() > told_compactions_) TellCompacted(*importer.memory(), &log_);
  told_compactions_ = importer.compactions();
  if (importer.has_widened_slices() && importer.slice_width_ns() > told_width_ns_) {
    TellWidened(importer.slice_width_ns(), &log_);
    told_width_ns_ = importer.slice_width_ns();
  }
  TellDropped(importer.dropped(), *importer.memory(), &told_dropped_, &log_);
}

}  // namespace hbbp
