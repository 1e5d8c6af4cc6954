// SessionLog queues the messages of a session until no lock is held.
#ifndef HBBP_LIB_COLLECT_SESSION_LOG_H_
#define HBBP_LIB_COLLECT_SESSION_LOG_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace hbbp {

// The values are those of hbbp_log_level; capi/ asserts it.
enum class LogLevel : int { kError = 1, kWarning = 2, kInfo = 3, kDebug = 4 };

struct LogSettings {
  std::function<void(LogLevel, const char*)> log;  // empty: there is no listener
  LogLevel level = LogLevel::kInfo;                // less urgent messages are dropped
};

class SessionLog {
 public:
  explicit SessionLog(LogSettings settings) : settings_(std::move(settings)) {}

  bool has_listener() const { return settings_.log != nullptr; }

  // Queues a message in the style of printf. It may be called with locks held. A message is dropped
  // if there is no memory for it, or if too many are waiting.
  void Log(LogLevel level, const char* format, ...) __attribute__((format(printf, 3, 4)));

  // Passes the waiting messages to the listener, unless another thread does that already. It must
  // be called with no lock held.
  void Flush();

  // Returns whether the caller is inside the listener, where it must not wait for WaitUntilFlushed.
  bool IsInMessage() const { return messenger_ == std::this_thread::get_id(); }

  // Drops all messages after the one that the listener has now.
  void Silence() { is_silent_ = true; }
  // Waits until no thread is in Flush any more.
  void WaitUntilFlushed();

  void LockForFork() { mutex_.lock(); }
  void UnlockAfterFork() { mutex_.unlock(); }
  // Is called in the child of a fork, with the log locked.
  void ResetInChild();

 private:
  bool TakeFirst(std::pair<LogLevel, std::string>* message);

  const LogSettings settings_;
  Mutex mutex_;  // always the last one to be taken
  std::deque<std::pair<LogLevel, std::string>> waiting_;
  bool is_flushing_ = false;
  std::condition_variable flushed_;  // is_flushing_ became false
  std::atomic<std::thread::id> messenger_;
  std::atomic<bool> is_silent_{false};
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_SESSION_LOG_H_
