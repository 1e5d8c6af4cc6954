// LoggedLines records the messages that a host receives.
#ifndef HBBP_TESTS_SUPPORT_LOGGED_LINES_H_
#define HBBP_TESTS_SUPPORT_LOGGED_LINES_H_

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "collect/session_log.h"

namespace hbbp {

struct LoggedLines {
  std::mutex mutex;
  std::vector<std::string> messages;

  LogSettings settings(LogLevel level = LogLevel::kInfo) {
    return {[this](LogLevel, const char* text) {
              std::lock_guard lock(mutex);
              messages.emplace_back(text);
            },
            level};
  }
  int Count(const std::string& words) {
    std::lock_guard lock(mutex);
    return static_cast<int>(std::count_if(
        messages.begin(), messages.end(),
        [&words](const std::string& text) { return text.find(words) != std::string::npos; }));
  }
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_LOGGED_LINES_H_
