// LookAheadFixture has a LookAhead with what it needs, and compares it with the processor.
#ifndef HBBP_TESTS_UNIT_TRACE_LOOK_AHEAD_FIXTURE_H_
#define HBBP_TESTS_UNIT_TRACE_LOOK_AHEAD_FIXTURE_H_

#include <functional>
#include <string>
#include <vector>

#include "trace/interpreter/code_cache.h"
#include "trace/interpreter/look_ahead.h"
#include "trace/native/native_stub.h"

namespace hbbp::trace {

class LookAheadFixture {
 public:
  explicit LookAheadFixture(size_t cache_bytes = 4u << 20, bool with_native_code = true);
  ~LookAheadFixture();
  LookAheadFixture(const LookAheadFixture&) = delete;
  LookAheadFixture& operator=(const LookAheadFixture&) = delete;

  CodeCache* code_cache() { return code_cache_; }
  LookAhead* look_ahead() { return look_ahead_; }
  LookAhead* MakeLookAhead();

 private:
  NativeRegion* region_ = nullptr;
  CodeCache* code_cache_ = nullptr;
  LookAhead* look_ahead_ = nullptr;
  std::vector<void*> mappings_;
};

// The result of running a function natively, one instruction at a time, and in a LookAhead.
struct Comparison {
  size_t steps = 0;
  size_t compared = 0;  // instructions after which all registers were compared
  size_t taken_branches = 0;
  // Instructions that accessed memory, by CompareAccesses: at the recorded address, or without one.
  size_t recorded_accesses = 0;
  size_t unrecorded_accesses = 0;
  size_t stops[static_cast<size_t>(StopReason::kCount)] = {};
  std::string difference;  // the first; empty: none

  size_t stops_of(StopReason reason) const { return stops[static_cast<size_t>(reason)]; }
};

// Compares all registers after each instruction.
Comparison CompareSteps(LookAheadFixture* fixture, const std::function<void()>& function,
                        bool faults_are_caught = false);
// Predicts bursts of `burst` branches and compares them, and the registers at the end of each,
// with what the function then does.
Comparison CompareBursts(LookAheadFixture* fixture, const std::function<void()>& function,
                         uint32_t burst, bool faults_are_caught = false);

// Predicts bursts and compares where their instructions accessed memory with what their operands
// say before each.
Comparison CompareAccesses(LookAheadFixture* fixture, const std::function<void()>& function,
                           uint32_t burst);

// During its lifetime, SIGSEGV, SIGBUS and SIGFPE go to RecoverFromFault.
class FaultCatcher {
 public:
  FaultCatcher();
  ~FaultCatcher();
};

}  // namespace hbbp::trace

#endif  // HBBP_TESTS_UNIT_TRACE_LOOK_AHEAD_FIXTURE_H_
