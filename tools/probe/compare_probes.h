// Compares estimated rows of productions with the exact ones of another run.
#ifndef HBBP_TOOLS_PROBE_COMPARE_PROBES_H_
#define HBBP_TOOLS_PROBE_COMPARE_PROBES_H_

#include <string>

#include "base/status.h"
#include "table.h"

namespace hbbp::tools {

// Both texts are JSON of ListProbes, with all rows; `reference_name` is the file of the reference.
// Returns a row for each table of counts that both have: the overlap of their shares, and the notes
// of the reference, which say what it lacks. Addresses of
// code are the same if the path of the module is and the address in it, so that both runs must have
// had the same files. Errors: kBadFormat (the reference is not such a text), kNotFound (they have
// no table in common).
StatusOr<Table> CompareProbes(const std::string& reference, const std::string& reference_name,
                              const std::string& estimate);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_COMPARE_PROBES_H_
