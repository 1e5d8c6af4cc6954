// The session behind the handle.
#ifndef HBBP_LIB_CAPI_SESSION_HANDLE_H_
#define HBBP_LIB_CAPI_SESSION_HANDLE_H_

#include <hbbp/session.h>

#include <memory>
#include <utility>

#include "session/session.h"

struct hbbp_session {
  hbbp_session(std::unique_ptr<hbbp::Session> given, bool may_trace)
      : session(std::move(given)), may_trace_branches(may_trace) {}

  const std::unique_ptr<hbbp::Session> session;
  const bool may_trace_branches;
};

#endif  // HBBP_LIB_CAPI_SESSION_HANDLE_H_
