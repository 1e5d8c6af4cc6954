#include "collect/session_log.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Messages = std::vector<std::pair<LogLevel, std::string>>;

TEST_CASE("messages of the wanted levels wait for Flush, in order") {
  Messages messages;
  SessionLog log({[&](LogLevel level, const char* text) { messages.emplace_back(level, text); },
                  LogLevel::kWarning});
  log.Log(LogLevel::kWarning, "%d\nlines", 2);
  log.Log(LogLevel::kInfo, "not wanted");
  log.Log(LogLevel::kError, "last");
  CHECK(messages.empty());
  log.Flush();
  CHECK(messages == Messages{{LogLevel::kWarning, "2 lines"}, {LogLevel::kError, "last"}});
  log.Flush();
  CHECK(messages.size() == 2);
}

TEST_CASE("a message that is logged by the listener follows later, without recursion") {
  Messages messages;
  int depth = 0;
  SessionLog* itself = nullptr;
  SessionLog log({[&](LogLevel level, const char* text) {
                    CHECK(++depth == 1);
                    messages.emplace_back(level, text);
                    if (messages.size() < 3) itself->Log(LogLevel::kInfo, "again");
                    itself->Flush();
                    --depth;
                  },
                  LogLevel::kInfo});
  itself = &log;
  log.Log(LogLevel::kInfo, "first");
  log.Flush();
  CHECK(messages.size() == 3);
}

TEST_CASE("messages that no one flushes are bounded") {
  int messages = 0;
  SessionLog log({[&](LogLevel, const char*) { ++messages; }, LogLevel::kInfo});
  for (int i = 0; i < 100'000; ++i) log.Log(LogLevel::kInfo, "%d", i);
  log.Flush();
  CHECK(messages == 256);
  SessionLog silent({});
  silent.Log(LogLevel::kError, "unheard");
  silent.Flush();
}

TEST_CASE("a message of any length is one line, cut where it is too long") {
  Messages messages;
  SessionLog log({[&](LogLevel level, const char* text) { messages.emplace_back(level, text); },
                  LogLevel::kInfo});
  log.Log(LogLevel::kInfo, "%s", std::string(5000, '\n').c_str());
  log.Log(LogLevel::kInfo, "%s", "");
  log.Flush();
  CHECK(messages ==
        Messages{{LogLevel::kInfo, std::string(1023, ' ')}, {LogLevel::kInfo, std::string()}});
}

TEST_CASE("the thread that is in the listener knows it, and no other") {
  bool inside = false, elsewhere = true;
  SessionLog* itself = nullptr;
  SessionLog log({[&](LogLevel, const char*) {
                    inside = itself->IsInMessage();
                    std::thread([&] { elsewhere = itself->IsInMessage(); }).join();
                  },
                  LogLevel::kInfo});
  itself = &log;
  log.Log(LogLevel::kInfo, "one");
  CHECK_FALSE(log.IsInMessage());
  log.Flush();
  CHECK(inside);
  CHECK_FALSE(elsewhere);
  CHECK_FALSE(log.IsInMessage());
}

TEST_CASE("a silenced log ends with the message in the listener, which can be waited for") {
  std::atomic<int> messages{0};
  std::atomic<bool> is_over{false};
  SessionLog* itself = nullptr;
  SessionLog log({[&](LogLevel, const char*) {
                    itself->Silence();
                    ++messages;
                    std::this_thread::sleep_for(std::chrono::milliseconds(50));
                    is_over = true;
                  },
                  LogLevel::kInfo});
  itself = &log;
  log.WaitUntilFlushed();
  log.Log(LogLevel::kInfo, "passed on");
  log.Log(LogLevel::kInfo, "dropped");
  std::thread flusher([&] { log.Flush(); });
  while (messages == 0) std::this_thread::yield();
  log.WaitUntilFlushed();
  CHECK(is_over);
  flusher.join();
  CHECK(messages == 1);
}

TEST_CASE("no thread is in the middle of a message during a fork") {
  int messages = 0;
  SessionLog log({[&](LogLevel, const char*) { ++messages; }, LogLevel::kInfo});
  std::atomic<bool> is_said{false};
  log.LockForFork();
  std::thread other([&] {
    log.Log(LogLevel::kInfo, "said");
    is_said = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(is_said);
  log.UnlockAfterFork();
  other.join();
  log.Flush();
  CHECK(messages == 1);
}

}  // namespace
}  // namespace hbbp
