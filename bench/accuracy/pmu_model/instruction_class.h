// What an instruction costs, as far as the simulation tells instructions apart.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_INSTRUCTION_CLASS_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_INSTRUCTION_CLASS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace hbbp::simulation {

enum class InstructionClass : uint8_t {
  kSimple,      // moves, integer arithmetic, branches, what is not below
  kLoad,        // reads what its ModRM or stack operand names
  kMultiply,    // integer multiplication, arithmetic of floating point
  kDivide,      // of integers or floating point, and remainders
  kSquareRoot,  // and x87's transcendental functions
  kSerialise,   // system calls, cpuid, fences: waits for all before it
  kLastClass = kSerialise,
};
inline constexpr size_t kInstructionClasses = static_cast<size_t>(InstructionClass::kLastClass) + 1;

// Of the instruction at the start of `code`; kSimple if that is none.
InstructionClass ClassOf(std::span<const uint8_t> code);

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_INSTRUCTION_CLASS_H_
