// Screen takes the terminal for a view that is drawn again and again: another screen than that of
// the shell, without a cursor, and keys that arrive one by one and are not shown.
#ifndef HBBP_TOOLS_TOP_SCREEN_H_
#define HBBP_TOOLS_TOP_SCREEN_H_

#include <termios.h>

#include <cstddef>
#include <string>

namespace hbbp::tools {

class Screen {
 public:
  struct Size {
    size_t columns = 0;
    size_t lines = 0;
  };

  Screen() = default;
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() { Leave(); }

  // Both may be called again. Enter also repairs what another process changed meanwhile.
  void Enter();
  void Leave();

  static Size size();

  // Returns a descriptor to poll for keys, or -1.
  int keys() const { return has_keys_ ? 0 : -1; }
  // Reads what was typed, and returns whether that quits.
  bool ReadQuit();

 private:
  bool is_entered_ = false;
  bool has_keys_ = false;
  bool has_saved_ = false;
  termios saved_ = {};
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TOP_SCREEN_H_
