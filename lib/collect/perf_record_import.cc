#include "collect/perf_record_import.h"

#include <time.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "collect/ibs_attribution.h"
#include "collect/jit_playback.h"
#include "collect/memory_note.h"
#include "collect/perf_event_kind.h"
#include "collect/recorded_periods.h"
#include "perf/branch_stack_bursts.h"
#include "perf/ip_correction.h"
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

class PerfImport : public PerfRecordImport {
 public:
  PerfImport(const EventTable& events, const PerfDataHeader& header, Importer* importer,
             EbsMethod ebs_method)
      : events_(events),
        header_(header),
        importer_(*importer),
        jit_(importer),
        ebs_method_(ebs_method),
        ibs_charge_(importer->memory()) {}

  void OnSample(const PerfEvent& event, const SampleRecord& sample) override {
    const uint16_t mode = CpuMode(sample.misc);
    const EventSources& sources = SourcesOf(event);
    if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER ||
        mode == PERF_RECORD_MISC_HYPERVISOR) {
      ++guest_samples_[event.index];
      return;
    }
    NoteTime(sample.time);
    jit_.PlayUpTo(sample.time);
    const bool has_period = (event.attr.sample_type & PERF_SAMPLE_PERIOD) != 0;
    const uint64_t period = has_period        ? sample.period
                            : event.attr.freq ? 1
                                              : event.attr.sample_period;
    periods_[event.index].Add(period);
    if (sources.ebs) {
      IpSample ip;
      const bool is_exact = (sample.misc & PERF_RECORD_MISC_EXACT_IP) != 0;
      const IpOrigin origin =
          sources.ebs_method == EbsMethod::kIpPlusOne
              ? corrections_[event.index].Correct(sample.ip, is_exact, sample.branches)
              : IpOrigin{sample.ip};
      ip.ip = {origin.ip};
      ip.position = origin.position;
      ip.pid = sample.pid;
      ip.tid = sample.tid;
      ip.time_ns = sample.time;
      ip.period = period;
      const auto place = importer_.AddSample(*sources.ebs, ip);
      if (sources.ibs != IbsKind::kNone && !sample.raw.empty()) {
        AddIbs(event, sources, place, sample.raw);
      }
    }
    if (!sources.lbr) {
      if (!sample.branches.empty()) ++filtered_stacks_[event.index];
      return;
    }
    bursts_[event.index].Visit(sample.branches, period,
                               [&](auto branches, double weight, StackPart part) {
                                 BurstSample burst;
                                 burst.stack = part;
                                 burst.pid = sample.pid;
                                 burst.tid = sample.tid;
                                 burst.time_ns = sample.time;
                                 burst.branches = branches;
                                 importer_.AddBurst(*sources.lbr, burst, weight);
                               });
  }

  void OnMmap(const MmapRecord& mmap) override {
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

  void OnComm(const CommRecord& comm) override {
    if (comm.is_exec) importer_.AddExec(comm.pid);
    importer_.NameThread(comm.pid, comm.tid, comm.name);
  }

  void OnFork(const TaskRecord& fork) override {
    // Of processes that ran before, perf tells the mappings as well.
    const bool is_made_up = (fork.misc & PERF_RECORD_MISC_FORK_EXEC) != 0;
    if (!is_made_up) importer_.AddFork(fork.parent_pid, fork.pid);
    importer_.AddThread(fork.parent_pid, fork.parent_tid, fork.pid, fork.tid);
  }

  void OnKsymbol(const KsymbolRecord& symbol) override {
    if (symbol.is_removed || symbol.name.empty()) return;
    const ModuleAddress start{symbol.address};
    importer_.AddKernelFunction({{start, start + symbol.size}, symbol.name});
  }

  void OnLost(const LostRecord& lost) override {
    const size_t event = IndexOfEvent(lost.id != 0 ? lost.id : lost.sample_id.id);
    // At its end perf tells the sums of events, which the ring buffers have told of before.
    const bool is_sum = lost.only_samples && lost.sample_id.time == 0;
    (is_sum ? lost_in_all_ : lost_)[event] += lost.count;
  }

  void OnThrottle(const ThrottleRecord& throttle) override {
    if (throttle.is_throttled) ++throttled_[IndexOfEvent(throttle.id)];
  }

  void AddSourcesOf(const PerfEvent& event) override { SourcesOf(event); }

  void AddSource(const PerfEvent& event, const SourceRecord& source, IbsKind ibs) override {
    EventSources& sources = sources_[event.index];
    sources.ibs = ibs;
    (source.kind == SourceKind::kLbr ? sources.lbr : sources.ebs) = importer_.AddSource(source);
  }

  void AddLost(const PerfEvent& event, uint64_t samples) override { lost_[event.index] += samples; }
  void AddThrottled(const PerfEvent& event) override { ++throttled_[event.index]; }

  Totals totals() const override {
    Totals totals;
    totals.first_time_ns = first_time_ns_;
    totals.last_time_ns = last_time_ns_;
    for (const auto& [event, sources] : sources_) {
      totals.lost += LostOf(event);
      totals.throttled += NumberOf(throttled_, event);
    }
    return totals;
  }

  const std::vector<std::string>& jit_problems() const override { return jit_.problems(); }

  void Complete(const PerfDataSummary& summary, ProfileData* data,
                CancelCheck* check) const override {
    for (const auto& [event, sources] : sources_) CompleteSources(event, sources, data);
    if (!sources_.empty()) {
      const EventSources& first = sources_.begin()->second;
      data->sources[first.ebs ? *first.ebs : *first.lbr].note = NoteOf(summary);
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

 private:
  // Of an event. IBS samples have instruction pointers as those of EBS.
  struct EventSources {
    IbsKind ibs = IbsKind::kNone;
    EbsMethod ebs_method = EbsMethod::kPlain;
    std::optional<uint32_t> ebs;
    std::optional<uint32_t> lbr;
  };

  const EventSources& SourcesOf(const PerfEvent& event) {
    const auto [place, added] = sources_.try_emplace(event.index);
    if (!added) return place->second;
    SourceRecord source;
    source.event = KindOfPerfEvent(event.attr, event.name, header_.cpu_id);
    source.event_name = event.name;
    source.precise_ip = event.attr.precise_ip;
    source.include_kernel = !event.attr.exclude_kernel;
    (event.attr.freq ? source.frequency_hz : source.period) =
        event.attr.freq ? event.attr.sample_freq : event.attr.sample_period;
    const bool has_branches = HasWholeBranchStacks(event);
    if (!has_branches || source.event != EventKind::kTakenBranches) {
      place->second.ibs = IbsKindOf(event.name);
      const bool is_ibs = place->second.ibs != IbsKind::kNone;
      source.kind = is_ibs ? SourceKind::kIbs : SourceKind::kEbs;
      if (!is_ibs) {
        place->second.ebs_method =
            ChooseEbsMethod(ebs_method_, event.attr.precise_ip, has_branches);
      }
      source.ebs_method = place->second.ebs_method;
      place->second.ebs = importer_.AddSource(source);
      source.ebs_method = EbsMethod::kPlain;
    }
    if (has_branches) {
      source.kind = SourceKind::kLbr;
      place->second.lbr = importer_.AddSource(source);
    }
    return place->second;
  }

  void AddIbs(const PerfEvent& event, const EventSources& sources,
              const std::optional<Importer::SamplePlace>& place, std::span<const uint8_t> raw) {
    IbsSums& sums = ibs_[event.index];
    const auto add = [&](const auto& decoded) {
      if (!decoded) return sums.AddUndecodable();
      sums.Add(*decoded);
      if (!place) return;
      const bool has_memory =
          HasMemoryFor([&] { ibs_charge_.GrowTo(ibs_attribution_.BytesWithOneMore()); });
      if (!has_memory) return ibs_attribution_.Drop(*sources.ebs);
      ibs_attribution_.Add(*sources.ebs, *place, *decoded);
    };
    if (sources.ibs == IbsKind::kOp) {
      add(DecodeIbsOp(raw, events_.order()));
    } else {
      add(DecodeIbsFetch(raw, events_.order()));
    }
  }

  size_t IndexOfEvent(uint64_t id) const { return events_.IndexOfId(id).value_or(0); }

  bool HasClockOfJits() const {
    return !events_.events().empty() && events_.events().front().attr.use_clockid &&
           events_.events().front().attr.clockid == CLOCK_MONOTONIC;
  }

  void NoteTime(uint64_t time_ns) {
    if (time_ns == 0 || time_ns == kNoTime) return;
    if (first_time_ns_ == 0 || time_ns < first_time_ns_) first_time_ns_ = time_ns;
    last_time_ns_ = std::max(last_time_ns_, time_ns);
  }

  static uint64_t NumberOf(const std::map<size_t, uint64_t>& numbers, size_t event) {
    const auto found = numbers.find(event);
    return found == numbers.end() ? 0 : found->second;
  }

  uint64_t LostOf(size_t event) const {
    return std::max(NumberOf(lost_, event), NumberOf(lost_in_all_, event));
  }

  void CompleteSources(size_t event, const EventSources& sources, ProfileData* data) const {
    for (const auto& index : {sources.ebs, sources.lbr}) {
      if (!index) continue;
      SourceRecord& source = data->sources[*index];
      source.lost = LostOf(event);
      source.throttled = NumberOf(throttled_, event);
      if (const auto periods = periods_.find(event); periods != periods_.end()) {
        source.smallest_period = periods->second.smallest();
        source.largest_period = periods->second.largest();
        source.period_mode = periods->second.ModeOf(source.period);
      }
      Counters& counters = source.trace.counters;
      AddCounter("guest-samples", NumberOf(guest_samples_, event), &counters);
      AddCounter("filtered-branch-stacks", NumberOf(filtered_stacks_, event), &counters);
      if (index == sources.ebs) {
        if (const auto ibs = ibs_.find(event); ibs != ibs_.end()) ibs->second.AppendTo(&counters);
        ibs_attribution_.AppendLosses(*index, &counters);
        const auto correction = corrections_.find(event);
        if (correction != corrections_.end()) correction->second.AppendTo(&counters);
      }
      const auto bursts = bursts_.find(event);
      if (index != sources.lbr || bursts == bursts_.end()) continue;
      bursts->second.losses().AppendTo(&counters);
    }
  }

  std::string NoteOf(const PerfDataSummary& summary) const {
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

  const EventTable& events_;
  const PerfDataHeader& header_;
  Importer& importer_;
  JitPlayback jit_;
  const EbsMethod ebs_method_;
  std::map<size_t, EventSources> sources_;  // by index of the event, as the following
  std::map<size_t, BranchStackBursts> bursts_;
  std::map<size_t, IbsSums> ibs_;
  IbsAttribution ibs_attribution_;
  MemoryCharge ibs_charge_;
  std::map<size_t, IpCorrection> corrections_;
  std::map<size_t, RecordedPeriods> periods_;
  std::map<size_t, uint64_t> lost_;
  std::map<size_t, uint64_t> lost_in_all_;
  std::map<size_t, uint64_t> throttled_;
  std::map<size_t, uint64_t> guest_samples_;
  std::map<size_t, uint64_t> filtered_stacks_;
  uint64_t first_time_ns_ = 0;
  uint64_t last_time_ns_ = 0;
};

}  // namespace

std::unique_ptr<PerfRecordImport> PerfRecordImport::Create(const EventTable* events,
                                                           const PerfDataHeader* header,
                                                           Importer* importer,
                                                           EbsMethod ebs_method) {
  return std::make_unique<PerfImport>(*events, *header, importer, ebs_method);
}

}  // namespace hbbp
