// A program that is run by posix_spawn, system or popen inherits which signals are ignored, but not
// for the signals that are shared with branch tracing: glibc makes the child by system calls of its
// own, and the kernel has our handler for these. So the environment names them to the library in
// the child, which ignores them before the program begins.
#ifndef HBBP_TOOLS_PRELOAD_IGNORED_SIGNALS_H_
#define HBBP_TOOLS_PRELOAD_IGNORED_SIGNALS_H_

#include <spawn.h>

#include <cstddef>

#include "preload/preload_variable.h"

namespace hbbp::preload {

// Returns whether a child with these attributes (nullptr: none) must get the variable.
bool MustAnnounceIgnored(Variables environment, const posix_spawnattr_t* attributes);

inline constexpr size_t kIgnoredTextBytes = 64;

// Returns `environment` with the signals that a child with these attributes must ignore, in `copy`,
// which has room for EnvironmentCount pointers, and `text`.
Variables AnnounceIgnored(Variables environment, const posix_spawnattr_t* attributes, char** copy,
                          char* text);

// While it lives, the environment of this process has them, for functions that pass that one on.
class ShowIgnored {
 public:
  ShowIgnored();
  ~ShowIgnored();
  ShowIgnored(const ShowIgnored&) = delete;
  ShowIgnored& operator=(const ShowIgnored&) = delete;
};

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_IGNORED_SIGNALS_H_
