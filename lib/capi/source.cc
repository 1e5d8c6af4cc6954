#include <hbbp/source.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "capi/boundary.h"
#include "capi/feed_handle.h"
#include "capi/session_handle.h"
#include "session/external_source.h"

using hbbp::Feed;
using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

namespace {

// Makes one of the library's own errors of what a callback returned.
Status ReadStatus(hbbp_status status, const hbbp_error& error) {
  if (status == HBBP_OK) return OkStatus();
  if (status > HBBP_OK || status < HBBP_ERROR_CANCELLED) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "the callback returned %d, which is not a status", status);
  }
  std::string message(error.message, ::strnlen(error.message, sizeof(error.message)));
  std::replace(message.begin(), message.end(), '\n', ' ');
  return {static_cast<StatusCode>(status), message.empty() ? hbbp_status_name(status) : message};
}

class CallbackSource : public hbbp::ExternalSource {
 public:
  CallbackSource(const hbbp_source_ops& ops, void* context) : ops_(ops), context_(context) {}
  ~CallbackSource() override {
    if (owns_context_ && ops_.destroy != nullptr) ops_.destroy(context_);
  }
  CallbackSource(const CallbackSource&) = delete;
  CallbackSource& operator=(const CallbackSource&) = delete;

  void OwnContext() { owns_context_ = true; }

  Status Start(Feed* feed) override {
    feed_ = std::make_unique<hbbp_feed>(feed);
    HBBP_INIT(hbbp_error, error);
    const hbbp_status status = ops_.start(context_, feed_.get(), &error);
    return ReadStatus(status, error);
  }
  Status Drain(Feed* /*feed*/, bool* has_ended) override {
    *has_ended = false;
    if (ops_.drain == nullptr) return OkStatus();
    HBBP_INIT(hbbp_error, error);
    uint32_t ended = 0;
    const hbbp_status status = ops_.drain(context_, feed_.get(), &ended, &error);
    *has_ended = status == HBBP_OK && ended != 0;
    return ReadStatus(status, error);
  }
  Status Stop(Feed* /*feed*/) override {
    HBBP_INIT(hbbp_error, error);
    const hbbp_status status = ops_.stop(context_, feed_.get(), &error);
    return ReadStatus(status, error);
  }

 private:
  const hbbp_source_ops ops_;
  void* const context_;
  bool owns_context_ = false;
  std::unique_ptr<hbbp_feed> feed_;  // of this run
};

Status CheckOps(const hbbp_source_ops& ops) {
  const char* const missing = ops.name == nullptr    ? "name"
                              : ops.start == nullptr ? "start"
                              : ops.stop == nullptr  ? "stop"
                                                     : nullptr;
  if (missing != nullptr) return NullArgument("hbbp_source_ops", missing);
  return CheckReserved("hbbp_source_ops.reserved", ops.reserved);
}

}  // namespace

HBBP_API hbbp_status hbbp_session_add_source(hbbp_session* session, const hbbp_source_ops* ops,
                                             void* context, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_session_add_source";
    if (session == nullptr) return NullArgument(kFunction, "session");
    if (ops == nullptr) return NullArgument(kFunction, "ops");
    hbbp_source_ops full;
    HBBP_RETURN_IF_ERROR(ReadInput(ops, "hbbp_source_ops", &full));
    HBBP_RETURN_IF_ERROR(CheckOps(full));
    auto source = std::make_unique<CallbackSource>(full, context);
    CallbackSource* const added = source.get();
    HBBP_RETURN_IF_ERROR(session->session->AddExternalSource(full.name, std::move(source)));
    added->OwnContext();
    return OkStatus();
  });
}
