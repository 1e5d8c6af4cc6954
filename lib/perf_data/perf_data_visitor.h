// A PerfDataVisitor says what is done with the records of a recording.
#ifndef HBBP_LIB_PERF_DATA_PERF_DATA_VISITOR_H_
#define HBBP_LIB_PERF_DATA_PERF_DATA_VISITOR_H_

#include "perf/record_visitor.h"
#include "perf/sample_record.h"
#include "perf_data/perf_data_event.h"

namespace hbbp {

class PerfDataVisitor : public RecordVisitor {
 public:
  // The views in a sample are valid during the call, an event as long as its reader.
  virtual void OnSample(const PerfEvent&, const SampleRecord&) {}
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_PERF_DATA_VISITOR_H_
