// IbsSums adds up the events that AMD derives from IBS samples, over a recording.
#ifndef HBBP_LIB_COLLECT_IBS_SUMS_H_
#define HBBP_LIB_COLLECT_IBS_SUMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "events/samples.h"
#include "perf/byte_order.h"
#include "perf/ibs_events.h"

namespace hbbp {

enum class IbsKind : uint8_t { kNone, kOp, kFetch };

// Returns the kind of an event by the name of its PMU.
IbsKind IbsKindOf(const std::string& event_name);

class IbsSums {
 public:
  void Add(const IbsOp& op);
  void Add(const IbsFetch& fetch);
  void AddUndecodable() { ++undecodable_; }
  // Appends the sums that are not 0.
  void AppendTo(Counters* counters) const;

 private:
  template <typename Sample>
  void AddValues(const Sample& sample);

  struct Sum {
    const char* event;
    uint64_t value;
  };

  std::vector<Sum> sums_;  // in the order of VisitIbsEvents
  uint64_t undecodable_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_IBS_SUMS_H_
