// BurstProbe::Run checks what productions need, and ReplayAll passes each burst that counts to the
// Replay of its recording: that finds the instructions of each stream, once for each pair of
// branches, and makes an event of each. The engine gets the weights of the records at the end of
// the burst.
#include "probes/burst_probe.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/analyze.h"
#include "estimate/family_choice.h"
#include "probes/access_cursor.h"
#include "probes/burst_values.h"
#include "probes/recorded_keys.h"
#include "probes/thread_history.h"
#include "profile/profile_file.h"

namespace hbbp {
namespace {

// All bursts are one thread after the other for traces.
constexpr uint32_t kThread = 0;
// Streams are found again when those that are kept take more. Programs have far fewer.
constexpr size_t kMaxStreamsBytes = size_t{256} << 20;
constexpr size_t kBytesOfStream = 96;  // in a hash table

// No more of a burst is replayed. Recorded ones have 40 instructions a branch or less
// (trace::BurstLimits).
constexpr uint64_t kMaxInstructions = 40 * kMaxKeptBranches;

bool HasAccesses(const KeptBursts& bursts) {
  return std::ranges::any_of(bursts.recordings, [](const RecordedBursts& recording) {
    return (recording.kinds & SetOf(RecordedKind::kAddress)) != 0 ||
           !recording.access_bytes.empty();
  });
}

}  // namespace

// The bursts of one recording.
class BurstProbe::Replay {
 public:
  Replay(const RecordedBursts& recording, BurstProbe* probe) : probe_(*probe) {
    for (const KeptBranch& branch : recording.branches) {
      ends_.push_back({probe_.code_.Number(branch.from_module, branch.from),
                       probe_.code_.Number(branch.to_module, branch.to)});
    }
  }

  void Run(const KeptBurst& burst, double weight) {
    probe_.current_ = {burst.thread, burst.time_ns, weight};
    BurstState state = probe_.engine_.BeginBurst();
    ThreadHistory history(ThreadHistory::Extent::kPart);
    uint64_t instructions = 0;
    uint64_t in_burst = 0;
    AccessCursor accesses(burst.accesses);
    BurstValues values(probe_.set_.keys(), burst.values);
    for (uint32_t i = 0; i + 1 < burst.branches.size(); ++i) {
      const BurstStream& stream = FindStream(burst.branches[i], burst.branches[i + 1]);
      ++probe_.totals_.streams;
      if (stream.fault != StreamFault::kNone ||
          instructions + stream.instructions.size() > kMaxInstructions) {
        ++probe_.totals_.faults;
        if (stream.fault == StreamFault::kNoCode) ++probe_.totals_.without_code;
        history = ThreadHistory(ThreadHistory::Extent::kPart);
        values.SkipStream();
        probe_.engine_.EndThread(kThread);
        continue;
      }
      const uint64_t end = ends_[burst.branches[i + 1]].to;
      const uint64_t start = stream.instructions.front()->instruction.pc;
      for (const BurstInstruction* entry : stream.instructions) {
        const bool is_last = entry == stream.instructions.back();
        InstructionEvent event;
        event.instruction = &entry->instruction;
        event.next = is_last ? end : entry->instruction.end();
        if (event.next == kNoCodeNumber) MarkUnknownNext(&event);
        const auto offset = static_cast<uint32_t>(event.instruction->pc - start);
        values.Complete(i, offset, entry->written_registers, &event);
        if (entry->memory.size != 0) {
          event.size = entry->memory.size;
          const std::optional<uint64_t> address = accesses.Find(i, offset);
          event.address = address.value_or(0);
          if (!address) event.unknown |= SetOf(ProbeKey::kAddress);
        }
        history.Complete(probe_.set_.keys(), &event);
        ++instructions;
        if (state.sample_flag) ++in_burst;
        probe_.engine_.Run(event, kThread, &state);
        history.Follow(probe_.set_.keys(), event);
      }
    }
    probe_.totals_.instructions += instructions;
    // The first instruction has the flag.
    const double share = instructions == 0 ? 1 : Ratio(instructions, in_burst);
    probe_.engine_.EndBurst({.always = weight, .in_burst = weight * share});
  }

