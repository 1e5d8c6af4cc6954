// RecordDelivery calls the On functions with records in the order of time, and a Feed calls
// AddSample and AddBurst with decoded samples. Both go to the sources of their event, which
// WithSources adds when the event is first seen: AddIp makes IP samples, AddIbs those of IBS, and
// AddStack cuts branch stacks into bursts. All events pass JitPlayback on their way to the sink. At
// the end, ReportStatistics and CompleteSources report what was dropped.
#include "collect/perf_record_import.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <span>
#include <utility>

#include "collect/perf_event_kind.h"
#include "perf/mmap_mapping.h"

namespace hbbp {
namespace {

constexpr uint32_t kProtectionExec = 4;  // PROT_EXEC of Linux
constexpr size_t kMaxNotedProblems = 3;

uint16_t CpuMode(uint16_t misc) { return misc & PERF_RECORD_MISC_CPUMODE_MASK; }

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

// Returns whether the entries of stacks are consecutive branches. They are not if the hardware
// filters some kinds of branches out. perf inject, CoreSight and others, which make stacks of
// traces, select no kind.
bool HasWholeBranchStacks(const PerfEvent& event) {
  const uint64_t kinds = event.attr.branch_sample_type;
  return (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0 &&
         (kinds & PERF_SAMPLE_BRANCH_CALL_STACK) == 0 &&
         ((kinds & PERF_SAMPLE_BRANCH_ANY) != 0 || SelectedBranches(kinds).empty());
}

}  // namespace

PerfRecordImport::PerfRecordImport(const EventTable* events, const PerfDataHeader* header,
                                   RecordImportTarget target, EbsMethod ebs_method)
    : events_(*events),
      header_(*header),
      target_(std::move(target)),
      jit_(events, target_.files, target_.sink),
      ebs_method_(ebs_method) {}

// Without periods, those of a fixed period are it, and those of a clock follow from its frequency.
// Others are not known.
void PerfRecordImport::AssumePeriods(const PerfEvent& event, EventKind kind, EventImport* state) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  const perf_event_attr& attr = event.attr;
  const bool is_clock = kind == EventKind::kTaskClock || kind == EventKind::kCpuClock;
  state->has_counter_deltas = HasCounterDeltas(attr);
  if (!attr.freq) {
    state->assumed_period = attr.sample_period;
  } else if (is_clock && attr.sample_freq != 0) {
    state->assumed_period = kSecondNs / attr.sample_freq;
  } else {
    state->assumed_period = 1;
    state->has_unknown_periods =
        (attr.sample_type & PERF_SAMPLE_PERIOD) == 0 && !state->has_counter_deltas;
  }
}

PerfRecordImport::EventImport& PerfRecordImport::WithSources(const PerfEvent& event) {
  EventImport& state = imports_[event.index];
  if (state.HasSources()) return state;
  SourceRecord source;
  source.event = KindOfPerfEvent(event.attr, event.name, header_.cpu_id);
  source.event_name = event.name;
  source.precise_ip = event.attr.precise_ip;
  source.include_kernel = !event.attr.exclude_kernel;
  (event.attr.freq ? source.frequency_hz : source.period) =
      event.attr.freq ? event.attr.sample_freq : event.attr.sample_period;
  source.period_mode = event.attr.freq ? PeriodMode::kByFrequency : PeriodMode::kFixed;
  AssumePeriods(event, source.event, &state);
  const bool has_branches = HasWholeBranchStacks(event);
  state.selected_branches = SelectedBranches(event.attr.branch_sample_type);
  const bool has_ips = !has_branches || source.event != EventKind::kTakenBranches;
  if (state.has_unknown_periods) source.event = EventKind::kOther;
  if (has_ips) {
    state.ibs_kind = IbsKindOf(event.name);
    const bool is_ibs = state.ibs_kind != IbsKind::kNone;
    source.kind = is_ibs ? SourceKind::kIbs : SourceKind::kEbs;
    if (!is_ibs) {
      state.ebs_method = ChooseEbsMethod(ebs_method_, event.attr.precise_ip, has_branches);
    }
    source.ebs_method = state.ebs_method;
    state.ebs = target_.add_source(source);
    source.ebs_method = EbsMethod::kPlain;
  }
  if (has_branches) {
    source.kind = SourceKind::kLbr;
    state.bursts = BranchStackBursts(source.event);
    state.lbr = target_.add_source(source);
  }
  ReportLosses(&state);
  return state;
}

void PerfRecordImport::AddSource(const PerfEvent& event, const SourceRecord& source, IbsKind ibs) {
  EventImport& state = imports_[event.index];
  state.ibs_kind = ibs;
  state.bursts = BranchStackBursts(source.event);
  (HasStreams(source.kind) ? state.lbr : state.ebs) = target_.add_source(source);
}

void PerfRecordImport::OnSample(const PerfEvent& event, const SampleRecord& sample) {
  if (!HasCounterDeltas(event.attr)) {
    const bool has_period = (event.attr.sample_type & PERF_SAMPLE_PERIOD) != 0;
    return AddRecord(event, sample, has_period ? std::optional(sample.period) : std::nullopt);
  }
  for (size_t i = 0; i < sample.counters.size(); ++i) {
    const CounterValues::Value value = sample.counters[i];
    const std::optional<size_t> index = events_.IndexOfId(value.id);
    if (!index) continue;
    const PerfEvent& member = events_.events()[*index];
    const uint64_t period = counters_.Advance(member.attr, value.id, sample.tid, value.value);
    if (period != 0) AddRecord(member, sample, period);
  }
}

void PerfRecordImport::AddRecord(const PerfEvent& event, const SampleRecord& sample,
                                 std::optional<uint64_t> period) {
  const uint16_t mode = CpuMode(sample.misc);
  EventImport& state = WithSources(event);
  state.gaps.AddSample(sample.id, sample.time);
  if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER ||
      mode == PERF_RECORD_MISC_HYPERVISOR) {
    ++state.guest_samples;
    return;
  }
  IpSample ip;
  ip.ip = {sample.ip};
  ip.pid = sample.pid;
  ip.tid = sample.tid;
  ip.time_ns = sample.time;
  ip.period = period.value_or(state.assumed_period);
  const bool is_exact = (sample.misc & PERF_RECORD_MISC_EXACT_IP) != 0;
  AddSample(ip, is_exact, sample.branches, sample.raw, &state);
}

