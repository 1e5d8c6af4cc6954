#include "trace/interpreter/execution_width.h"

#include "trace/interpreter/guarded_memory.h"

namespace hbbp::trace {
namespace {

// The code is once in memory, so that all rounds have it in the nearest caches.
[[gnu::noinline]] void ExecuteRounds(uint64_t rounds) { ExecuteIndependent(rounds); }

}  // namespace

uint16_t TicksOfWidth() {
  constexpr uint64_t kRoundsToLoadCode = 2;
  uint64_t begin = 0, end = 0;
  ExecuteRounds(kRoundsToLoadCode);
  if (!GuardedTicks(&begin)) return 0;
  ExecuteRounds(kInstructionsOfWidth / kIndependentInstructions);
  if (!GuardedTicks(&end)) return 0;
  return static_cast<uint16_t>(end - begin < UINT16_MAX ? end - begin : UINT16_MAX);
}

}  // namespace hbbp::trace
