// SignalQueue receives the signals that end, suspend or redraw a live view. They are blocked and
// wait in a descriptor, so that they interrupt nothing and are handled between two steps.
#ifndef HBBP_TOOLS_TOP_SIGNAL_QUEUE_H_
#define HBBP_TOOLS_TOP_SIGNAL_QUEUE_H_

#include <signal.h>

#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp::tools {

class SignalQueue {
 public:
  // Blocks the signals in the calling thread, except those that the process ignores, as under
  // nohup, and ignores SIGPIPE.
  static StatusOr<SignalQueue> Open();
  SignalQueue(SignalQueue&&) noexcept = default;

  // Becomes readable when a signal arrives.
  int fd() const { return fd_.get(); }
  // Reads the signals that have arrived.
  void Read();

  // SIGINT, SIGTERM, SIGHUP or SIGQUIT has arrived.
  bool quits() const { return quits_; }
  // Each returns true once for what has arrived since the last call.
  bool TakeSuspension() { return std::exchange(suspends_, false); }     // SIGTSTP
  bool TakeContinuation() { return std::exchange(continues_, false); }  // SIGCONT
  bool TakeResize() { return std::exchange(resizes_, false); }          // SIGWINCH

  // Stops this process, as SIGTSTP does by default, and returns when it continues.
  void Suspend();

 private:
  explicit SignalQueue(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  bool quits_ = false;
  bool suspends_ = false;
  bool continues_ = false;
  bool resizes_ = false;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TOP_SIGNAL_QUEUE_H_