void PerfRecordImport::AddSample(const PerfEvent& event, const IpSample& sample,
                                 const BranchStack& branches, std::span<const uint8_t> raw) {
  AddSample(sample, false, branches, raw, &imports_[event.index]);
}

void PerfRecordImport::AddBurst(const PerfEvent& event, BurstSample burst) {
  EventImport& state = imports_[event.index];
  burst.source = *state.lbr;
  RecordTime(burst.time_ns);
  state.periods.Add(burst.period);
  ++state.traced_bursts;
  state.traced_branches += burst.branches.size();
  if (burst.extent != 0) ++state.traced_extents;
  jit_.OnBurst(burst);
}

void PerfRecordImport::AddSample(const IpSample& sample, bool is_exact, const BranchStack& branches,
                                 std::span<const uint8_t> raw, EventImport* state) {
  RecordTime(sample.time_ns);
  state->periods.Add(sample.period);
  if (state->ebs) AddIp(sample, is_exact, branches, raw, state);
  if (state->lbr) {
    AddStack(sample, branches, state);
  } else if (!branches.empty()) {
    ++state->filtered_stacks;
  }
}

void PerfRecordImport::AddIp(IpSample sample, bool is_exact, const BranchStack& branches,
                             std::span<const uint8_t> raw, EventImport* state) {
  sample.source = *state->ebs;
  if (state->ebs_method == EbsMethod::kIpPlusOne) {
    const IpOrigin origin = state->correction.Correct(sample.ip.value, is_exact, branches);
    sample.ip = {origin.ip};
    sample.position = origin.position;
  }
  if (state->ibs_kind != IbsKind::kNone && !raw.empty()) return AddIbs(sample, raw, state);
  jit_.OnSample(sample);
}

void PerfRecordImport::AddStack(const IpSample& sample, const BranchStack& branches,
                                EventImport* state) {
  BurstSample burst;
  burst.pid = sample.pid;
  burst.tid = sample.tid;
  burst.time_ns = sample.time_ns;
  burst.period = sample.period;
  burst.source = *state->lbr;
  state->bursts.Visit(branches, [&](auto consecutive, uint64_t extent, StackPart part) {
    burst.stack = part;
    burst.extent = extent;
    burst.branches = consecutive;
    jit_.OnBurst(burst);
  });
}

void PerfRecordImport::AddIbs(const IpSample& sample, std::span<const uint8_t> raw,
                              EventImport* state) {
  if (state->ibs_kind == IbsKind::kOp) {
    if (const auto op = DecodeIbsOp(raw, events_.order())) {
      state->ibs.Add(*op);
      return jit_.OnIbsOp(sample, *op);
    }
  } else if (const auto fetch = DecodeIbsFetch(raw, events_.order())) {
    state->ibs.Add(*fetch);
    return jit_.OnIbsFetch(sample, *fetch);
  }
  state->ibs.AddUndecodable();
  jit_.OnSample(sample);
}

