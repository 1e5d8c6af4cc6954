// Assembles a few thousand instruction encodings: those of usual programs, and corner cases.
#ifndef HBBP_TESTS_UNIT_TRACE_INSTRUCTION_FORMS_H_
#define HBBP_TESTS_UNIT_TRACE_INSTRUCTION_FORMS_H_

#include <vector>

#include "unit/trace/harvested_code.h"

namespace hbbp::testing {

std::vector<InstructionBytes> AssembledInstructions();

// Adds prefixes that assemblers do not write: without effect, repeated, ignored or with another
// meaning. Not all results are instructions.
std::vector<InstructionBytes> PrefixedInstructions();

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_UNIT_TRACE_INSTRUCTION_FORMS_H_
