// Finds conditions that no instruction can fulfil, before anything runs.
#ifndef HBBP_LIB_PROBES_SATISFIABLE_H_
#define HBBP_LIB_PROBES_SATISFIABLE_H_

#include "isa/property_expression.h"

namespace hbbp {

// Returns false only if the condition cannot be true: classes exclude each other (an instruction
// that is both a call and a return), or comparisons of one key do (size < 4 and size > 8).
// Properties, operands and taxonomies are taken as independent of each other and of the classes,
// and patterns of texts as free. Conditions with very many comparisons are not examined.
bool IsSatisfiable(const Expression& condition);

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_SATISFIABLE_H_
