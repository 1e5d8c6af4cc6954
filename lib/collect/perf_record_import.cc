#include "collect/perf_record_import.h"

#include <time.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "collect/memory_note.h"
#include "collect/perf_event_kind.h"
#include "perf/mmap_mapping.h"

namespace hbbp {
namespace {

constexpr uint32_t kProtectionExec = 4;  // PROT_EXEC of Linux
constexpr size_t kToldProblems = 3;

uint16_t CpuMode(uint16_t misc) { return misc & PERF_RECORD_MISC_CPUMODE_MASK; }

// Do the entries follow each other? Not if the hardware has left some kinds of branches out. 0 is
// what other tools write that make branch stacks of traces.
bool HasWholeBranchStacks(const PerfEvent& event) {
  constexpr uint64_t kPrivileges = PERF_SAMPLE_BRANCH_PLM_ALL;
  const uint64_t kinds = event.attr.branch_sample_type & ~kPrivileges;
  return (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0 &&
         (event.attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK) == 0 &&
         ((kinds & PERF_SAMPLE_BRANCH_ANY) != 0 || event.attr.branch_sample_type == 0);
}

}  // namespace

PerfRecordImport::PerfRecordImport(const EventTable* events, const PerfDataHeader* header,
                                   Importer* importer, EbsMethod ebs_method)
    : events_(*events),
      header_(*header),
      importer_(*importer),
      jit_(importer),
      ebs_method_(ebs_method),
      ibs_charge_(importer->memory()) {}

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
  const bool has_branches = HasWholeBranchStacks(event);
  if (!has_branches || source.event != EventKind::kTakenBranches) {
    state.ibs_kind = IbsKindOf(event.name);
    const bool is_ibs = state.ibs_kind != IbsKind::kNone;
    source.kind = is_ibs ? SourceKind::kIbs : SourceKind::kEbs;
    if (!is_ibs) {
      state.ebs_method = ChooseEbsMethod(ebs_method_, event.attr.precise_ip, has_branches);
    }
    source.ebs_method = state.ebs_method;
    state.ebs = importer_.AddSource(source);
    source.ebs_method = EbsMethod::kPlain;
  }
  if (has_branches) {
    source.kind = SourceKind::kLbr;
    state.lbr = importer_.AddSource(source);
  }
  return state;
}

void PerfRecordImport::AddSource(const PerfEvent& event, const SourceRecord& source, IbsKind ibs) {
  EventImport& state = imports_[event.index];
  state.ibs_kind = ibs;
  (source.kind == SourceKind::kLbr ? state.lbr : state.ebs) = importer_.AddSource(source);
}

void PerfRecordImport::OnSample(const PerfEvent& event, const SampleRecord& sample) {
  const uint16_t mode = CpuMode(sample.misc);
  EventImport& state = WithSources(event);
  if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER ||
      mode == PERF_RECORD_MISC_HYPERVISOR) {
    ++state.guest_samples;
    return;
  }
  NoteTime(sample.time);
  jit_.PlayUpTo(sample.time);
  const bool has_period = (event.attr.sample_type & PERF_SAMPLE_PERIOD) != 0;
  const uint64_t period = has_period        ? sample.period
                          : event.attr.freq ? 1
                                            : event.attr.sample_period;
  state.periods.Add(period);
  if (state.ebs) CountIp(sample, period, &state);
  if (state.lbr) {
    CountStack(sample, period, &state);
  } else if (!sample.branches.empty()) {
    ++state.filtered_stacks;
  }
}

void PerfRecordImport::CountIp(const SampleRecord& sample, uint64_t period, EventImport* state) {
  const bool is_exact = (sample.misc & PERF_RECORD_MISC_EXACT_IP) != 0;
  const IpOrigin origin = state->ebs_method == EbsMethod::kIpPlusOne
                              ? state->correction.Correct(sample.ip, is_exact, sample.branches)
                              : IpOrigin{sample.ip};
  IpSample ip;
  ip.ip = {origin.ip};
  ip.position = origin.position;
  ip.pid = sample.pid;
  ip.tid = sample.tid;
  ip.time_ns = sample.time;
  ip.period = period;
  const auto place = importer_.AddSample(*state->ebs, ip);
  if (state->ibs_kind != IbsKind::kNone && !sample.raw.empty()) CountIbs(place, sample.raw, state);
}

void PerfRecordImport::CountStack(const SampleRecord& sample, uint64_t period, EventImport* state) {
  BurstSample burst;
  burst.pid = sample.pid;
  burst.tid = sample.tid;
  burst.time_ns = sample.time;
  burst.period = period;
  state->bursts.Visit(sample.branches, [&](auto branches, uint64_t extent, StackPart part) {
    burst.stack = part;
    burst.extent = extent;
    burst.branches = branches;
    importer_.AddBurst(*state->lbr, burst);
  });
}

void PerfRecordImport::CountIbs(const std::optional<Importer::SamplePlace>& place,
                                std::span<const uint8_t> raw, EventImport* state) {
  const auto add = [&](const auto& decoded) {
    if (!decoded) return state->ibs.AddUndecodable();
    state->ibs.Add(*decoded);
    if (!place) return;
    const bool has_memory =
        HasMemoryFor([&] { ibs_charge_.GrowTo(ibs_attribution_.BytesWithOneMore()); });
    if (!has_memory) return ibs_attribution_.Drop(*state->ebs);
    ibs_attribution_.Add(*state->ebs, *place, *decoded);
  };
  if (state->ibs_kind == IbsKind::kOp) {
    add(DecodeIbsOp(raw, events_.order()));
  } else {
    add(DecodeIbsFetch(raw, events_.order()));
  }
}

