#include "collect/recording_notes.h"

#include <linux/perf_event.h>

#include <cstdio>
#include <string>

namespace hbbp {
namespace {

using EventImport = PerfRecordImport::EventImport;

// The kinds of branches that perf record -j may select.
struct BranchKind {
  uint64_t bit;
  char name[12];
};
constexpr BranchKind kBranchKinds[] = {
    {PERF_SAMPLE_BRANCH_ANY_CALL, "any_call"}, {PERF_SAMPLE_BRANCH_ANY_RETURN, "any_ret"},
    {PERF_SAMPLE_BRANCH_IND_CALL, "ind_call"}, {PERF_SAMPLE_BRANCH_ABORT_TX, "abort_tx"},
    {PERF_SAMPLE_BRANCH_IN_TX, "in_tx"},       {PERF_SAMPLE_BRANCH_NO_TX, "no_tx"},
    {PERF_SAMPLE_BRANCH_COND, "cond"},         {PERF_SAMPLE_BRANCH_CALL_STACK, "stack"},
    {PERF_SAMPLE_BRANCH_IND_JUMP, "ind_jmp"},  {PERF_SAMPLE_BRANCH_CALL, "call"}};

std::string SelectedBranches(uint64_t branch_sample_type) {
  std::string names;
  for (const BranchKind& kind : kBranchKinds) {
    if ((branch_sample_type & kind.bit) == 0) continue;
    names += (names.empty() ? "" : ",") + std::string(kind.name);
  }
  return names;
}

std::string Format(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string DescribeGaps(const EventImport& state) {
  std::string note;
  const double running = state.running.Share();
  if (running < 1) {
    AppendNote("the counter ran for " + Format("%.0f %%", 100 * running) +
                   " of the time, in turns with others, and counts were raised to make up for it: "
                   "record fewer events at once",
               &note);
  }
  const double missing = state.gaps.MissingShare();
  const double factor = state.gaps.Factor();
  if (state.throttled == 0) {
    if (factor == 1) return note;
    AppendNote(
        "counts were raised " + Format("%.2f", factor) +
            " times to make up for lost samples: record with a larger buffer (-m), or with a "
            "longer period",
        &note);
    return note;
  }
  const std::string times =
      "sampling was held back " + std::to_string(state.throttled) + " times, for ";
  if (missing == 0) {
    AppendNote(times +
                   "how long is not in the recording: counts are too low, shares stay right: "
                   "record with a longer period",
               &note);
  } else {
    AppendNote(times + Format("%.0f %%", 100 * missing) + " of the time: counts were raised " +
                   Format("%.2f", factor) + " times to make up for it: record with a longer period",
               &note);
  }
  return note;
}

std::string DescribeFilteredStacks(const PerfEvent& event, const EventImport& state) {
  const std::string selected = SelectedBranches(event.attr.branch_sample_type);
  if (state.filtered_stacks == 0 || selected.empty()) return "";
  return std::to_string(state.filtered_stacks) +
         " branch stacks left out: they have only the kinds " + selected +
         ", so no streams lie between their entries: record with -j any";
}

}  // namespace

void AddRecordingNotes(const EventTable& events, const PerfRecordImport& import,
                       std::span<SourceRecord> sources) {
  for (const PerfEvent& event : events.events()) {
    const auto found = import.imports().find(event.index);
    if (found == import.imports().end()) continue;
    const EventImport& state = found->second;
    for (const auto& index : {state.ebs, state.lbr}) {
      if (!index) continue;
      std::string* const note = &sources[*index].note;
      if (index == state.ebs) AppendNote(DescribeFilteredStacks(event, state), note);
      AppendNote(DescribeGaps(state), note);
      if (state.has_unknown_periods && state.periods.largest() != 0) {
        AppendNote(
            "samples have no periods, and were taken by a frequency, so that counts are shares and "
            "not numbers: record without --no-period",
            note);
      }
      if (state.guest_samples != 0 && (index == state.ebs || !state.ebs)) {
        AppendNote(std::to_string(state.guest_samples) +
                       " samples of guests and of the hypervisor left out, whose code is not known "
                       "here: record inside of the guest",
                   note);
      }
    }
  }
}

}  // namespace hbbp
