// LookAhead runs the program forward on a copy of its registers, to see which branches it takes.
//
// Stores go to a private overlay, loads see the overlay and then memory, and the program never
// notices. Results that are not modelled are unknown; an unknown value that decides a branch stops
// the run.
//
// Contract: async-signal-safe. One signal handler at a time uses a LookAhead; it is large and lives
// in memory that was mapped before. Many may share one CodeCache. It runs on a stack of its own and
// needs little of its caller's.
#ifndef HBBP_LIB_TRACE_INTERPRETER_LOOK_AHEAD_H_
#define HBBP_LIB_TRACE_INTERPRETER_LOOK_AHEAD_H_

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "base/recorded_access.h"
#include "base/taken_branch.h"
#include "trace/interpreter/access_timing.h"
#include "trace/interpreter/program_reader.h"
#include "trace/interpreter/stop_reason.h"
#include "trace/native/machine_state.h"

namespace hbbp::trace {

class CodeCache;

struct RunResult {
  StopReason reason = StopReason::kFull;
  uint64_t ip = 0;            // the next instruction
  uint32_t branches = 0;      // branches that this call wrote
  uint64_t instructions = 0;  // instructions that this call executed
  // Instructions up to and including the first and the last branch that it wrote; 0 without any.
  uint64_t first_branch = 0;
  uint64_t last_branch = 0;
  uint32_t accesses = 0;         // that this call wrote to the log
  uint64_t missed_accesses = 0;  // that found no room there
};

// Divergence says why the program is not in the predicted state.
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

// Statistics since the last Begin.
struct LookAheadStats {
  uint64_t instructions = 0;
  uint64_t decoded_instructions = 0;  // instructions that the code cache did not have
  uint64_t probed_pages = 0;          // pages probed by system call
  uint64_t missing_pages = 0;         // pages that were not read because that might block
  MemoryUse memory_use;
  // The first instruction accesses a page that has nothing but zeros, and that had no page fault
  // since: so it may have had one right before.
  bool begins_in_new_page = false;
};

class LookAhead {
 public:
  // Return the bytes and the alignment of the memory that an object needs.
  static size_t Size();
  static size_t Alignment();
  // Creates an object in `memory`, which is zeroed, stays mapped, and is released by its owner.
  static LookAhead* Create(void* memory, CodeCache* code_cache);

  // Starts from the context of a signal handler, with everything known and nothing stored. If
  // `faults_are_caught`, RecoverFromFault will be called for faults of this thread, so that pages
  // need not be probed.
  void Begin(const ucontext_t& context, bool faults_are_caught);
  // Starts from a state that is not a signal's, for tests and tools.
  void Begin(const MachineState& state, bool faults_are_caught);
  // Starts from the state of a thread of another process, which needs a code cache of its own.
  void Begin(const RegisterReader& registers, const MemoryReader& memory);
  // Starts as Begin does; if `keeps_reads`, keeps what is read for FindDivergence, and no load is
  // fast.
  void BeginVerified(const ucontext_t& context, bool faults_are_caught, bool keeps_reads);

  // Call it after a run when the program has reached state().rip with these registers. The context
  // of Begin, in the frame of a signal handler that has returned, is no longer used.
  void Continue(const ucontext_t& context);

  // Requires BeginVerified. Finds out why the program, which since the last Begin or Continue was
  // to execute what was run, has reached state().rip in state `found` and not state().
  Divergence FindDivergence(const MachineState& found);

  // Has each run write where instructions access memory to `log`, from its start on, if the code
  // cache records accesses; no log: has them write nothing. RecordedAccess::branch then is how many
  // branches the run has written before the access, and `offset` the low bits of the address of the
  // instruction. An instruction that is executed again may be there again.
  void SetAccessLog(RecordedAccess* log, uint32_t capacity);
  RecordedAccess* access_log() const;

  // Executes until `capacity` taken branches were written to `branches`, or something stops it.
  // Another call continues, if the reason allows it.
  RunResult Run(TakenBranch* branches, uint32_t capacity, uint64_t instruction_limit);

  // Runs as Run does, but stops (kDynamicBranch) before every branch that the code alone does not
  // resolve, except one at the first ip.
  RunResult RunToDynamicBranch(TakenBranch* branches, uint32_t capacity,
                               uint64_t instruction_limit);

  // Returns the state after Run; rip is RunResult::ip.
  const MachineState& state() const;

  // Reads memory as the burst has it. Returns false if it cannot be read or is unknown.
  bool ReadQword(uint64_t address, uint64_t* value);

  const LookAheadStats& stats() const;

  // Returns TicksOfWidth, or 0 if the burst does not time accesses. Call it after Run, whose cache
  // misses it must not change.
  uint16_t MeasureWidth() const;

  // Return the size of the interpreter's stack, and how much of it was ever used. Handlers must not
  // call them.
  static size_t StackBytes();
  size_t MaxStackBytesUsed() const;

  // For handlers of SIGSEGV, SIGBUS and SIGFPE. Returns true if the fault was one of a running
  // LookAhead: `context` is then changed so that Run ends with kUnreadableMemory when the handler
  // returns.
  static bool RecoverFromFault(ucontext_t* context);

 private:
  LookAhead() = default;
  ~LookAhead() = default;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_LOOK_AHEAD_H_
