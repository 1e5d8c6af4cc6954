#include <hbbp/experimental/backend.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "capi/boundary.h"
#include "capi/session_handle.h"
#include "session/external_source.h"

using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

namespace {

// What a callback said, as one of the library's own errors.
Status StatusOf(hbbp_status status, const hbbp_error& error) {
  if (status == HBBP_OK) return OkStatus();
  if (status > HBBP_OK || status < HBBP_ERROR_CANCELLED) {
    return MakeStatus(StatusCode::kInvalidArgument, "the callback returned %d, which is no status",
                      status);
  }
  std::string message(error.message, ::strnlen(error.message, sizeof(error.message)));
  std::replace(message.begin(), message.end(), '\n', ' ');
  return {static_cast<StatusCode>(status), message.empty() ? hbbp_status_name(status) : message};
}

class CallbackSource : public hbbp::ExternalSource {
 public:
  CallbackSource(const hbbp_experimental_backend_ops& ops, void* context,
                 std::shared_ptr<hbbp::Feed> session)
      : ops_(ops), context_(context), session_(std::move(session)) {}
  ~CallbackSource() override {
    if (owns_context_ && ops_.destroy != nullptr) ops_.destroy(context_);
  }
  CallbackSource(const CallbackSource&) = delete;
  CallbackSource& operator=(const CallbackSource&) = delete;

  void OwnContext() { owns_context_ = true; }

  Status Start(hbbp::Feed* /*feed*/) override {
    HBBP_INIT(hbbp_error, error);
    const hbbp_status status = ops_.start(context_, &session_, &error);
    return StatusOf(status, error);
  }
  Status Drain(hbbp::Feed* /*feed*/, bool* has_ended) override {
    HBBP_INIT(hbbp_error, error);
    uint32_t ended = 0;
    const hbbp_status status = ops_.drain(context_, &session_, &ended, &error);
    *has_ended = status == HBBP_OK && ended != 0;
    return StatusOf(status, error);
  }
  Status Stop(hbbp::Feed* /*feed*/) override {
    HBBP_INIT(hbbp_error, error);
    const hbbp_status status = ops_.stop(context_, &session_, &error);
    return StatusOf(status, error);
  }

 private:
  const hbbp_experimental_backend_ops ops_;
  void* const context_;
  bool owns_context_ = false;
  hbbp_session session_;  // another handle of the host's
};

Status CheckOps(const hbbp_experimental_backend_ops& ops) {
  if (ops.version != HBBP_EXPERIMENTAL_BACKEND_VERSION) {
    return MakeStatus(StatusCode::kVersion,
                      "hbbp_experimental_backend_ops.version is %u; libhbbp %s has version %d: "
                      "compile the backend for the release that it runs with",
                      ops.version, HBBP_VERSION_STRING, HBBP_EXPERIMENTAL_BACKEND_VERSION);
  }
  const char* const missing = ops.name == nullptr    ? "name"
                              : ops.start == nullptr ? "start"
                              : ops.drain == nullptr ? "drain"
                              : ops.stop == nullptr  ? "stop"
                                                     : nullptr;
  if (missing == nullptr) return OkStatus();
  return NullArgument("hbbp_experimental_backend_ops", missing);
}

}  // namespace

struct hbbp_experimental_backend {
  hbbp_experimental_backend(std::string name, std::unique_ptr<hbbp::ExternalSource> host)
      : source(std::move(name), std::move(host)) {}

  hbbp::ExternalSourceDriver source;
};

extern "C" {

HBBP_API hbbp_status hbbp_experimental_backend_create(hbbp_session* session,
                                                      const hbbp_experimental_backend_ops* ops,
                                                      void* context,
                                                      hbbp_experimental_backend** backend,
                                                      hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kName[] = "hbbp_experimental_backend_create";
    if (session == nullptr) return NullArgument(kName, "session");
    if (ops == nullptr) return NullArgument(kName, "ops");
    if (backend == nullptr) return NullArgument(kName, "backend");
    if (session->fed == nullptr) {
      return MakeStatus(StatusCode::kInvalidState,
                        "%s: this session samples by itself; plug backends into one that "
                        "hbbp_session_create_fed made",
                        kName);
    }
    hbbp_experimental_backend_ops full;
    HBBP_RETURN_IF_ERROR(ReadInput(ops, "hbbp_experimental_backend_ops", &full));
    HBBP_RETURN_IF_ERROR(CheckOps(full));
    std::string name(full.name);  // checked above; NOLINT(*-cplusplus.StringChecker)
    full.name = nullptr;
    auto source = std::make_unique<CallbackSource>(full, context, session->fed);
    CallbackSource* const plugged = source.get();
    *backend = new hbbp_experimental_backend(std::move(name), std::move(source));
    plugged->OwnContext();
    return OkStatus();
  });
}

HBBP_API void hbbp_experimental_backend_destroy(hbbp_experimental_backend* backend) {
  delete backend;
}

HBBP_API hbbp_status hbbp_experimental_backend_start(hbbp_experimental_backend* backend,
                                                     hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (backend == nullptr) return NullArgument("hbbp_experimental_backend_start", "backend");
    return backend->source.Start(nullptr);
  });
}

HBBP_API hbbp_status hbbp_experimental_backend_drain(hbbp_experimental_backend* backend,
                                                     uint32_t* has_ended, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (backend == nullptr) return NullArgument("hbbp_experimental_backend_drain", "backend");
    bool ended = false;
    Status status = backend->source.Drain(&ended);
    if (has_ended != nullptr) *has_ended = ended ? 1 : 0;
    return status;
  });
}

HBBP_API hbbp_status hbbp_experimental_backend_stop(hbbp_experimental_backend* backend,
                                                    hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (backend == nullptr) return NullArgument("hbbp_experimental_backend_stop", "backend");
    return backend->source.Stop();
  });
}

}  // extern "C"
