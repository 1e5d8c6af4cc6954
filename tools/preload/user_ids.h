// The user and the groups of the worker.
#ifndef HBBP_TOOLS_PRELOAD_USER_IDS_H_
#define HBBP_TOOLS_PRELOAD_USER_IDS_H_

namespace hbbp::preload {

// Gives the worker, which calls it, the user and the groups that the main thread has by now.
void FollowUserOfProgram();

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_USER_IDS_H_
