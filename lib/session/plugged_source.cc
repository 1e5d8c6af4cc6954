#include "session/plugged_source.h"

#include <utility>

namespace hbbp {
namespace {

// While a call runs, also one that throws.
class RunnerMark {
 public:
  explicit RunnerMark(std::atomic<std::thread::id>* runner) : runner_(*runner) {
    runner_ = std::this_thread::get_id();
  }
  ~RunnerMark() { runner_ = std::thread::id(); }
  RunnerMark(const RunnerMark&) = delete;
  RunnerMark& operator=(const RunnerMark&) = delete;

 private:
  std::atomic<std::thread::id>& runner_;
};

Status WrongState(const char* what) { return {StatusCode::kInvalidState, what}; }

}  // namespace

PluggedSource::PluggedSource(std::string name, std::unique_ptr<HostSource> source)
    : name_(std::move(name)), source_(std::move(source)) {}

PluggedSource::~PluggedSource() {
  const RunnerMark mark(&runner_);
  if (state_ != State::kStopped) static_cast<void>(source_->Stop());
  source_.reset();
}

template <typename Body>
Status PluggedSource::Run(const char* what, Body&& body) {
  if (runner_ == std::this_thread::get_id()) {
    return MakeStatus(StatusCode::kInvalidState, "%s: %s: called by a callback of the same backend",
                      name_.c_str(), what);
  }
  std::lock_guard lock(mutex_);
  const RunnerMark mark(&runner_);
  const Status status = body();
  return status.ok() ? status : status.Annotate(name_ + ": " + what);
}

Status PluggedSource::Start() {
  return Run("start", [this]() -> Status {
    if (state_ != State::kStopped) return WrongState("it is started already");
    HBBP_RETURN_IF_ERROR(source_->Start());
    state_ = State::kStarted;
    return OkStatus();
  });
}

Status PluggedSource::Drain(bool* has_ended) {
  return Run("drain", [this, has_ended]() -> Status {
    *has_ended = state_ == State::kEnded;
    if (*has_ended) return OkStatus();
    if (state_ == State::kStopped) return WrongState("it is not started");
    HBBP_RETURN_IF_ERROR(source_->Drain(has_ended));
    if (*has_ended) state_ = State::kEnded;
    return OkStatus();
  });
}

Status PluggedSource::Stop() {
  return Run("stop", [this]() -> Status {
    if (state_ == State::kStopped) return WrongState("it is not started");
    state_ = State::kStopped;
    return source_->Stop();
  });
}

}  // namespace hbbp
