#include "session/session_log.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <new>

namespace hbbp {
namespace {

constexpr size_t kMostWaiting = 256;

}  // namespace

void SessionLog::Say(LogLevel level, const char* format, ...) {
  if (!settings_.log || level > settings_.level) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  std::replace(text, text + sizeof(text), '\n', ' ');
  std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMostWaiting) return;
  try {
    waiting_.emplace_back(level, text);
  } catch (const std::bad_alloc&) {
    return;
  }
}

bool SessionLog::TakeFirst(std::pair<LogLevel, std::string>* message) {
  std::lock_guard lock(mutex_);
  is_flushing_ = !waiting_.empty();
  if (!is_flushing_) return false;
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
  while (TakeFirst(&message)) settings_.log(message.first, message.second.c_str());
}

void SessionLog::Forget() {
  new (&mutex_) std::mutex();
  waiting_.clear();
  is_flushing_ = false;
}

}  // namespace hbbp
