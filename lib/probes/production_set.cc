#include "probes/production_set.h"

#include <algorithm>

#include "isa/control_flow.h"

namespace hbbp {

bool ProductionSet::Prepare(std::span<const uint8_t> code, const InstructionSite& site,
                            ProbedInstruction* instruction) const {
  *instruction = {};
  static_cast<InstructionSite&>(*instruction) = site;
  if (!DescribeInstruction(code, &instruction->properties) ||
      !DecodeControlFlow(code, site.pc, &instruction->flow)) {
    return false;
  }
  if (instruction->properties.category == InstructionCategory::kDivide) {
    instruction->divisor = FindDivisorOperand(code);
  }
  std::copy_n(code.begin(), instruction->flow.length, instruction->bytes.begin());
  InstructionEvent event;
  event.instruction = instruction;
  for (size_t flags = 0; flags < kFlagStates; ++flags) {
    BurstState state;
    state.sample_flag = (flags & 1) != 0;
    state.burst_flag = (flags & 2) != 0;
    const StaticValues values(*taxonomies_, event, state);
    for (size_t i = 0; i < productions_.size(); ++i) {
      const Expression::Decision decision = productions_[i].condition.Decide(values);
      const uint64_t bit = uint64_t{1} << i;
      if (decision == Expression::Decision::kYes) instruction->fires[flags] |= bit;
      if (decision == Expression::Decision::kDepends) instruction->may_fire[flags] |= bit;
    }
  }
  return true;
}

}  // namespace hbbp
