// NativeExecutor runs one instruction of the program's own encoding on the processor, from a whole
// state to a whole state, on real memory. Interpreters are compared with it.
//
// A process may have one object at a time, used by one thread. It takes SIGSEGV, SIGBUS, SIGFPE,
// SIGILL and SIGTRAP, and the alternate signal stack of the thread, as long as it lives.
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

  // Returns false where the host forbids memory that is writable and executable.
  bool is_usable() const { return memory_ != nullptr; }

  // Returns the address at which the instruction runs; it is below 2^31, like data().
  uint64_t code_address() const;

  // The memory for operands, followed by a page that cannot be accessed.
  static constexpr size_t kDataBytes = 4 * 4096;
  uint8_t* data() const;

  // Changes what no state has here: zeroes the registers and halves of registers that this
  // processor lacks, and has a canonical stack pointer where programs cannot be interrupted with
  // any other.
  static void MakePossible(trace::MachineState* state);

  // Executes `code`, which must neither branch nor use the stack. It loads and stores everything of
  // `state` except rip, poison and operand; the bases of fs and gs are those of the process.
  // Returns 0, or the signal that the instruction raised; registers are then as it left them.
  int Run(std::span<const uint8_t> code, trace::MachineState* state);

 private:
  uint8_t* memory_ = nullptr;
};

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_SUPPORT_NATIVE_EXECUTOR_H_