 private:
  struct Ends {
    uint64_t from = kNoCodeNumber;
    uint64_t to = kNoCodeNumber;
  };

  static double Ratio(uint64_t a, uint64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
  }

  // Returns a stream that is valid until the next call.
  const BurstStream& FindStream(uint32_t branch, uint32_t next) {
    const uint64_t pair = uint64_t{branch} << 32 | next;
    const auto known = streams_.find(pair);
    if (known != streams_.end()) return known->second;
    if (streams_bytes_ > kMaxStreamsBytes) {
      streams_.clear();
      streams_bytes_ = 0;
    }
    BurstStream& stream = streams_[pair];
    stream = probe_.code_.FindStream(ends_[branch].to, ends_[next].from);
    streams_bytes_ += kBytesOfStream + stream.instructions.capacity() * sizeof(void*);
    return stream;
  }

  // The branch went to code in no known module.
  static void MarkUnknownNext(InstructionEvent* event) {
    event->unknown |= SetOf(ProbeKey::kNext);
    if (event->instruction->flow.has_target) {
      event->next = event->instruction->flow.target;
    } else {
      event->unknown |= SetOf(ProbeKey::kTarget) | SetOf(ProbeKey::kBackward);
    }
  }

  BurstProbe& probe_;
  std::vector<Ends> ends_;  // by branch
  std::unordered_map<uint64_t, BurstStream> streams_;
  size_t streams_bytes_ = 0;
};

BurstProbe::BurstProbe(const ProductionSet* set, const ProductionEngineOptions& options,
                       BurstHandler handler, std::function<void()> after_burst)
    : set_(*set),
      handler_(std::move(handler)),
      after_burst_(std::move(after_burst)),
      code_(set),
      engine_(set, handler_ ? WithHandler(options) : options) {}

ProductionEngineOptions BurstProbe::WithHandler(ProductionEngineOptions options) {
  options.handler = [this](const ProbeCall& call) {
    return handler_({call, next_, current_.thread, current_.time_ns, current_.weight});
  };
  return options;
}

Status BurstProbe::CheckKeys(const KeptBursts& bursts) const {
  const auto name_of = [](ProbeKeySet keys) {
    return std::string(NameOf(static_cast<ProbeKey>(std::countr_zero(keys))));
  };
  const ProbeKeySet never = set_.keys() & (kRegisters | kValues) & ~KeysOf(kRecordedValues);
  if (never != 0) {
    return Status(StatusCode::kUnsupported,
                  "the productions use '" + name_of(never) +
                      "', which whole bursts do not have; the exact stream --stream step does");
  }
  const ProbeKeySet of_accesses = set_.keys() & kAddresses;
  if (of_accesses != 0 && !HasAccesses(bursts)) {
    return Status(StatusCode::kUnsupported,
                  "the productions use '" + name_of(of_accesses) +
                      "', but the profile has no accesses to memory; record it with "
                      "--keep-accesses (keep_accesses), or use the exact stream --stream step");
  }
  RecordedKinds recorded = 0;
  for (const RecordedBursts& recording : bursts.recordings) recorded |= recording.kinds;
  const ProbeKeySet missing = set_.keys() & KeysOf(kRecordedValues) & ~KeysOf(recorded);
  if (missing != 0) {
    const std::string name = name_of(missing);
    return Status(StatusCode::kUnsupported,
                  "the productions use '" + name +
                      "', but the profile does not have its values; record it with --keep-values " +
                      name + " (keep_values), or use the exact stream --stream step");
  }
  return OkStatus();
}

Status BurstProbe::NothingToReplay(const KeptBursts& bursts, uint64_t others) const {
  const auto kept = static_cast<unsigned long long>(bursts.number());
  if (kept == 0) return NoKeptBursts(bursts);
  return MakeStatus(StatusCode::kNotFound,
                    "none of the %llu whole bursts counts: %llu are of another event than blocks "
                    "are counted by, and the others have no stream",
                    kept, static_cast<unsigned long long>(others));
}

void BurstProbe::CountBurst(const SourceRecord& record) {
  ++totals_.bursts;
  const BurstSource source = {
      record.event_name.empty() ? EventName(record.event) : record.event_name, record.period,
      record.frequency_hz, 0,
      CountsExecutions(FamilyOf(record.kind), record.event, record.burst_extent)};
  const auto found = std::ranges::find_if(sources_, [&](const BurstSource& known) {
    return known.event == source.event && known.period == source.period &&
           known.frequency_hz == source.frequency_hz &&
           known.counts_executions == source.counts_executions;
  });
  ++(found != sources_.end() ? *found : sources_.emplace_back(source)).bursts;
}

Status BurstProbe::ReplayAll(const KeptBursts& bursts, const Analysis& analysis, uint64_t first,
                             const Work& work) {
  const std::vector<SourceRecord>& sources = analysis.data().sources;
  const uint64_t all = bursts.number() - first;
  WorkMeter meter(work, all);
  KeptBurst burst;
  next_ = 0;
  for (const RecordedBursts& recording : bursts.recordings) {
    if (next_ + recording.number <= first) {
      next_ += recording.number;
      continue;
    }
    Replay replay(recording, this);
    KeptBurstReader reader(recording);
    for (; reader.Next(&burst); ++next_) {
      if (next_ < first) continue;
      HBBP_RETURN_IF_ERROR(work.Check());
      if (!meter.Advance()) return meter.status();
      if (!analysis.IsCounted(burst.source)) {
        ++totals_.other_sources;
        continue;
      }
      // A burst without a stream has no weight.
      if (burst.weight <= 0) continue;
      CountBurst(sources[burst.source]);
      replay.Run(burst, burst.weight * analysis.family_scales().streams);
      if (after_burst_) after_burst_();
    }
    HBBP_RETURN_IF_ERROR(reader.status());
  }
  return OkStatus();
}

Status BurstProbe::Run(const Analysis& analysis, uint64_t first, const Work& work) {
  next_ = first;
  HBBP_RETURN_IF_ERROR(work.Check());
  HBBP_ASSIGN_OR_RETURN(const KeptBursts bursts, ParseKeptBursts(analysis.data()));
  if (first > bursts.number()) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "the profile has %llu whole bursts, and none with the number %llu: only a "
                      "later snapshot of the same session has those of an earlier one",
                      static_cast<unsigned long long>(bursts.number()),
                      static_cast<unsigned long long>(first));
  }
  if (bursts.number() != 0) HBBP_RETURN_IF_ERROR(CheckKeys(bursts));
  totals_.not_kept = bursts.not_kept;
  code_.Use(analysis.shared_modules());
  const uint64_t bursts_before = totals_.bursts;
  const uint64_t others_before = totals_.other_sources;
  HBBP_RETURN_IF_ERROR(ReplayAll(bursts, analysis, first, work));
  if (first != 0 || totals_.bursts != bursts_before) return OkStatus();
  return NothingToReplay(bursts, totals_.other_sources - others_before);
}

StatusOr<std::unique_ptr<BurstProbe>> ProbeBursts(const std::string& profile,
                                                  const ProductionSet* set,
                                                  const ProductionEngineOptions& options) {
  HBBP_ASSIGN_OR_RETURN(ProfileData data, LoadProfile(profile));
  StatusOr<Analysis> analysis = Analyze(std::move(data));
  if (!analysis.ok()) return analysis.status().Annotate(profile);
  auto probe = std::make_unique<BurstProbe>(set, options);
  const Status status = probe->Run(*analysis);
  if (!status.ok()) return status.Annotate(profile);
  return probe;
}

}  // namespace hbbp
