// PerfDataVisitor: what is told of the records of a recording.
#ifndef HBBP_LIB_PERF_DATA_PERF_DATA_VISITOR_H_
#define HBBP_LIB_PERF_DATA_PERF_DATA_VISITOR_H_

#include "perf/records.h"
#include "perf/sample_record.h"
#include "perf_data/perf_data_event.h"

namespace hbbp {

// Records and the views in them are valid during the call; a PerfEvent as long as its reader.
class PerfDataVisitor {
 public:
  virtual ~PerfDataVisitor() = default;

  virtual void OnSample(const PerfEvent&, const SampleRecord&) {}
  virtual void OnMmap(const MmapRecord&) {}
  virtual void OnComm(const CommRecord&) {}
  virtual void OnFork(const TaskRecord&) {}
  virtual void OnExit(const TaskRecord&) {}
  virtual void OnLost(const LostRecord&) {}
  virtual void OnThrottle(const ThrottleRecord&) {}
  virtual void OnSwitch(const SwitchRecord&) {}
  virtual void OnNamespaces(const NamespacesRecord&) {}
  virtual void OnKsymbol(const KsymbolRecord&) {}
  virtual void OnBpfEvent(const BpfEventRecord&) {}
  virtual void OnCgroup(const CgroupRecord&) {}
  virtual void OnTextPoke(const TextPokeRecord&) {}
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_PERF_DATA_VISITOR_H_
