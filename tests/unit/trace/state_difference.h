// Describes how two states differ.
#ifndef HBBP_TESTS_UNIT_TRACE_STATE_DIFFERENCE_H_
#define HBBP_TESTS_UNIT_TRACE_STATE_DIFFERENCE_H_

#include <string>

#include "trace/native/machine_state.h"

namespace hbbp::testing {

// Returns "" if there is no difference. Compares registers, `flags` of the flags, MXCSR and the x87
// state but for the addresses of the last instruction. `expected` comes first in the text.
std::string FindDifference(const trace::MachineState& expected, const trace::MachineState& actual,
                           uint64_t flags);

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_UNIT_TRACE_STATE_DIFFERENCE_H_
