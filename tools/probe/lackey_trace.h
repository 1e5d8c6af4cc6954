// LackeyTrace reads what `valgrind --tool=lackey --trace-mem=yes` prints: a line "I  address,size"
// for each executed instruction, and after it " L", " S" or " M" for its accesses to memory.
#ifndef HBBP_TOOLS_PROBE_LACKEY_TRACE_H_
#define HBBP_TOOLS_PROBE_LACKEY_TRACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace hbbp::tools {

class LackeyTrace {
 public:
  struct Step {
    uint64_t pc = 0;
    uint64_t next = 0;  // 0: none
    // Of the first access; 0 if there is none.
    uint64_t address = 0;
    uint64_t size = 0;
  };

  explicit LackeyTrace(std::function<void(const Step&)> on_step) : on_step_(std::move(on_step)) {}

  // Takes the next part of the text, which may end within a line.
  void Feed(std::string_view text);
  // Reports the last instruction.
  void Finish();

  // Returns the last line that is something else, such as a message of valgrind.
  const std::string& last_message() const { return last_message_; }

 private:
  void ReadLine(std::string_view line);

  std::function<void(const Step&)> on_step_;
  std::string partial_line_;
  Step step_;
  bool has_step_ = false;
  std::string last_message_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_LACKEY_TRACE_H_
