// TraceBuilder makes a Trace from the addresses of instructions, in the order in which they ran.
//
// Tracers report each repetition of a string instruction, but it is one instruction here: the PMU
// counts it once.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_TRACE_BUILDER_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_TRACE_BUILDER_H_

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "pmu_model/trace.h"

namespace hbbp::simulation {

// The code of the process that is traced.
class CodeSource {
 public:
  virtual ~CodeSource() = default;
  // Returns nothing for code that is not in a file. It is called once for an address.
  virtual std::optional<TraceInstruction> At(uint64_t address) = 0;
  virtual std::vector<TraceModule> Modules() const = 0;
};

class TraceBuilder {
 public:
  // `code` must outlive it. At most `max_instructions` are accepted.
  TraceBuilder(CodeSource* code, uint64_t max_instructions)
      : code_(code), max_instructions_(max_instructions) {}

  // Returns false once there are enough instructions.
  bool Add(uint64_t address);

  // Returns kNotFound if there are fewer than two taken branches.
  StatusOr<Trace> Finish(std::string program);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Known {
    TraceInstruction instruction;
    bool is_outside = false;
    uint32_t next = kNone;  // index of known_ for instruction.end()
    // The block that last started here.
    uint32_t block_count = 0;
    uint32_t block = kNone;
  };

  uint32_t Find(uint64_t address);
  void CloseBlock();
  uint32_t FindBlock(uint32_t first, uint32_t count);

  CodeSource* code_;
  uint64_t max_instructions_;
  uint64_t taken_ = 0;
  Trace trace_;
  std::vector<Known> known_;
  std::unordered_map<uint64_t, uint32_t> known_by_address_;
  std::unordered_map<uint64_t, uint32_t> block_by_first_and_count_;
  std::vector<uint32_t> current_;  // indices of known_: the block that is not finished
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_TRACE_BUILDER_H_
