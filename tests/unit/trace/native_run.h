// Runs one instruction on the processor; stubs and the interpreter have to reproduce the result.
#ifndef HBBP_TESTS_UNIT_TRACE_NATIVE_RUN_H_
#define HBBP_TESTS_UNIT_TRACE_NATIVE_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/native_executor.h"
#include "trace/native/machine_state.h"
#include "trace/native/native_stub.h"
#include "unit/trace/instruction_case.h"
#include "unit/trace/random_state.h"

namespace hbbp::testing {

// The last bytes of the executor's data: memory operands lie there, and nothing else changes.
inline constexpr size_t kWindowBytes = 2048;

struct NativeRun {
  InstructionBytes code;  // with a displacement that fits
  uint64_t target = 0;    // of the memory operand
  trace::MachineState before;
  trace::MachineState after;
  std::vector<uint8_t> memory_before;  // the window
  std::vector<uint8_t> memory_after;
  int signal = 0;  // that it raised
};

class NativeRunner {
 public:
  bool is_usable() const { return executor_.is_usable(); }
  uint64_t code_address() const { return executor_.code_address(); }
  uint8_t* window() const { return executor_.data() + NativeExecutor::kDataBytes - kWindowBytes; }
  uint64_t end_of_data() const { return reinterpret_cast<uint64_t>(window()) + kWindowBytes; }
  Random* random() { return &random_; }

  // Runs from a random state, which `prepare` may change. Returns nullptr if the operand cannot be
  // moved into the data. The operand ends where the data does if `trial` is even.
  std::unique_ptr<NativeRun> Run(
      const InstructionBytes& code, const trace::NativeInstruction& native, int trial,
      const std::function<void(trace::MachineState*)>& prepare = nullptr);

  // Checks that the instruction accesses all described bytes and requires the described alignment.
  // Returns "" if it does.
  std::string CheckExtent(InstructionBytes code, const trace::NativeInstruction& native);

 private:
  void FillBefore(trace::MachineState* state);

  NativeExecutor executor_;
  Random random_{20240229};
};

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_UNIT_TRACE_NATIVE_RUN_H_
