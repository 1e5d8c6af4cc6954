// Makes a profile for compilers, by lines, of what productions counted.
//
// A table with the field `pc` counts instructions, and so lines; one with `target` too counts
// calls, of those that go to the start of a function. `sample-profile` is a set of productions that
// counts all of both; `indirect-targets` has what the promotion of indirect calls needs.
#ifndef HBBP_TOOLS_PROBE_SAMPLE_PROFILE_H_
#define HBBP_TOOLS_PROBE_SAMPLE_PROFILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "probe/probed_program.h"

namespace hbbp::tools {

// Returns kInvalidArgument if no table has `pc`.
Status CheckForSampleProfile(const ProductionSet& set);

// Returns text that clang reads (-fprofile-sample-use), of the files with the path or name
// `module`; of all if it is empty. `notes` get a line for each that has no lines. Returns kNotFound
// if nothing that was counted has one.
StatusOr<std::string> MakeSampleProfile(const ProbedProgram& program,
                                        const ProductionEngine& engine, std::string_view module,
                                        std::vector<std::string>* notes);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_SAMPLE_PROFILE_H_
