// The session behind the handle: one that samples, or one that is fed.
#ifndef HBBP_LIB_CAPI_SESSION_HANDLE_H_
#define HBBP_LIB_CAPI_SESSION_HANDLE_H_

#include <hbbp/session.h>

#include <memory>
#include <utility>

#include "session/feed.h"
#include "session/session.h"

struct hbbp_session {
  explicit hbbp_session(std::unique_ptr<hbbp::Session> session) : live(std::move(session)) {}
  explicit hbbp_session(std::shared_ptr<hbbp::Feed> session) : fed(std::move(session)) {}

  // One of them is NULL.
  const std::unique_ptr<hbbp::Session> live;
  const std::shared_ptr<hbbp::Feed> fed;  // also of the backends plugged into it
};

#endif  // HBBP_LIB_CAPI_SESSION_HANDLE_H_
