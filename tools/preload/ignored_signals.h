// A program that is run by posix_spawn, system or popen inherits what is ignored, but not of the
// signals that are shared with branch tracing: glibc makes the child by system calls of its own,
// and what it finds in the kernel is our handler. So the environment tells the library there, which
// ignores them before the program begins.
#ifndef HBBP_TOOLS_PRELOAD_IGNORED_SIGNALS_H_
#define HBBP_TOOLS_PRELOAD_IGNORED_SIGNALS_H_

#include <spawn.h>

#include <cstddef>

#include "preload/preload_variable.h"

namespace hbbp::preload {

// Does a child with these attributes (or none: nullptr) have to be told?
bool MustTellIgnored(Variables environment, const posix_spawnattr_t* attributes);

inline constexpr size_t kIgnoredTextBytes = 64;

// `environment` with what a child with these attributes has to ignore, in `copy`, which has room
// for EnvironmentCount pointers, and `text`.
Variables TellIgnored(Variables environment, const posix_spawnattr_t* attributes, char** copy,
                      char* text);

// While it lives, the environment of this process says it, for functions that hand on that one.
class ShowIgnored {
 public:
  ShowIgnored();
  ~ShowIgnored();
  ShowIgnored(const ShowIgnored&) = delete;
  ShowIgnored& operator=(const ShowIgnored&) = delete;
};

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_IGNORED_SIGNALS_H_
