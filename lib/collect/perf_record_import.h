// PerfRecordImport: counts what records of perf tell.
//
// An event whose samples have branch stacks is a source of streams (LBR). Its instruction pointers
// make a source of their own (EBS), unless it counts taken branches: where those retire says
// nothing of where instructions do (Nowak et al., "Hybrid Basic Block Profiling", section V.A,
// which samples two events at once for that).
#ifndef HBBP_LIB_COLLECT_PERF_RECORD_IMPORT_H_
#define HBBP_LIB_COLLECT_PERF_RECORD_IMPORT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/work.h"
#include "collect/ibs_sums.h"
#include "collect/importer.h"
#include "perf_data/perf_data_event.h"
#include "perf_data/perf_data_header.h"
#include "perf_data/perf_data_summary.h"
#include "perf_data/perf_data_visitor.h"
#include "profile/profile_data.h"

namespace hbbp {

class PerfRecordImport : public PerfDataVisitor {
 public:
  // Over all sources.
  struct Totals {
    uint64_t lost = 0;
    uint64_t throttled = 0;
    uint64_t first_time_ns = 0;
    uint64_t last_time_ns = 0;
  };

  // All must outlive it; `header` tells what machine the records are of.
  static std::unique_ptr<PerfRecordImport> Create(const EventTable* events,
                                                  const PerfDataHeader* header, Importer* importer,
                                                  EbsMethod ebs_method);

  // The sources of an event, also if it never has samples.
  virtual void AddSourcesOf(const PerfEvent& event) = 0;
  // An event that no record tells of is one source, of this kind. Its index must be that of no
  // other.
  virtual void AddSource(const PerfEvent& event, const SourceRecord& source, IbsKind ibs) = 0;

  virtual void AddLost(const PerfEvent& event, uint64_t samples) = 0;
  virtual void AddThrottled(const PerfEvent& event) = 0;

  virtual Totals totals() const = 0;
  // With the dumps of JITs.
  virtual const std::vector<std::string>& jit_problems() const = 0;

  // What was counted besides addresses, into what the importer gave. `summary` tells what was
  // dropped.
  // With `check`, throws WorkCancelled if it is called off.
  virtual void Complete(const PerfDataSummary& summary, ProfileData* data,
                        CancelCheck* check = nullptr) const = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_PERF_RECORD_IMPORT_H_
