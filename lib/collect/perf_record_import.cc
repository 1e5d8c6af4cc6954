// RecordDelivery calls the On functions with records in the order of time, and a Feed calls
// AddSample and AddBurst with decoded samples. Both go to the sources of their event, which
// WithSources adds when the event is first seen: AddIp makes IP samples, and
// AddStack cuts branch stacks into bursts. All events pass JitPlayback on their way to the sink. At
// the end, ReportStatistics and CompleteSources report what was dropped.
#include "collect/perf_record_import.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "collect/perf_event_kind.h"
#include "perf/mmap_mapping.h"

namespace hbbp {
namespace {

constexpr uint32_t kProtectionExec = 4;  // PROT_EXEC of Linux
constexpr size_t kMaxNotedProblems = 3;

// perf record -j selects by these bits; others say how entries are made.
constexpr uint64_t kSelectingBits = PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN |
                                    PERF_SAMPLE_BRANCH_IND_CALL | PERF_SAMPLE_BRANCH_ABORT_TX |
                                    PERF_SAMPLE_BRANCH_IN_TX | PERF_SAMPLE_BRANCH_NO_TX |
                                    PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_CALL_STACK |
                                    PERF_SAMPLE_BRANCH_IND_JUMP | PERF_SAMPLE_BRANCH_CALL;

// Returns what distinguishes the counters of an event. Samples of a single event have no id; its
// counters are those of CPUs, or of threads.
uint64_t FindCounter(uint64_t sample_type, uint64_t id, uint32_t cpu, uint32_t tid) {
  if ((sample_type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER)) != 0) return id;
  return (sample_type & PERF_SAMPLE_CPU) != 0 ? cpu : tid;
}

// Returns whether the kernel stops all events of a group if one has too many samples. It then
// writes records of the first event alone.
bool StopsWholeGroups(const std::string& os_release) {
  int version = 0, patch_level = 0;
  if (std::sscanf(os_release.c_str(), "%d.%d", &version, &patch_level) != 2) return false;
  return version > 6 || (version == 6 && patch_level >= 16);
}

// A recording may have any times, so that a factor may be too large for a period.
uint64_t Scaled(uint64_t period, double factor) {
  if (factor == 1) return period;
  constexpr double kMaxPeriod = 0x1p63;
  return static_cast<uint64_t>(std::min(kMaxPeriod, static_cast<double>(period) * factor));
}

// Returns whether the entries of stacks are consecutive branches. They are not if the hardware
// filters some kinds of branches out. perf inject, CoreSight and others, which make stacks of
// traces, select no kind.
bool HasWholeBranchStacks(const PerfEvent& event) {
  const uint64_t kinds = event.attr.branch_sample_type;
  return (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0 &&
         (kinds & PERF_SAMPLE_BRANCH_CALL_STACK) == 0 &&
         ((kinds & PERF_SAMPLE_BRANCH_ANY) != 0 || (kinds & kSelectingBits) == 0);
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
  const bool has_ips = !has_branches || source.event != EventKind::kTakenBranches;
  if (state.has_unknown_periods) source.event = EventKind::kOther;
  if (has_ips) {
    state.ibs = IbsSamples(IbsKindOf(event.name), IbsQuirksOf(header_.cpu_id));
    const bool is_ibs = state.ibs.kind() != IbsKind::kNone;
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
    state.bursts.BeginRun(source.event);
    state.lbr = target_.add_source(source);
  }
  ReportLosses(&state);
  return state;
}

void PerfRecordImport::AddSource(const PerfEvent& event, const SourceRecord& source, IbsKind ibs) {
  EventImport& state = imports_[event.index];
  state.ibs = IbsSamples(ibs, IbsQuirksOf(header_.cpu_id));
  state.bursts.BeginRun(source.event);
  (HasStreams(source.kind) ? state.lbr : state.ebs) = target_.add_source(source);
}

void PerfRecordImport::OnSample(const PerfEvent& event, const SampleRecord& sample) {
  double factor = 1;
  if (sample.counters.time_enabled != 0) {
    RunningShare& running = imports_[event.index].running;
    factor = running.Advance(sample.id, event.attr.inherit ? sample.tid : 0, sample.counters);
  }
  bool has_known_counter = false;
  const size_t deltas = HasCounterDeltas(event.attr) ? sample.counters.size() : 0;
  for (size_t i = 0; i < deltas; ++i) {
    const CounterValues::Value value = sample.counters[i];
    const std::optional<size_t> index = events_.IndexOfId(value.id);
    if (!index) continue;
    has_known_counter = true;
    const PerfEvent& member = events_.events()[*index];
    const CounterDeltas::Delta delta = counters_.Advance(member.attr, sample.tid, value);
    if (delta.events != 0) AddRecord(member, sample, delta.events, factor);
    EventImport& state = imports_[*index];
    if (member.attr.sample_period == 0 && *index != event.index) state.sampled_by = event.index;
    if (delta.lost == 0) continue;
    state.lost_by_counter += delta.lost;
    ReportLosses(*index);
  }
  if (has_known_counter) return;
  const bool has_period = (event.attr.sample_type & PERF_SAMPLE_PERIOD) != 0;
  AddRecord(event, sample, has_period ? std::optional(sample.period) : std::nullopt, factor);
}

// What was sampled `factor` times too seldom weighs as much more.
void PerfRecordImport::AddRecord(const PerfEvent& event, const SampleRecord& sample,
                                 std::optional<uint64_t> period, double factor) {
  EventImport& state = WithSources(event);
  if (IsOfGuest(sample.misc)) {
    ++state.guest_samples;
    return;
  }
  IpSample ip;
  ip.ip = {sample.ip};
  ip.pid = sample.pid;
  ip.tid = sample.tid;
  ip.time_ns = sample.time;
  const uint64_t own_period = period.value_or(state.assumed_period);
  state.periods.Add(own_period);
  const uint64_t counter = FindCounter(event.attr.sample_type, sample.id, sample.cpu, sample.tid);
  ip.period = state.gaps.AddSample(counter, sample.time, Scaled(own_period, factor));
  const bool is_exact = (sample.misc & PERF_RECORD_MISC_EXACT_IP) != 0;
  AddSample(ip, is_exact, sample.branches, sample.raw, &state);
}

void PerfRecordImport::AddSample(const PerfEvent& event, const IpSample& sample,
                                 const BranchStack& branches, std::span<const uint8_t> raw) {
  EventImport& state = imports_[event.index];
  state.periods.Add(sample.period);
  AddSample(sample, false, branches, raw, &state);
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
  if (state->ibs.kind() != IbsKind::kNone) {
    return state->ibs.Deliver(sample, raw, events_.order(), &jit_);
  }
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
    burst.extent = static_cast<double>(extent);
    burst.branches = consecutive;
    jit_.OnBurst(burst);
  });
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
  const size_t index = IndexOfId(lost.id != 0 ? lost.id : lost.sample_id.id);
  EventImport& state = imports_[index];
  // At its end perf writes sums of the losses that earlier records of the ring buffers reported.
  const bool is_sum = lost.only_samples && lost.sample_id.time == 0;
  (is_sum ? state.lost_in_all : state.lost) += lost.count;
  // The deltas of counters have what was lost.
  const auto& events = events_.events();
  const bool has_deltas = index < events.size() && HasCounterDeltas(events[index].attr);
  if (!is_sum && !has_deltas) state.gaps.AddLost(lost.count);
  ReportLosses(index);
}

