// LD_PRELOAD, in which `hbbp record` names the library. A program does not see it there: a child
// that it starts by system calls of its own (as the runtime of Go does) would get the library
// whatever kind of program it is, or complain that it cannot be loaded after chroot. The functions
// of the C library that run a program insert it again, where that does no harm.
#ifndef HBBP_TOOLS_PRELOAD_PRELOAD_VARIABLE_H_
#define HBBP_TOOLS_PRELOAD_PRELOAD_VARIABLE_H_

#include <cstddef>

#include "preload/exec_target.h"

namespace hbbp::preload {

using Variables = char* const*;

enum class LibraryChange { kNone, kAdd, kRemove };

// Returns how to change the environment of a program of this kind. It is async-signal-safe, like
// the two below.
LibraryChange FindLibraryChange(Variables environment, ExecTarget target);
// Returns whether there may be a change, before the target is known.
bool MayChangeLibrary(Variables environment);

// The sizes for MakeEnvironment: pointers of `copy`, bytes of `text`.
size_t EnvironmentCount(Variables environment);
size_t EnvironmentTextBytes(Variables environment);
Variables MakeEnvironment(Variables environment, LibraryChange change, char** copy, char* text);

// While it lives, LD_PRELOAD has the value that loaded the library, for functions of the C library
// that run a shell without calling the interposed functions.
class ShowLibrary {
 public:
  ShowLibrary();
  ~ShowLibrary();
  ShowLibrary(const ShowLibrary&) = delete;
  ShowLibrary& operator=(const ShowLibrary&) = delete;
};

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_PRELOAD_VARIABLE_H_
