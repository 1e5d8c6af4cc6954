// LookAhead: runs the program forward on a copy of its registers, to see which branches it takes.
//
// Stores go to a private overlay, loads see the overlay and then memory, and the program never
// notices. What is not modelled becomes unknown; an unknown that decides a branch stops it.
//
// Contract: async-signal-safe. One LookAhead is used by one signal handler at a time; it is large
// and lives in memory that was mapped before. Many may share one CodeCache. Needs little stack of
// its caller: it runs on one of its own.
#ifndef HBBP_LIB_TRACE_INTERPRETER_LOOK_AHEAD_H_
#define HBBP_LIB_TRACE_INTERPRETER_LOOK_AHEAD_H_

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "trace/interpreter/program_reader.h"
#include "trace/interpreter/taken_branch.h"
#include "trace/native/machine_state.h"

namespace hbbp::trace {

class CodeCache;

struct RunResult {
  StopReason reason = StopReason::kFull;
  uint64_t ip = 0;            // of the next instruction
  uint32_t branches = 0;      // written by this call
  uint64_t instructions = 0;  // executed by this call
  // Of these, up to and with the first branch that it wrote, and the last; 0 without any.
  uint64_t first_branch = 0;
  uint64_t last_branch = 0;
};

// Why the program is not in the state that was predicted of it.
enum class Divergence : uint8_t {
  kNone,
  kMemoryChanged,  // somebody else wrote to what the prediction had read: another thread, the
                   // kernel
  kStoreChanged,  // memory has not what the prediction stored: another thread's store, or a mistake
  kCodeChanged,   // or to code that it had gone through
  kOtherPath,  // registers differ that the predicted instructions do not write: the thread has left
               // them, as a jump out of a signal handler does, and come back
  kAtomic,  // by the Tracer: of a word that the thread, too, read and wrote in one step since, so
            // that it shows no trace
  kUnexplained,
  kReadsNotKept,  // by BeginVerified: it may be any of these
};

// Since the last Begin.
struct LookAheadStats {
  uint64_t instructions = 0;
  uint64_t decoded_instructions = 0;  // that the code cache did not have
  uint64_t probed_pages = 0;          // by system call
  uint64_t missing_pages = 0;         // that were not read, since that might block
};

class LookAhead {
 public:
  // Bytes and alignment of the memory that an object needs.
  static size_t Size();
  static size_t Alignment();
  // In `memory`, which is zeroed, stays mapped and is given back by its owner.
  static LookAhead* Create(void* memory, CodeCache* code_cache);

  // Starts from the context of a signal handler: everything is known, nothing is stored.
  // `faults_are_caught`: RecoverFromFault will be called for faults of this thread, so that pages
  // need not be probed.
  void Begin(const ucontext_t& context, bool faults_are_caught);
  // Likewise, from a state that is no signal's; for tests and tools.
  void Begin(const MachineState& state, bool faults_are_caught);
  // Likewise, of a thread of another process. It has a code cache of its own.
  void Begin(const RegisterReader& registers, const MemoryReader& memory);
  // As Begin, and if `keeps_reads` what is read is kept, for FindDivergence. No load is fast then.
  void BeginVerified(const ucontext_t& context, bool faults_are_caught, bool keeps_reads);

  // After a run: the program has come to state().rip, with these registers. The context of Begin,
  // which lies in the frame of a signal handler that has returned, is not used any more.
  void Continue(const ucontext_t& context);

  // After BeginVerified. The program has come to state().rip, and is in `found` instead of state().
  // Since the last Begin or Continue it was to execute what was run.
  Divergence FindDivergence(const MachineState& found);

  // Executes until `capacity` taken branches were written to `branches`, or something stops it.
  // May be called again to go on, if the reason allows it.
  RunResult Run(TakenBranch* branches, uint32_t capacity, uint64_t instruction_limit);

  // As Run, but stops (kDynamicBranch) before every branch that the code alone does not resolve,
  // except one at the ip that it starts from.
  RunResult RunToDynamicBranch(TakenBranch* branches, uint32_t capacity,
                               uint64_t instruction_limit);

  // After Run. rip is RunResult::ip.
  const MachineState& state() const;

  // Memory as the burst has it. False if it cannot be read or is unknown.
  bool ReadQword(uint64_t address, uint64_t* value);

  const LookAheadStats& stats() const;

  // Of the interpreter's stack, whose memory was zeroed: how much there is, and how much of it was
  // ever used. Not for handlers.
  static size_t StackBytes();
  size_t MaxStackBytesUsed() const;

  // For handlers of SIGSEGV, SIGBUS and SIGFPE. True if the fault was one of a running LookAhead:
  // `context` is changed so that, when the handler returns, Run ends with kUnreadableMemory.
  static bool RecoverFromFault(ucontext_t* context);

 private:
  LookAhead() = default;
  ~LookAhead() = default;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_LOOK_AHEAD_H_
