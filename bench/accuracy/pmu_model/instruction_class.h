// Classifies instructions by their cost, as far as the simulation distinguishes them.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_INSTRUCTION_CLASS_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_INSTRUCTION_CLASS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace hbbp::simulation {

enum class InstructionClass : uint8_t {
  kSimple,      // moves, integer arithmetic, branches, everything else
  kLoad,        // reads its ModRM or stack operand
  kMultiply,    // integer multiplication, arithmetic of floating point
  kDivide,      // division of integers or floating point, and remainders
  kSquareRoot,  // square roots and x87's transcendental functions
  kSerialise,   // system calls, cpuid, fences: they wait for all before them
  kLastClass = kSerialise,
};
inline constexpr size_t kInstructionClasses = static_cast<size_t>(InstructionClass::kLastClass) + 1;

// Returns the class of the instruction at the start of `code`, or kSimple if there is none.
InstructionClass ClassOf(std::span<const uint8_t> code);

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_INSTRUCTION_CLASS_H_
