// Distinguishes the process that loaded the library, or a child of fork, from a child of vfork. The
// latter has the memory of its parent, but handlers and masks of its own: what it sets must not be
// remembered.
#ifndef HBBP_TOOLS_PRELOAD_OWN_PROCESS_H_
#define HBBP_TOOLS_PRELOAD_OWN_PROCESS_H_

namespace hbbp::preload {

// It is async-signal-safe.
bool IsOwnProcess();

// Returns true also in a child made by clone(CLONE_VM | CLONE_SIGHAND), which sets the handlers of
// both.
bool HasOwnHandlers();

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_OWN_PROCESS_H_
