// RecordVisitor: what is done with records of perf other than samples; VisitRecord is the one
// dispatch by their type.
#ifndef HBBP_LIB_PERF_RECORD_VISITOR_H_
#define HBBP_LIB_PERF_RECORD_VISITOR_H_

#include <cstdint>
#include <span>

#include "perf/record_format.h"
#include "perf/records.h"

namespace hbbp {

// Records are valid during the call. A visitor ignores what it does not override.
class RecordVisitor {
 public:
  virtual ~RecordVisitor() = default;

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

enum class RecordFate { kVisited, kTooShort, kUnknownType };

// Precondition: the record is whole, and not a sample.
RecordFate VisitRecord(std::span<const uint8_t> record, const RecordFormat& format,
                       RecordVisitor* visitor);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_RECORD_VISITOR_H_