void PerfRecordImport::OnMmap(const MmapRecord& mmap) {
  const bool is_code =
      (mmap.misc & PERF_RECORD_MISC_MMAP_DATA) == 0 || (mmap.protection & kProtectionExec) != 0;
  if (!is_code) return;
  if (IsJitDumpPath(mmap.path)) {
    jit_.Open(mmap.pid, importer_.LocalPath(mmap.path), HasClockOfJits());
  }
  const MappingEvent mapping = MappingOf(mmap);
  // LLVM tells of code first, and then has its memory be executable, which is told as a mapping.
  jit_.PlayUpTo(mapping.time_ns);
  importer_.AddMapping(mmap.pid, mapping);
}

void PerfRecordImport::OnComm(const CommRecord& comm) {
  if (comm.is_exec) importer_.AddExec(comm.pid);
  importer_.NameThread(comm.pid, comm.tid, comm.name);
}

void PerfRecordImport::OnFork(const TaskRecord& fork) {
  // Of processes that ran before, perf tells the mappings as well.
  const bool is_made_up = (fork.misc & PERF_RECORD_MISC_FORK_EXEC) != 0;
  if (!is_made_up) importer_.AddFork(fork.parent_pid, fork.pid);
  importer_.AddThread(fork.parent_pid, fork.parent_tid, fork.pid, fork.tid);
}

void PerfRecordImport::OnKsymbol(const KsymbolRecord& symbol) {
  if (symbol.is_removed || symbol.name.empty()) return;
  const ModuleAddress start{symbol.address};
  importer_.AddKernelFunction({{start, start + symbol.size}, symbol.name});
}

void PerfRecordImport::OnLost(const LostRecord& lost) {
  EventImport& state = ImportOfId(lost.id != 0 ? lost.id : lost.sample_id.id);
  // At its end perf tells the sums of events, which the ring buffers have told of before.
  const bool is_sum = lost.only_samples && lost.sample_id.time == 0;
  (is_sum ? state.lost_in_all : state.lost) += lost.count;
}

void PerfRecordImport::OnThrottle(const ThrottleRecord& throttle) {
  if (throttle.is_throttled) ++ImportOfId(throttle.id).throttled;
}

PerfRecordImport::EventImport& PerfRecordImport::ImportOfId(uint64_t id) {
  return imports_[events_.IndexOfId(id).value_or(0)];
}

bool PerfRecordImport::HasClockOfJits() const {
  return !events_.events().empty() && events_.events().front().attr.use_clockid &&
         events_.events().front().attr.clockid == CLOCK_MONOTONIC;
}

void PerfRecordImport::NoteTime(uint64_t time_ns) {
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

void PerfRecordImport::Complete(const PerfDataSummary& summary, ProfileData* data,
                                CancelCheck* check) const {
  bool has_note = false;
  for (const auto& [event, state] : imports_) {
    if (!state.HasSources()) continue;
    CompleteSources(state, data);
    if (has_note) continue;
    data->sources[state.ebs ? *state.ebs : *state.lbr].note = NoteOf(summary);
    has_note = true;
  }
  data->duration_ns = last_time_ns_ > first_time_ns_ ? last_time_ns_ - first_time_ns_ : 0;
  const std::string memory = MemoryNote(importer_.dropped(), importer_.has_widened_slices());
  for (SourceRecord& source : data->sources) AppendNote(memory, &source.note);
  ibs_attribution_.CopyTo(data, check);
  const bool is_one_process =
      !data->threads.empty() &&
      std::all_of(data->threads.begin(), data->threads.end(), [&](const ThreadRecord& thread) {
        return thread.pid == data->threads.front().pid;
      });
  if (is_one_process) data->pid = data->threads.front().pid;
}

void PerfRecordImport::CompleteSources(const EventImport& state, ProfileData* data) const {
  for (const auto& index : {state.ebs, state.lbr}) {
    if (!index) continue;
    SourceRecord& source = data->sources[*index];
    source.lost = state.LostInAll();
    source.throttled = state.throttled;
    if (state.periods.largest() != 0) {
      source.smallest_period = state.periods.smallest();
      source.largest_period = state.periods.largest();
      source.period_mode = state.periods.ModeOf(source.period);
    }
    Counters& counters = source.trace.counters;
    AddCounter("guest-samples", state.guest_samples, &counters);
    AddCounter("filtered-branch-stacks", state.filtered_stacks, &counters);
    if (index == state.ebs) {
      state.ibs.AppendTo(&counters);
      ibs_attribution_.AppendLosses(*index, &counters);
      state.correction.AppendTo(&counters);
    } else {
      state.bursts.losses().AppendTo(&counters);
    }
  }
}

std::string PerfRecordImport::NoteOf(const PerfDataSummary& summary) const {
  std::string note;
  const auto add = [&note](const std::string& text) { AppendNote(text, &note); };
  if (summary.is_unfinished) add("perf was ended before it had finished this recording");
  for (size_t i = 0; i < std::min(summary.problems.size(), kToldProblems); ++i) {
    const PerfDataProblem& problem = summary.problems[i];
    add("at byte " + std::to_string(problem.offset) + ": " + problem.what);
  }
  if (summary.problem_count > kToldProblems) {
    add(std::to_string(summary.problem_count - kToldProblems) + " more problems");
  }
  for (const std::string& problem : jit_.problems()) add(problem);
  if (importer_.mappings_beyond_limit() != 0) {
    add(std::to_string(importer_.mappings_beyond_limit()) +
        " mappings left out, more than any machine has");
  }
  if (importer_.code_beyond_limit() != 0) {
    add("there is code of " + std::to_string(importer_.code_beyond_limit()) +
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
