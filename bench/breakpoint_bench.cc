// Measures the cost of a breakpoint: opening and closing, moving, and hitting it.
#include <benchmark/benchmark.h>
#include <signal.h>

#include <cstdint>

#include "trace/breakpoint.h"

namespace hbbp::trace {
namespace {

[[gnu::noinline]] void First() { asm volatile(""); }
[[gnu::noinline]] void Second() { asm volatile("nop"); }

uint64_t AddressOf(void (*function)()) { return reinterpret_cast<uint64_t>(function); }

void TakeTraps() {
  struct sigaction action = {};
  action.sa_sigaction = [](int, siginfo_t*, void*) {};
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGTRAP, &action, nullptr);
}

bool ArmFirst(benchmark::State& state, Breakpoint* breakpoint) {
  if (breakpoint->Arm(AddressOf(&First), 0) == 0) return true;
  state.SkipWithError("no debug registers here");
  return false;
}

void BM_BreakpointOpenClose(benchmark::State& state) {
  Breakpoint breakpoint = {};
  for (auto _ : state) {
    if (!ArmFirst(state, &breakpoint)) break;
    breakpoint.Disarm();
  }
}
BENCHMARK(BM_BreakpointOpenClose);

void BM_BreakpointMove(benchmark::State& state) {
  Breakpoint breakpoint = {};
  if (!ArmFirst(state, &breakpoint)) return;
  for (auto _ : state) {
    (void)breakpoint.Arm(AddressOf(&Second), 0);
    (void)breakpoint.Arm(AddressOf(&First), 0);
  }
  state.SetItemsProcessed(2 * state.iterations());
  breakpoint.Disarm();
}
BENCHMARK(BM_BreakpointMove);

// The handler is empty.
void BM_BreakpointHit(benchmark::State& state) {
  TakeTraps();
  Breakpoint breakpoint = {};
  if (!ArmFirst(state, &breakpoint)) return;
  for (auto _ : state) First();
  breakpoint.Disarm();
}
BENCHMARK(BM_BreakpointHit);

}  // namespace
}  // namespace hbbp::trace
