// The session that the environment asks for. A program that has libhbbp.so has it; one that has the
// archive inside does not.
#ifndef HBBP_LIB_CAPI_ENVIRONMENT_H_
#define HBBP_LIB_CAPI_ENVIRONMENT_H_

#include <atomic>

namespace hbbp::capi {

// Is called before a session starts that traces branches, which only one of a process can. nullptr:
// the environment asked for no session.
using YieldToHost = void (*)();
extern std::atomic<YieldToHost> yield_to_host;

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_ENVIRONMENT_H_