void PerfRecordImport::OnThrottle(const ThrottleRecord& throttle) {
  const size_t index = IndexOfId(throttle.id);
  imports_.try_emplace(index);
  const uint64_t sample_type =
      index < events_.events().size() ? events_.events()[index].attr.sample_type : 0;
  const uint64_t counter =
      FindCounter(sample_type, throttle.id, throttle.sample_id.cpu, throttle.sample_id.tid);
  const bool is_of_group = StopsWholeGroups(header_.os_release);
  for (auto& [other, member] : imports_) {
    if (other != index && !(is_of_group && member.sampled_by == index)) continue;
    if (!throttle.is_throttled) {
      member.gaps.EndGap(counter, throttle.time);
      continue;
    }
    member.gaps.BeginGap(counter, throttle.time);
    ++member.throttled;
    ReportLosses(&member);
  }
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

// The members of a group lose what the event loses that samples it.
uint64_t PerfRecordImport::LostOf(const EventImport& state) const {
  const auto sampling = state.sampled_by ? imports_.find(*state.sampled_by) : imports_.end();
  if (sampling == imports_.end()) return state.LostInAll();
  return std::max(state.LostInAll(), sampling->second.LostInAll());
}

void PerfRecordImport::ReportLosses(size_t event) {
  for (auto& [index, state] : imports_) {
    if (index == event || state.sampled_by == event) ReportLosses(&state);
  }
}

// Losses of an event that has no sources yet wait for them.
void PerfRecordImport::ReportLosses(EventImport* state) {
  if (!state->HasSources()) return;
  const uint64_t lost = LostOf(*state) - state->reported_lost;
  for (const auto& source : {state->ebs, state->lbr}) {
    if (!source) continue;
    if (lost != 0) jit_.OnLost(*source, lost);
    for (uint64_t i = state->reported_throttled; i < state->throttled; ++i) {
      jit_.OnThrottled(*source);
    }
  }
  state->reported_lost += lost;
  state->reported_throttled = state->throttled;
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
    totals.lost += LostOf(state);
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
    }
  }
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
