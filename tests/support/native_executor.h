// NativeExecutor: runs one instruction of the program's own encoding on the processor, from a
// whole state to a whole state, on real memory. What interpreters are compared with.
//
// One object at a time in a process, used by one thread. Takes SIGSEGV, SIGBUS, SIGFPE, SIGILL and
// SIGTRAP, and the alternate signal stack of the thread, as long as it lives.
#ifndef HBBP_TESTS_SUPPORT_NATIVE_EXECUTOR_H_
#define HBBP_TESTS_SUPPORT_NATIVE_EXECUTOR_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/native/machine_state.h"

namespace hbbp::testing {

class NativeExecutor {
 public:
  NativeExecutor();
  ~NativeExecutor();
  NativeExecutor(const NativeExecutor&) = delete;
  NativeExecutor& operator=(const NativeExecutor&) = delete;

  // False where the host forbids memory that is writable and executable.
  bool is_usable() const { return memory_ != nullptr; }

  // Where the instruction runs. Below 2^31, as data() is.
  uint64_t code_address() const;

  // Memory for operands: page by page, and a page behind it that cannot be accessed.
  static constexpr size_t kDataBytes = 4 * 4096;
  uint8_t* data() const;

  // Zeroes the registers and halves of registers that this processor does not have.
  static void ClearAbsent(trace::MachineState* state);

  // Executes `code`, which neither branches nor uses the stack. Of `state` everything but rip,
  // poison and operand is loaded and stored; the bases of fs and gs are those of the process.
  // Returns 0, or the signal that the instruction raised: then registers are as it left them.
  int Run(std::span<const uint8_t> code, trace::MachineState* state);

 private:
  uint8_t* memory_ = nullptr;
};

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_SUPPORT_NATIVE_EXECUTOR_H_
