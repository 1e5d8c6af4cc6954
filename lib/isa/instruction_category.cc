#include "isa/instruction_category.h"

#include <cstddef>
#include <iterator>

namespace hbbp {
namespace {

constexpr std::string_view kNames[] = {
    "other",
    "data-move",
    "conditional-move",
    "set-condition",
    "address",
    "stack",
    "string",
    "integer-arithmetic",
    "integer-multiply",
    "float-arithmetic",
    "fma",
    "matrix",
    "divide",
    "sqrt",
    "transcendental",
    "logic",
    "shift",
    "bit",
    "compare",
    "convert",
    "shuffle",
    "mask",
    "gather",
    "scatter",
    "conditional-branch",
    "jump",
    "indirect-jump",
    "call",
    "indirect-call",
    "return",
    "atomic",
    "fence",
    "transaction",
    "wait",
    "prefetch",
    "cache-control",
    "crypto",
    "random",
    "flag",
    "machine-state",
    "nop",
    "trap",
    "system-call",
    "io",
    "system",
};
static_assert(std::size(kNames) == static_cast<size_t>(InstructionCategory::kCount));

}  // namespace

std::string_view NameOf(InstructionCategory category) {
  return kNames[static_cast<size_t>(category)];
}

}  // namespace hbbp
