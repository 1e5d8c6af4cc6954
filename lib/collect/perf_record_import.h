// PerfRecordImport: counts what records of perf tell.
//
// An event whose samples have branch stacks is a source of streams (LBR). Its instruction pointers
// make a source of their own (EBS), unless it counts taken branches: where those retire says
// nothing of where instructions do (Nowak et al., "Hybrid Basic Block Profiling", section V.A,
// which samples two events at once for that).
#ifndef HBBP_LIB_COLLECT_PERF_RECORD_IMPORT_H_
#define HBBP_LIB_COLLECT_PERF_RECORD_IMPORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/counted_memory.h"
#include "base/work.h"
#include "collect/ibs_attribution.h"
#include "collect/ibs_sums.h"
#include "collect/importer.h"
#include "collect/jit_playback.h"
#include "collect/recorded_periods.h"
#include "perf/branch_stack_bursts.h"
#include "perf/ip_correction.h"
#include "perf_data/perf_data_event.h"
#include "perf_data/perf_data_header.h"
#include "perf_data/perf_data_summary.h"
#include "perf_data/perf_data_visitor.h"
#include "profile/profile_data.h"

namespace hbbp {

class PerfRecordImport : public PerfDataVisitor {
 public:
  // All must outlive it; `header` tells what machine the records are of.
  PerfRecordImport(const EventTable* events, const PerfDataHeader* header, Importer* importer,
                   EbsMethod ebs_method);

  void OnSample(const PerfEvent& event, const SampleRecord& sample) override;
  void OnMmap(const MmapRecord& mmap) override;
  void OnComm(const CommRecord& comm) override;
  void OnFork(const TaskRecord& fork) override;
  void OnKsymbol(const KsymbolRecord& symbol) override;
  void OnLost(const LostRecord& lost) override;
  void OnThrottle(const ThrottleRecord& throttle) override;

  // The sources of an event, also if it never has samples.
  void AddSourcesOf(const PerfEvent& event) { WithSources(event); }
  // An event that no record tells of is one source, of this kind. Its index must be that of no
  // other.
  void AddSource(const PerfEvent& event, const SourceRecord& source, IbsKind ibs);
  void AddLost(const PerfEvent& event, uint64_t samples) { imports_[event.index].lost += samples; }
  void AddThrottled(const PerfEvent& event) { ++imports_[event.index].throttled; }

  // Over all sources.
  struct Totals {
    uint64_t lost = 0;
    uint64_t throttled = 0;
    uint64_t first_time_ns = 0;
    uint64_t last_time_ns = 0;
  };
  Totals totals() const;
  // With the dumps of JITs.
  const std::vector<std::string>& jit_problems() const { return jit_.problems(); }

  // What was counted besides addresses, into what the importer gave. `summary` tells what was
  // dropped. With `check`, throws WorkCancelled if it is called off.
  void Complete(const PerfDataSummary& summary, ProfileData* data,
                CancelCheck* check = nullptr) const;

 private:
  // Of an event. IBS samples have instruction pointers as those of EBS.
  struct EventImport {
    std::optional<uint32_t> ebs;  // its sources
    std::optional<uint32_t> lbr;
    EbsMethod ebs_method = EbsMethod::kPlain;
    IbsKind ibs_kind = IbsKind::kNone;
    IpCorrection correction;
    IbsSums ibs;
    BranchStackBursts bursts;
    RecordedPeriods periods;
    uint64_t lost = 0;
    uint64_t lost_in_all = 0;  // as perf adds it up at its end
    uint64_t throttled = 0;
    uint64_t guest_samples = 0;
    uint64_t filtered_stacks = 0;

    bool HasSources() const { return ebs || lbr; }
    uint64_t LostInAll() const { return std::max(lost, lost_in_all); }
  };

  EventImport& WithSources(const PerfEvent& event);
  EventImport& ImportOfId(uint64_t id);
  void CountIp(const SampleRecord& sample, uint64_t period, EventImport* state);
  void CountStack(const SampleRecord& sample, uint64_t period, EventImport* state);
  void CountIbs(const std::optional<Importer::SamplePlace>& place, std::span<const uint8_t> raw,
                EventImport* state);
  bool HasClockOfJits() const;
  void NoteTime(uint64_t time_ns);
  void CompleteSources(const EventImport& state, ProfileData* data) const;
  std::string NoteOf(const PerfDataSummary& summary) const;

  const EventTable& events_;
  const PerfDataHeader& header_;
  Importer& importer_;
  JitPlayback jit_;
  const EbsMethod ebs_method_;
  std::map<size_t, EventImport> imports_;  // by index of the event
  IbsAttribution ibs_attribution_;
  MemoryCharge ibs_charge_;
  uint64_t first_time_ns_ = 0;
  uint64_t last_time_ns_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_PERF_RECORD_IMPORT_H_
