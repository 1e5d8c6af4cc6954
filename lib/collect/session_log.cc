#include "collect/session_log.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <new>

namespace hbbp {
namespace {

constexpr size_t kMaxWaiting = 256;

}  // namespace

void SessionLog::Log(LogLevel level, const char* format, ...) {
  if (!settings_.log || level > settings_.level) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (length < 0) return;
  std::replace(text, text + std::min<size_t>(static_cast<size_t>(length), sizeof(text)), '\n', ' ');
  std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMaxWaiting) return;
  try {
    waiting_.emplace_back(level, text);
  } catch (const std::bad_alloc&) {
    return;
  }
}

bool SessionLog::TakeFirst(std::pair<LogLevel, std::string>* message) {
  std::lock_guard lock(mutex_);
  is_flushing_ = !waiting_.empty() && !is_silent_;
  if (!is_flushing_) {
    flushed_.notify_all();
    return false;
  }
  *message = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

void SessionLog::Flush() {
  if (!settings_.log) return;
  {
    std::lock_guard lock(mutex_);
    if (is_flushing_) return;
    is_flushing_ = true;
  }
  std::pair<LogLevel, std::string> message;
  while (TakeFirst(&message)) {
    messenger_ = std::this_thread::get_id();
    settings_.log(message.first, message.second.c_str());
    messenger_ = std::thread::id();
  }
}

void SessionLog::WaitUntilFlushed() {
  std::unique_lock<std::mutex> lock(mutex_);
  flushed_.wait(lock, [this] { return !is_flushing_; });
}

void SessionLog::ResetInChild() {
  waiting_.clear();
  // Its destructor is not called, because it would wait for threads that do not exist in the child.
  new (&flushed_) std::condition_variable();
  if (IsInMessage()) return;
  is_flushing_ = false;
  messenger_ = std::thread::id();
}

}  // namespace hbbp
