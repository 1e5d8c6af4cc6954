// LD_PRELOAD, in which `hbbp record` names the library. A program does not see it there: a child
// that it starts by system calls of its own (the runtime of Go does) would get the library whatever
// kind of program it is, or complain that it cannot be loaded after chroot. The functions of the C
// library that run a program put it in again, where that does no harm.
#ifndef HBBP_TOOLS_PRELOAD_PRELOAD_VARIABLE_H_
#define HBBP_TOOLS_PRELOAD_PRELOAD_VARIABLE_H_

#include <cstddef>

#include "preload/exec_target.h"

namespace hbbp::preload {

using Variables = char* const*;

enum class LibraryChange { kNone, kAdd, kRemove };

// What is to be done to the environment of a program of this kind. Async-signal-safe, as are the
// two below.
LibraryChange FindLibraryChange(Variables environment, ExecTarget target);
// Might there be anything to do, if the target were known?
bool MayChangeLibrary(Variables environment);

// Room for MakeEnvironment: pointers of `copy`, bytes of `text`.
size_t EnvironmentCount(Variables environment);
size_t EnvironmentTextBytes(Variables environment);
Variables MakeEnvironment(Variables environment, LibraryChange change, char** copy, char* text);

// While it lives, LD_PRELOAD is as the library was loaded by, for functions of the C library that
// run a shell without asking the ones that are interposed.
class ShowLibrary {
 public:
  ShowLibrary();
  ~ShowLibrary();
  ShowLibrary(const ShowLibrary&) = delete;
  ShowLibrary& operator=(const ShowLibrary&) = delete;
};

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_PRELOAD_VARIABLE_H_
