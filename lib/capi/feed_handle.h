// The feed behind the handle: one that the host made, or one that a session hands to a host's
// source.
#ifndef HBBP_LIB_CAPI_FEED_HANDLE_H_
#define HBBP_LIB_CAPI_FEED_HANDLE_H_

#include <hbbp/feed.h>

#include <memory>
#include <utility>

#include "session/feed.h"

struct hbbp_feed {
  explicit hbbp_feed(std::unique_ptr<hbbp::Feed> given) : owned(std::move(given)), feed(*owned) {}
  explicit hbbp_feed(hbbp::Feed* of_session) : feed(*of_session) {}

  const std::unique_ptr<hbbp::Feed> owned;  // null: it is the session's
  hbbp::Feed& feed;
};

#endif  // HBBP_LIB_CAPI_FEED_HANDLE_H_
