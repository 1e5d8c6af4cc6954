// A few thousand instruction encodings, as assembled: what programs contain, and corners of it.
#ifndef HBBP_TESTS_UNIT_TRACE_INSTRUCTION_FORMS_H_
#define HBBP_TESTS_UNIT_TRACE_INSTRUCTION_FORMS_H_

#include <vector>

#include "unit/trace/harvested_code.h"

namespace hbbp::testing {

std::vector<InstructionBytes> AssembledInstructions();

// The same with prefixes in front that assemblers do not write: without effect, repeated, ignored
// or with another meaning. Not all of them are instructions.
std::vector<InstructionBytes> PrefixedInstructions();

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_UNIT_TRACE_INSTRUCTION_FORMS_H_
