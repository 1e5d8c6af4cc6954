// Makes traces of synthetic programs, for tests.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_SYNTHETIC_TRACE_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_SYNTHETIC_TRACE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pmu_model/trace_builder.h"

namespace hbbp::simulation {

// Code with instructions of 4 bytes, at the addresses that the test chooses.
class SyntheticCode : public CodeSource {
 public:
  static constexpr uint64_t kInstructionBytes = 4;

  void Put(uint64_t address, BranchKind branch = BranchKind::kNone,
           InstructionClass kind = InstructionClass::kSimple) {
    instructions_[address] = {address, kInstructionBytes, branch, kind};
  }

  std::optional<TraceInstruction> At(uint64_t address) override {
    const auto found = instructions_.find(address);
    if (found == instructions_.end()) return std::nullopt;
    return found->second;
  }
  std::vector<TraceModule> Modules() const override { return {{"/bin/made", {}, 0, ~0ull, 0, 0}}; }

 private:
  std::map<uint64_t, TraceInstruction> instructions_;
};

// Block i starts at 0x1000 * (i + 1) and has lengths[i] instructions, the last of which jumps to
// the next block of `order`; the first one is a division if divisions[i].
inline Trace TraceOfBlocks(const std::vector<uint32_t>& lengths, const std::vector<size_t>& order,
                           const std::vector<bool>& divisions = {}) {
  const auto start = [](size_t block) { return 0x1000 * (block + 1); };
  SyntheticCode code;
  for (size_t i = 0; i < lengths.size(); ++i) {
    for (uint32_t k = 0; k < lengths[i]; ++k) {
      const bool divides = k == 0 && i < divisions.size() && divisions[i];
      code.Put(start(i) + SyntheticCode::kInstructionBytes * k,
               k + 1 == lengths[i] ? BranchKind::kJump : BranchKind::kNone,
               divides ? InstructionClass::kDivide : InstructionClass::kSimple);
    }
  }
  TraceBuilder builder(&code, UINT64_MAX);
  for (const size_t block : order) {
    for (uint32_t k = 0; k < lengths[block]; ++k) {
      builder.Add(start(block) + SyntheticCode::kInstructionBytes * k);
    }
  }
  return *builder.Finish("/bin/made");
}

// Returns 0, 1, .. blocks - 1, 0, 1, ..
inline std::vector<size_t> InTurns(size_t blocks, size_t rounds) {
  std::vector<size_t> order;
  for (size_t i = 0; i < blocks * rounds; ++i) order.push_back(i % blocks);
  return order;
}

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_SYNTHETIC_TRACE_H_
