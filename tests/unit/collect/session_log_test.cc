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

TEST_CASE("messages wait for Flush, in order, as far as they are wanted") {
  Messages told;
  SessionLog log({[&](LogLevel level, const char* text) { told.emplace_back(level, text); },
                  LogLevel::kWarning});
  log.Log(LogLevel::kWarning, "%d\nlines", 2);
  log.Log(LogLevel::kInfo, "not wanted");
  log.Log(LogLevel::kError, "last");
  CHECK(told.empty());
  log.Flush();
  CHECK(told == Messages{{LogLevel::kWarning, "2 lines"}, {LogLevel::kError, "last"}});
  log.Flush();
  CHECK(told.size() == 2);
}

TEST_CASE("what is said during a message comes behind it, without recursion") {
  Messages told;
  int depth = 0;
  SessionLog* itself = nullptr;
  SessionLog log({[&](LogLevel level, const char* text) {
                    CHECK(++depth == 1);
                    told.emplace_back(level, text);
                    if (told.size() < 3) itself->Log(LogLevel::kInfo, "again");
                    itself->Flush();
                    --depth;
                  },
                  LogLevel::kInfo});
  itself = &log;
  log.Log(LogLevel::kInfo, "first");
  log.Flush();
  CHECK(told.size() == 3);
}

TEST_CASE("messages that nobody fetches are bounded") {
  int told = 0;
  SessionLog log({[&](LogLevel, const char*) { ++told; }, LogLevel::kInfo});
  for (int i = 0; i < 100'000; ++i) log.Log(LogLevel::kInfo, "%d", i);
  log.Flush();
  CHECK(told == 256);
  SessionLog nobody({});
  nobody.Log(LogLevel::kError, "unheard");
  nobody.Flush();
}

TEST_CASE("a message of any length is one line, cut where it is too long") {
  Messages told;
  SessionLog log(
      {[&](LogLevel level, const char* text) { told.emplace_back(level, text); }, LogLevel::kInfo});
  log.Log(LogLevel::kInfo, "%s", std::string(5000, '\n').c_str());
  log.Log(LogLevel::kInfo, "%s", "");
  log.Flush();
  CHECK(told ==
        Messages{{LogLevel::kInfo, std::string(1023, ' ')}, {LogLevel::kInfo, std::string()}});
}

TEST_CASE("who tells a message knows it, and nobody else") {
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

TEST_CASE("a log that is silenced ends with the message that is told, which can be waited for") {
  std::atomic<int> told{0};
  std::atomic<bool> is_over{false};
  SessionLog* itself = nullptr;
  SessionLog log({[&](LogLevel, const char*) {
                    itself->Silence();
                    ++told;
                    std::this_thread::sleep_for(std::chrono::milliseconds(50));
                    is_over = true;
                  },
                  LogLevel::kInfo});
  itself = &log;
  log.WaitUntilFlushed();
  log.Log(LogLevel::kInfo, "told");
  log.Log(LogLevel::kInfo, "not told");
  std::thread teller([&] { log.Flush(); });
  while (told == 0) std::this_thread::yield();
  log.WaitUntilFlushed();
  CHECK(is_over);
  teller.join();
  CHECK(told == 1);
}

TEST_CASE("nobody is in the middle of a message during a fork") {
  int told = 0;
  SessionLog log({[&](LogLevel, const char*) { ++told; }, LogLevel::kInfo});
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
  CHECK(told == 1);
}

}  // namespace
}  // namespace hbbp
