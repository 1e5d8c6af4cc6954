// PluggedSource: when a source that a host has written is started, drained and stopped.
#ifndef HBBP_LIB_SESSION_PLUGGED_SOURCE_H_
#define HBBP_LIB_SESSION_PLUGGED_SOURCE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"

namespace hbbp {

// What the host has written. Called by one thread at a time.
class HostSource {
 public:
  virtual ~HostSource() = default;
  virtual Status Start() = 0;
  virtual Status Drain(bool* has_ended) = 0;
  virtual Status Stop() = 0;
};

// Any thread, but in the source itself every call fails: it would wait for its own end.
class PluggedSource {
 public:
  PluggedSource(std::string name, std::unique_ptr<HostSource> source);
  // Stops it if needed.
  ~PluggedSource();
  PluggedSource(const PluggedSource&) = delete;
  PluggedSource& operator=(const PluggedSource&) = delete;

  Status Start();
  // Does nothing once the source has ended.
  Status Drain(bool* has_ended);
  // The source is stopped afterwards, whether it says so or not.
  Status Stop();

 private:
  enum class State { kStopped, kStarted, kEnded };

  // Calls `body` alone, and tells of a failure by the names of the source and `what`.
  template <typename Body>
  Status Run(const char* what, Body&& body);

  const std::string name_;
  std::unique_ptr<HostSource> source_;
  std::atomic<std::thread::id> runner_;  // whose call this is; set under mutex_
  std::mutex mutex_;
  State state_ = State::kStopped;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_PLUGGED_SOURCE_H_
