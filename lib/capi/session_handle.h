// The session behind the handle.
#ifndef HBBP_LIB_CAPI_SESSION_HANDLE_H_
#define HBBP_LIB_CAPI_SESSION_HANDLE_H_

#include <hbbp/session.h>

#include <memory>
#include <utility>

#include "session/session.h"

struct hbbp_session {
  explicit hbbp_session(std::unique_ptr<hbbp::Session> given) : session(std::move(given)) {}

  const std::unique_ptr<hbbp::Session> session;
};

#endif  // HBBP_LIB_CAPI_SESSION_HANDLE_H_
