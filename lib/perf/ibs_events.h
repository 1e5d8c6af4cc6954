// Visits the events that AMD derives from IBS samples: each sample is counted for every event that
// its op or fetch was, so that a profile can be looked at as if each had been counted by itself
// (AMD, "Software Optimization Guide for Family 10h Processors", appendix G; CodeXL and uProf use
// the same). Names are those of AMD without the "IBS", in lower case.
#ifndef HBBP_LIB_PERF_IBS_EVENTS_H_
#define HBBP_LIB_PERF_IBS_EVENTS_H_

#include <cstdint>
#include <functional>

#include "perf/ibs.h"

namespace hbbp {

// Is called with the name of an event and what the sample adds to it: 1 or 0; the number of cycles
// for those whose name ends in "-cycles".
using IbsEventVisitor = std::function<void(const char* name, uint64_t value)>;

// Visit all events of a kind of sample, in the same order for each.
void VisitIbsEvents(const IbsFetch& f, const IbsEventVisitor& visit);
void VisitIbsEvents(const IbsOp& op, const IbsEventVisitor& visit);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_IBS_EVENTS_H_
