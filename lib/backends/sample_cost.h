// What a sample takes from the thread that it is of. CPU time has it in it, but nothing tells it
// apart, so that it is assumed: bench/sample_cost measures it, docs/embedding.md has the figures.
#ifndef HBBP_LIB_BACKENDS_SAMPLE_COST_H_
#define HBBP_LIB_BACKENDS_SAMPLE_COST_H_

#include <cstdint>

#include "samples/samples.h"

namespace hbbp {

// An interrupt and a record, by the unit of the event's period: that of a counter costs more than
// that of a clock in a virtual machine, where every access to the PMU may be the hypervisor's
// affair.
uint64_t InterruptNs(Unit unit);

// What a branch stack adds to that.
constexpr uint64_t kBranchStackNs = 2'000;

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_SAMPLE_COST_H_
