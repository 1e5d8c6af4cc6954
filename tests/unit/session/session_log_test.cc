#include "session/session_log.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Messages = std::vector<std::pair<LogLevel, std::string>>;

TEST_CASE("messages wait for Flush, in order, as far as they are wanted") {
  Messages told;
  SessionLog log({[&](LogLevel level, const char* text) { told.emplace_back(level, text); },
                  LogLevel::kWarning});
  log.Say(LogLevel::kWarning, "%d\nlines", 2);
  log.Say(LogLevel::kInfo, "not wanted");
  log.Say(LogLevel::kError, "last");
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
                    if (told.size() < 3) itself->Say(LogLevel::kInfo, "again");
                    itself->Flush();
                    --depth;
                  },
                  LogLevel::kInfo});
  itself = &log;
  log.Say(LogLevel::kInfo, "first");
  log.Flush();
  CHECK(told.size() == 3);
}

TEST_CASE("messages that nobody fetches are bounded") {
  int told = 0;
  SessionLog log({[&](LogLevel, const char*) { ++told; }, LogLevel::kInfo});
  for (int i = 0; i < 100'000; ++i) log.Say(LogLevel::kInfo, "%d", i);
  log.Flush();
  CHECK(told == 256);
  SessionLog nobody({});
  nobody.Say(LogLevel::kError, "unheard");
  nobody.Flush();
}

}  // namespace
}  // namespace hbbp
