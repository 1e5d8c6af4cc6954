// A few thousand instruction encodings, as assembled: what programs contain, and corners of it.
#ifndef HBBP_TESTS_UNIT_TRACE_INSTRUCTION_FORMS_H_
#define HBBP_TESTS_UNIT_TRACE_INSTRUCTION_FORMS_H_

#include <vector>

#include "unit/trace/harvested_code.h"

namespace hbbp::testing {

std::vector<InstructionBytes> AssembledInstructions();

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_UNIT_TRACE_INSTRUCTION_FORMS_H_