void PerfRecordImport::OnMmap(const MmapRecord& mmap) {
  const bool is_code =
      (mmap.misc & PERF_RECORD_MISC_MMAP_DATA) == 0 || (mmap.protection & kProtectionExec) != 0;
  if (is_code) jit_.OnMapping(MappingOf(mmap));
}

void PerfRecordImport::OnComm(const CommRecord& comm) {
  if (comm.is_exec) jit_.OnExec(comm.pid);
  jit_.OnThreadName(comm.pid, comm.tid, comm.name);
}

void PerfRecordImport::OnFork(const TaskRecord& fork) {
  // perf writes such records, and all mappings, for processes that ran before it started.
  const bool is_synthetic = (fork.misc & PERF_RECORD_MISC_FORK_EXEC) != 0;
  jit_.OnFork({fork.pid, fork.tid, fork.parent_pid, fork.parent_tid, is_synthetic});
}

void PerfRecordImport::OnKsymbol(const KsymbolRecord& symbol) {
  if (symbol.is_removed || symbol.name.empty()) return;
  const ModuleAddress start{symbol.address};
  jit_.OnKernelFunction({{start, start + symbol.size}, symbol.name});
}

void PerfRecordImport::OnLost(const LostRecord& lost) {
  EventImport& state = ImportOfId(lost.id != 0 ? lost.id : lost.sample_id.id);
  // At its end perf writes sums of the losses that earlier records of the ring buffers reported.
  const bool is_sum = lost.only_samples && lost.sample_id.time == 0;
  (is_sum ? state.lost_in_all : state.lost) += lost.count;
  ReportLosses(&state);
}

void PerfRecordImport::OnThrottle(const ThrottleRecord& throttle) {
  EventImport& state = ImportOfId(throttle.id);
  if (!throttle.is_throttled) return state.gaps.EndGap(throttle.id, throttle.time);
  state.gaps.BeginGap(throttle.id, throttle.time);
  ++state.throttled;
  ReportLosses(&state);
}

void PerfRecordImport::AddLost(const PerfEvent& event, uint64_t samples) {
  EventImport& state = imports_[event.index];
  state.lost += samples;
  ReportLosses(&state);
}

void PerfRecordImport::AddThrottled(const PerfEvent& event) {
  EventImport& state = imports_[event.index];
  ++state.throttled;
  ReportLosses(&state);
}

// Losses of an event that has no sources yet wait for them.
void PerfRecordImport::ReportLosses(EventImport* state) {
  if (!state->HasSources()) return;
  const uint64_t lost = state->LostInAll() - state->reported_lost;
  for (const auto& source : {state->ebs, state->lbr}) {
    if (!source) continue;
    if (lost != 0) jit_.OnLost(*source, lost);
    for (uint64_t i = state->reported_throttled; i < state->throttled; ++i) {
      jit_.OnThrottled(*source);
    }
  }
  state->reported_lost = state->LostInAll();
  state->reported_throttled = state->throttled;
}

PerfRecordImport::EventImport& PerfRecordImport::ImportOfId(uint64_t id) {
  return imports_[events_.IndexOfId(id).value_or(0)];
}

void PerfRecordImport::RecordTime(uint64_t time_ns) {
  if (time_ns == 0 || time_ns == kNoTime) return;
  if (first_time_ns_ == 0 || time_ns < first_time_ns_) first_time_ns_ = time_ns;
  last_time_ns_ = std::max(last_time_ns_, time_ns);
}

PerfRecordImport::Totals PerfRecordImport::totals() const {
  Totals totals;
  totals.first_time_ns = first_time_ns_;
  totals.last_time_ns = last_time_ns_;
  for (const auto& [event, state] : imports_) {
    if (!state.HasSources()) continue;
    totals.lost += state.LostInAll();
    totals.throttled += state.throttled;
  }
  return totals;
}

