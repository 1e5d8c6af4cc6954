// Makes one set of productions of names of built-in ones and of files.
#ifndef HBBP_TOOLS_PROBE_LOAD_PRODUCTIONS_H_
#define HBBP_TOOLS_PROBE_LOAD_PRODUCTIONS_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "probes/production_set.h"

namespace hbbp::tools {

// A word with a slash or of a file that is here is a file; one file is allowed. `groups` is a file
// of taxonomies, or empty for those of the library. Errors name the file that has them.
StatusOr<ProductionSet> LoadProductions(const std::vector<std::string>& words,
                                        const std::string& groups);

// Returns kUnsupported if the productions use what valgrind's stream does not have.
Status CheckForValgrind(const ProductionSet& set);

// Returns one line for each built-in set: its name and what it is.
std::string DescribeBuiltins();

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_LOAD_PRODUCTIONS_H_
