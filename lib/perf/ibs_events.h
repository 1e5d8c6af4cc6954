// The events that AMD derives from IBS samples: each sample is counted for every event that its op
// or fetch was, so that a profile can be looked at as if each had been counted by itself (AMD,
// "Software Optimization Guide for Family 10h Processors", appendix G; CodeXL and uProf use the
// same). Names are those of AMD without the "IBS", in lower case.
#ifndef HBBP_LIB_PERF_IBS_EVENTS_H_
#define HBBP_LIB_PERF_IBS_EVENTS_H_

#include <cstdint>
#include <span>

#include "perf/ibs.h"

namespace hbbp {

template <typename Sample>
struct IbsEvent {
  const char* name;
  // 1 or 0; the number of cycles for those whose name ends in "-cycles".
  uint64_t (*value)(const Sample&);
};

std::span<const IbsEvent<IbsFetch>> IbsFetchEvents();
std::span<const IbsEvent<IbsOp>> IbsOpEvents();

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_IBS_EVENTS_H_
