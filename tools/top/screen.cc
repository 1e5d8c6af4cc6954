#include "top/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace hbbp::tools {
namespace {

// Alternate screen, no cursor, and lines that are too long are not continued on the next.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[?7l\033[H\033[J";
constexpr std::string_view kLeave = "\033[?7h\033[?25h\033[?1049l";

void WriteToTerminal(std::string_view text) {
  // A terminal that is gone needs no more.
  (void)!::write(STDOUT_FILENO, text.data(), text.size());
}

}  // namespace

void Screen::Enter() {
  termios now = {};
  if (::tcgetattr(STDIN_FILENO, &now) == 0) {
    if (!is_entered_) saved_ = now;
    has_saved_ = true;
    has_keys_ = true;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    (void)::tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  WriteToTerminal(kEnter);
  is_entered_ = true;
}

void Screen::Leave() {
  if (!is_entered_) return;
  WriteToTerminal(kLeave);
  if (has_saved_) (void)::tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_);
  is_entered_ = false;
}

Screen::Size Screen::size() {
  constexpr Size kUsual = {80, 24};
  winsize window = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0) return kUsual;
  return {window.ws_col == 0 ? kUsual.columns : window.ws_col,
          window.ws_row == 0 ? kUsual.lines : window.ws_row};
}

bool Screen::ReadQuit() {
  char keys[64];
  const ssize_t size = ::read(STDIN_FILENO, keys, sizeof keys);
  if (size <= 0) {
    has_keys_ = size < 0 && errno == EINTR;
    return false;
  }
  const std::string_view typed(keys, static_cast<size_t>(size));
  return typed.find_first_of("qQ") != std::string_view::npos;
}

}  // namespace hbbp::tools
