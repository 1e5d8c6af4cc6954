// The part of Recorder that counts bursts.
#include <algorithm>
#include <optional>

#include "base/linux_constants.h"
#include "collect/recorder.h"

namespace hbbp {
namespace {

constexpr uint64_t kKernelHalf = uint64_t{1} << 63;
constexpr size_t kCapturedLately = 1024;  // a power of two
// Sorting waits until so many branches, or half of what is sorted, came behind those.
constexpr size_t kFewBranches = 16384;

}  // namespace

void Recorder::OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) {
  const uint32_t index = current_sources_[source];
  TraceStatistics sum = source_states_[index].finished_runs;
  AddTraceStatistics(statistics, &sum);
  data_.sources[index].trace = std::move(sum);
}

void Recorder::CountBurst(const BurstSample& burst) {
  const uint32_t source = current_sources_[burst.source];
  if (IsIgnored(burst.tid)) {
    ++source_states_[source].worker_bursts;
    return;
  }
  if (burst.branches.empty()) {
    NoteBurst(source, burst);
    return;
  }
  if (source != table_source_) {
    FoldBranches();
    table_source_ = source;
  }
  if (has_generated_code_) {
    for (const TakenBranchSample& branch : burst.branches) {
      CapturePage(branch.from.value, burst.time_ns);
      CapturePage(branch.to.value, burst.time_ns);
    }
  }
  if (burst.time_ns < table_start_ns_ || burst.time_ns >= table_end_ns_) {
    FoldBranches();
    EnterPeriodOf(burst.time_ns);
  }
  table_last_ns_ = std::max(table_last_ns_, burst.time_ns);
  table_.CountBurst(
      ThreadFor(burst.pid, burst.tid), burst.branches,
      StreamWeight(burst.period, burst.branches.size(), burst.extent), ReplicateOf(burst_number_),
      [&](const BranchTable::Entry& entry) {
        // It is counted by now, with or without its code.
        HasMemoryFor([&] {
          CapturePage(entry.from, burst.time_ns);
          CapturePage(entry.to, burst.time_ns);
        });
      },
      burst.stack);
  NoteBurst(source, burst);
}

void Recorder::NoteBurst(uint32_t source, const BurstSample& burst) {
  ++samples_;
  ++burst_number_;
  if (burst.branches.size() < 2) ++source_states_[source].short_bursts;
}

// Code must be captured while it is there, not when counts are folded.
void Recorder::CapturePage(uint64_t address, uint64_t time_ns) {
  const uint64_t page = address / kPageBytes;
  captured_lately_.resize(kCapturedLately);
  CapturedPage& last = captured_lately_[page % kCapturedLately];
  if (last.number == page && !last.is_generated) return;
  const auto placement = address_space_.Find({address}, time_ns);
  if (!placement) return;
  CaptureCode(placement->module, {address}, time_ns);
  last = {page, data_.modules[placement->module].kind == ModuleKind::kAnonymous};
}

// A mapping that replaces another at `time_ns` is about to become known.
void Recorder::NoteReplacement(uint64_t time_ns) {
  // What was counted too early was counted as it was known then, as samples are.
  if (time_ns <= table_last_ns_) FoldBranches();
  const auto place = std::lower_bound(replacements_ns_.begin(), replacements_ns_.end(), time_ns);
  if (place == replacements_ns_.end() || *place != time_ns) {
    replacements_ns_.insert(place, time_ns);
  }
  if (!table_.entries().empty()) {
    if (time_ns > table_start_ns_) table_end_ns_ = std::min(table_end_ns_, time_ns);
  } else {
    table_start_ns_ = table_end_ns_ = 0;
  }
}

void Recorder::EnterPeriodOf(uint64_t time_ns) {
  table_slice_ = SliceAt(time_ns);
  const auto next = std::upper_bound(replacements_ns_.begin(), replacements_ns_.end(), time_ns);
  table_start_ns_ = next == replacements_ns_.begin() ? 0 : *std::prev(next);
  table_end_ns_ = next == replacements_ns_.end() ? UINT64_MAX : *next;
  if (table_slice_ == kNoSlice) return;
  table_start_ns_ = std::max(table_start_ns_, slice_clock_.StartOf(table_slice_));
  table_end_ns_ = std::min(table_end_ns_, slice_clock_.EndOf(table_slice_));
}

CodeLocation Recorder::Locate(uint64_t address) {
  if (address >= kKernelHalf) return {KernelModule(), address};
  const auto placement = address_space_.Find({address}, table_last_ns_);
  if (!placement) return {kNoModule, address};
  return {placement->module, placement->OffsetOf({address}).value};
}

void Recorder::FoldBranches() {
  AppendTable(nullptr);
  if (branches_.size() - sorted_branches_ > kFewBranches + sorted_branches_ / 2) {
    Normalize(&branches_);
    sorted_branches_ = branches_.size();
  }
}

void Recorder::AppendTable(CancelCheck* check) {
  if (table_.entries().empty()) return;
  // Either all of the table is folded or nothing.
  MakeRoomFor(table_.entries().size(), &branches_);
  const size_t known = branches_.size();
  try {
    for (const BranchTable::Entry& entry : table_.entries()) {
      if (check != nullptr) check->Step();
      branches_.push_back(BranchCountOf(entry, table_source_,
                                        [this](uint64_t address) { return Locate(address); }));
      branches_.back().slice = table_slice_;
    }
  } catch (...) {
    branches_.resize(known);
    throw;
  }
  table_.Clear();
  table_last_ns_ = 0;
  captured_lately_.clear();
}

}  // namespace hbbp
