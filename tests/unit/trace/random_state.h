// Makes states with values for which instructions differ: infinities, denormals, signs, limits.
#ifndef HBBP_TESTS_UNIT_TRACE_RANDOM_STATE_H_
#define HBBP_TESTS_UNIT_TRACE_RANDOM_STATE_H_

#include <cstddef>
#include <cstdint>
#include <random>

#include "trace/native/machine_state.h"

namespace hbbp::testing {

using Random = std::mt19937_64;

// Returns an integer, one or two floats, or a double.
uint64_t InterestingValue(Random* random);

void FillInteresting(Random* random, uint8_t* bytes, size_t size);

// Fills everything but rip, the bases of segments and operand, with what this machine can have. All
// exceptions are masked.
void FillState(Random* random, trace::MachineState* state);

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_UNIT_TRACE_RANDOM_STATE_H_
