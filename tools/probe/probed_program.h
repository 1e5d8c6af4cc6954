// ProbedProgram runs one stream of instructions through several engines: the same productions at
// other sample frequencies and burst lengths, or exhaustively.
#ifndef HBBP_TOOLS_PROBE_PROBED_PROGRAM_H_
#define HBBP_TOOLS_PROBE_PROBED_PROGRAM_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "count/counted_modules.h"
#include "probe/probed_code.h"
#include "probe/probed_stream.h"
#include "probes/production_engine.h"
#include "probes/thread_history.h"

namespace hbbp::tools {

class ProbedProgram : public ProbedStream {
 public:
  // The set must outlive this object.
  ProbedProgram(const ProductionSet* set, std::vector<ProductionEngineOptions> options)
      : set_(*set), options_(std::move(options)) {
    Reset();
  }

  // A process begins to execute the program. What was collected of an earlier program is dropped.
  // ProbedCode describes `is_current`.
  void Start(pid_t pid, std::function<bool()> is_current = nullptr);

  ProbedCode& code() { return *code_; }
  const ProbedCode& code() const { return *code_; }
  bool needs_registers() const { return (set_.keys() & kRegisters) != 0; }
  bool needs_value() const { return (set_.keys() & kValues) != 0; }

  // Executes the instruction that `code()` has at `pc`. The event lacks the instruction and
  // what ThreadHistory has.
  void Execute(uint32_t thread, uint64_t pc, InstructionEvent event);

  // The next instruction of a thread with this number is of another one.
  void EndThread(uint32_t thread);

  const std::vector<ProductionEngine>& engines() const { return engines_; }

  const ProductionSet& set() const override { return set_; }
  bool is_sample() const override { return false; }
  uint64_t instructions() const override { return instructions_; }
  CodeDescription Describe(uint64_t code) const override;
  std::vector<std::string> Notes() const override;

 private:
  struct Thread {
    std::vector<BurstState> states;  // one for each engine
    ThreadHistory history;
  };

  void Reset();

  const ProductionSet& set_;
  const std::vector<ProductionEngineOptions> options_;
  CountedModules modules_;
  std::unique_ptr<ProbedCode> code_;
  std::vector<ProductionEngine> engines_;
  std::unordered_map<uint32_t, Thread> threads_;
  uint64_t instructions_ = 0;
  uint64_t undecodable_ = 0;
  uint64_t dropped_programs_ = 0;  // because the process executed another one
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_PROBED_PROGRAM_H_
