// Finds the modules of code that callgrind puts into "???": PLT stubs, .init and .fini.
//
// Such code has the addresses at which valgrind loaded it, all other code those of its file. A call
// from a module to a PLT stub of its own has both: the instruction says where the stub is in the
// file, and callgrind where it was loaded. The difference is where the module was loaded.
#ifndef HBBP_TOOLS_TRUTH_UNKNOWN_CODE_H_
#define HBBP_TOOLS_TRUTH_UNKNOWN_CODE_H_

#include "truth/callgrind.h"
#include "truth/truth_modules.h"

namespace hbbp::tools {

// Moves counts of "???" to the modules that have the code. What belongs to none stays, as does that
// of modules whose files cannot be opened.
void MoveUnknownCode(ModuleImages* images, Truth* truth);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_UNKNOWN_CODE_H_
