// SessionLog: messages of a session, which wait until no lock is held.
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

namespace hbbp {

// The values are those of hbbp_log_level; capi/ asserts it.
enum class LogLevel : int { kError = 1, kWarning = 2, kInfo = 3, kDebug = 4 };

struct LogSettings {
  std::function<void(LogLevel, const char*)> log;  // empty: nobody listens
  LogLevel level = LogLevel::kInfo;                // the least urgent that is wanted
};

class SessionLog {
 public:
  explicit SessionLog(LogSettings settings) : settings_(std::move(settings)) {}

  bool has_listener() const { return settings_.log != nullptr; }

  // printf-style. May be called with locks held. A message that there is no memory for is lost.
  void Log(LogLevel level, const char* format, ...) __attribute__((format(printf, 3, 4)));

  // Hands over what waits, unless another thread is about it; then that thread does. Call it with
  // no lock held.
  void Flush();

  // Is the caller inside a message? There it must not wait for what waits for the message.
  bool IsInMessage() const { return messenger_ == std::this_thread::get_id(); }

  // The message that is being told is the last one.
  void Silence() { is_silent_ = true; }
  // Until no thread is in Flush any more.
  void WaitUntilFlushed();

  void LockForFork() { mutex_.lock(); }
  void UnlockAfterFork() { mutex_.unlock(); }
  // In the child of a fork, locked.
  void ResetInChild();

 private:
  bool TakeFirst(std::pair<LogLevel, std::string>* message);

  const LogSettings settings_;
  std::mutex mutex_;  // the last one to be taken
  std::deque<std::pair<LogLevel, std::string>> waiting_;
  bool is_flushing_ = false;
  std::condition_variable flushed_;  // is_flushing_ was taken back
  std::atomic<std::thread::id> messenger_;
  std::atomic<bool> is_silent_{false};
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_SESSION_LOG_H_
