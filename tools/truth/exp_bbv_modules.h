// Converts counts of blocks at run-time addresses to counts of instructions of modules.
//
// --truth-map gives the load address of a module, or else the functions of the blocks do: it is the
// address that most of their symbols agree on. It is 0 for a program that is not a PIE. Blocks
// outside of the profile's modules (valgrind's own code, generated code) are in module "???".
#ifndef HBBP_TOOLS_TRUTH_EXP_BBV_MODULES_H_
#define HBBP_TOOLS_TRUTH_EXP_BBV_MODULES_H_

#include <string>
#include <vector>

#include "truth/exp_bbv.h"
#include "truth/truth_modules.h"

namespace hbbp::tools {

// `name` is that of the file with addresses, for messages. kBadFormat: blocks lie in two modules at
// once or in none.
StatusOr<std::vector<ReferenceModule>> CountsFromBbv(const BbVectors& vectors,
                                                     std::vector<BbAddress> addresses,
                                                     const std::vector<LoadAddress>& load_addresses,
                                                     const std::string& name, ModuleImages* images,
                                                     std::vector<std::string>* notes);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_EXP_BBV_MODULES_H_
