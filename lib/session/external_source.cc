#include "session/external_source.h"

#include <new>
#include <utility>

namespace hbbp {
namespace {

// Sets the runner while a call runs, also if it throws.
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

ExternalSourceDriver::ExternalSourceDriver(std::string name, std::unique_ptr<ExternalSource> source)
    : name_(std::move(name)), source_(std::move(source)) {}

ExternalSourceDriver::~ExternalSourceDriver() {
  const RunnerMark mark(&runner_);
  if (state_ != State::kStopped) static_cast<void>(source_->Stop(feed_));
  source_.reset();
}

template <typename Body>
Status ExternalSourceDriver::Run(const char* what, Body&& body) {
  if (IsInCall()) {
    return MakeStatus(StatusCode::kInvalidState, "%s: %s: called by a callback of the same backend",
                      name_.c_str(), what);
  }
  std::lock_guard lock(mutex_);
  const RunnerMark mark(&runner_);
  const Status status = body();
  return status.ok() ? status : status.Annotate(name_ + ": " + what);
}

Status ExternalSourceDriver::Start(Feed* feed) {
  return Run("start", [this, feed]() -> Status {
    if (state_ != State::kStopped) return WrongState("it is started already");
    feed_ = feed;
    HBBP_RETURN_IF_ERROR(source_->Start(feed_));
    state_ = State::kStarted;
    return OkStatus();
  });
}

Status ExternalSourceDriver::Drain(bool* has_ended) {
  return Run("drain", [this, has_ended]() -> Status {
    *has_ended = state_ == State::kEnded;
    if (*has_ended) return OkStatus();
    if (state_ == State::kStopped) return WrongState("it is not started");
    HBBP_RETURN_IF_ERROR(source_->Drain(feed_, has_ended));
    if (*has_ended) state_ = State::kEnded;
    return OkStatus();
  });
}

Status ExternalSourceDriver::Stop() {
  return Run("stop", [this]() -> Status {
    if (state_ == State::kStopped) return WrongState("it is not started");
    state_ = State::kStopped;
    return source_->Stop(feed_);
  });
}

// A thread that is not in the child may have held the lock.
void ExternalSourceDriver::ResetInChild() {
  new (&mutex_) std::mutex();
  if (!IsInCall()) runner_ = std::thread::id();
  state_ = State::kStopped;
}

}  // namespace hbbp
