// ExternalSource: a source that a host has written. ExternalSourceDriver sees to the order of its
// calls.
#ifndef HBBP_LIB_SESSION_EXTERNAL_SOURCE_H_
#define HBBP_LIB_SESSION_EXTERNAL_SOURCE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"

namespace hbbp {

class Feed;

// It is called by one thread at a time. The feed, which takes what the source finds, is valid from
// Start until Stop has returned, in any thread.
class ExternalSource {
 public:
  virtual ~ExternalSource() = default;
  virtual Status Start(Feed* feed) = 0;
  virtual Status Drain(Feed* feed, bool* has_ended) = 0;
  virtual Status Stop(Feed* feed) = 0;
};

// Any thread may call it, but in the source itself every call fails: it would wait for its own end.
class ExternalSourceDriver {
 public:
  ExternalSourceDriver(std::string name, std::unique_ptr<ExternalSource> source);
  // Stops it if needed.
  ~ExternalSourceDriver();
  ExternalSourceDriver(const ExternalSourceDriver&) = delete;
  ExternalSourceDriver& operator=(const ExternalSourceDriver&) = delete;

  // `feed` must outlive the run.
  Status Start(Feed* feed);
  // Does nothing once the source has ended.
  Status Drain(bool* has_ended);
  // The source is stopped afterwards, whether it says so or not.
  Status Stop();

  const std::string& name() const { return name_; }
  // Is the caller in a call of the source?
  bool IsInCall() const { return runner_ == std::this_thread::get_id(); }
  // Is called in the child of a fork, because the run is that of the parent.
  void ResetInChild();

 private:
  enum class State { kStopped, kStarted, kEnded };

  // Calls `body` alone, and annotates a failure with the names of the source and `what`.
  template <typename Body>
  Status Run(const char* what, Body&& body);

  const std::string name_;
  std::unique_ptr<ExternalSource> source_;
  std::atomic<std::thread::id> runner_;  // whose call this is; set under mutex_
  std::mutex mutex_;
  State state_ = State::kStopped;
  Feed* feed_ = nullptr;  // of this run
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_EXTERNAL_SOURCE_H_
