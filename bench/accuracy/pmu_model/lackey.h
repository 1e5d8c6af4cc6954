// Parses the output of valgrind's lackey: a line for each instruction and each access to memory.
//
//   I  00401920,2
//    L 1fff0006a0,8
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_LACKEY_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_LACKEY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pmu_model/trace.h"

namespace hbbp::simulation {

// Returns the address in the line of an instruction, or nothing for any other line.
std::optional<uint64_t> InstructionOfLackeyLine(std::string_view line);

// Splits text that comes in pieces into lines.
class LineSplitter {
 public:
  // Calls take(line) for each line that `piece` completes. Returns false as soon as `take` does.
  template <typename Take>
  bool Add(std::string_view piece, Take take) {
    while (true) {
      const size_t end = piece.find('\n');
      if (end == std::string_view::npos) {
        if (rest_.size() < kMaxLine) rest_.append(piece.substr(0, kMaxLine));
        return true;
      }
      bool goes_on;
      if (rest_.empty()) {
        goes_on = take(piece.substr(0, end));
      } else {
        rest_.append(piece.substr(0, end));
        goes_on = take(rest_);
        rest_.clear();
      }
      if (!goes_on) return false;
      piece.remove_prefix(end + 1);
    }
  }

 private:
  // Longer ones are not lackey's, and are cut.
  static constexpr size_t kMaxLine = 4096;
  std::string rest_;
};

// See tracer.h.
StatusOr<Trace> TraceByLackey(const std::vector<std::string>& command, uint64_t max_instructions);

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_LACKEY_H_