void PerfRecordImport::ReportStatistics() {
  for (const auto& [event, state] : imports_) {
    for (const auto& source : {state.ebs, state.lbr}) {
      if (!source) continue;
      TraceStatistics statistics;
      statistics.bursts = state.traced_bursts;
      statistics.taken_branches = state.traced_branches;
      Counters* const counters = &statistics.counters;
      AddCounter("guest-samples", state.guest_samples, counters);
      AddCounter("filtered-branch-stacks", state.filtered_stacks, counters);
      if (source == state.ebs) {
        state.ibs.AppendTo(counters);
        state.correction.AppendTo(counters);
      } else {
        state.bursts.losses().AppendTo(counters);
      }
      jit_.OnTraceStatistics(*source, statistics);
    }
    if (state.bursts.extent_unit() == BurstExtent::kEvents) {
      jit_.OnBurstExtent(*state.lbr, BurstExtent::kEvents);
    }
  }
}

void PerfRecordImport::CompleteSources(const PerfDataSummary& summary,
                                       std::span<SourceRecord> sources) const {
  bool has_note = false;
  for (const auto& [event, state] : imports_) {
    for (const auto& index : {state.ebs, state.lbr}) {
      if (!index) continue;
      SourceRecord& source = sources[*index];
      if (state.periods.largest() != 0) {
        const bool is_first = source.largest_period == 0;
        source.smallest_period = is_first
                                     ? state.periods.smallest()
                                     : std::min(source.smallest_period, state.periods.smallest());
        source.largest_period = std::max(source.largest_period, state.periods.largest());
        source.period_mode =
            state.has_counter_deltas ? PeriodMode::kRandom : state.periods.ModeOf(source.period);
      }
      const bool has_extents =
          state.traced_bursts != 0 && state.traced_extents == state.traced_bursts;
      if (has_extents) source.burst_extent = BurstExtent::kEvents;
      if (!has_note) AppendNote(DescribeProblems(summary), &source.note);
      has_note = true;
      if (index == state.ebs) AppendNote(DescribeFilteredStacks(state), &source.note);
      AppendNote(DescribeGaps(state), &source.note);
      if (state.has_unknown_periods && state.periods.largest() != 0) {
        AppendNote(
            "samples have no periods, and were taken by a frequency, so that counts are shares and "
            "not numbers: record without --no-period",
            &source.note);
      }
      if (state.guest_samples != 0 && (index == state.ebs || !state.ebs)) {
        AppendNote(std::to_string(state.guest_samples) +
                       " samples of guests and of the hypervisor left out, whose code is not known "
                       "here: record inside of the guest",
                   &source.note);
      }
    }
  }
}

std::string PerfRecordImport::DescribeGaps(const EventImport& state) {
  const double missing = state.gaps.MissingShare();
  if (state.throttled == 0 || missing == 0) return "";
  char text[200];
  std::snprintf(text, sizeof(text),
                "sampling was held back %" PRIu64
                " times, for %.0f %% of the time: counts are %.0f %% of the truth or less, shares "
                "stay right: record with a longer period",
                state.throttled, 100 * missing, 100 * (1 - missing));
  return text;
}

std::string PerfRecordImport::DescribeFilteredStacks(const EventImport& state) {
  if (state.filtered_stacks == 0 || state.selected_branches.empty()) return "";
  return std::to_string(state.filtered_stacks) +
         " branch stacks left out: they have only the kinds " + state.selected_branches +
         ", so no streams lie between their entries: record with -j any";
}

std::string PerfRecordImport::DescribeProblems(const PerfDataSummary& summary) const {
  std::string note;
  const auto add = [&note](const std::string& text) { AppendNote(text, &note); };
  if (summary.is_unfinished) add("perf was ended before it had finished this recording");
  for (size_t i = 0; i < std::min(summary.problems.size(), kMaxNotedProblems); ++i) {
    const PerfDataProblem& problem = summary.problems[i];
    add("at byte " + std::to_string(problem.offset) + ": " + problem.what);
  }
  if (summary.problem_count > kMaxNotedProblems) {
    add(std::to_string(summary.problem_count - kMaxNotedProblems) + " more problems");
  }
  for (const std::string& problem : jit_.problems()) add(problem);
  const RecordedLocator* const files = target_.files;
  if (files != nullptr && files->mappings_beyond_limit() != 0) {
    add(std::to_string(files->mappings_beyond_limit()) +
        " mappings left out, more than any machine has");
  }
  if (files != nullptr && files->code_beyond_limit() != 0) {
    add("there is code of " + std::to_string(files->code_beyond_limit()) +
        " pieces more than can be kept; samples in them are counted by address");
  }
  if (summary.late_records != 0) {
    add(std::to_string(summary.late_records) + " records came after later ones");
  }
  if (summary.dropped_records != 0) {
    add(std::to_string(summary.dropped_records) + " records could not be read");
  }
  return note;
}

}  // namespace hbbp
