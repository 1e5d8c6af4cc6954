#include "pager.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "format.h"

namespace hbbp::tools {
namespace {

// The status by which a shell says that a command does not exist.
constexpr int kNoSuchCommand = 127;

// Returns what the user's variables name; null: nothing.
const char* ChosenPager() {
  for (const char* const variable : {"HBBP_PAGER", "PAGER"}) {
    if (const char* const pager = std::getenv(variable)) return pager;
  }
  return nullptr;
}

bool IsLess(std::string_view pager) { return BaseName(pager.substr(0, pager.find(' '))) == "less"; }

std::string CommandLine(const char* chosen, size_t line) {
  std::string pager = chosen == nullptr ? "less" : chosen;
  if (IsLess(pager)) pager += " +" + std::to_string(line + 1);
  if (chosen != nullptr) return pager;
  return "if command -v less >/dev/null; then exec " + pager + "; else exec cat; fi";
}

class IgnoredSignals {
 public:
  explicit IgnoredSignals(std::initializer_list<int> numbers) {
    for (const int number : numbers) handlers_.emplace_back(number, std::signal(number, SIG_IGN));
  }
  IgnoredSignals(const IgnoredSignals&) = delete;
  IgnoredSignals& operator=(const IgnoredSignals&) = delete;
  ~IgnoredSignals() {
    for (const auto& [number, handler] : handlers_) std::signal(number, handler);
  }

 private:
  std::vector<std::pair<int, void (*)(int)>> handlers_;
};

}  // namespace

bool CanPage() {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

int ShowInPager(std::string_view command, std::string_view text, size_t line) {
  const char* const chosen = ChosenPager();
  if (chosen != nullptr && (*chosen == '\0' || std::strcmp(chosen, "cat") == 0)) {
    return WriteOutput(command, text);
  }
  // Colours are kept, long lines are cut, the text stays on the screen, and one that fits needs no
  // key to leave.
  ::setenv("LESS", "FRSX", 0);
  std::FILE* const pager = ::popen(CommandLine(chosen, line).c_str(), "w");
  if (pager == nullptr) return WriteOutput(command, text);
  int status;
  {
    // Interrupts from the keyboard are for the pager, which this process must outlive; and a pager
    // that is left before it has read everything is not a failure.
    const IgnoredSignals ignored({SIGINT, SIGQUIT, SIGPIPE});
    (void)std::fwrite(text.data(), 1, text.size(), pager);
    status = ::pclose(pager);
  }
  const bool is_missing = WIFEXITED(status) && WEXITSTATUS(status) == kNoSuchCommand;
  return is_missing ? WriteOutput(command, text) : kExitSuccess;
}

}  // namespace hbbp::tools
