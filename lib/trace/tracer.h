// Tracer: records bursts of taken branches in signal handlers ("Break Dancing" and look-ahead).
//
// A sample (SIGTRAP of a perf event or a timer) starts a burst. In mode breakpoint the handler
// walks the code to the next branch that the code alone does not resolve, arms a breakpoint there
// and lets the program run to it. In mode look-ahead it interprets instead and needs a breakpoint
// only where that fails. In mode verify it interprets from branch to branch and compares each with
// what the program does.
//
// There is one Tracer a process: signals and debug registers are the process's.
//
// Contract: one worker thread calls Open, FreeSlotsOfEnded, Enable, Disable, Drain, Close. It may
// have a table of descriptors of its own, so it touches none that a handler has opened. Handlers
// run in any thread at any time; the first one of a thread takes a slot, and they allocate, lock
// and wait for nothing. Memory that a handler may touch is never unmapped. What a full resource
// makes impossible is counted and dropped.
#ifndef HBBP_LIB_TRACE_TRACER_H_
#define HBBP_LIB_TRACE_TRACER_H_

#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "trace/burst_buffer.h"
#include "trace/disagreement_log.h"
#include "trace/handler_times.h"
#include "trace/interpreter/large_memory.h"
#include "trace/thread_slot.h"

namespace hbbp::trace {

class CodeCache;
struct BranchOutcome;

enum class Mode : uint8_t { kLookAhead, kBreakpoint, kVerify };

enum class TracerFailure : uint8_t {
  kNone,
  kStackOverflow,     // of the interpreter: a bug
  kSystemCallRefused  // by a seccomp filter that the program has set
};

struct TracerConfig {
  Mode mode = Mode::kLookAhead;
  uint32_t burst_branches = 256;
  // Interpreted at most, for a burst; 0: the default.
  uint64_t burst_instructions = 0;
  // CPU time of handlers that each sample pays for; samples that come while the thread is in debt
  // are left out, and the next burst stands for them too. 0: no limit.
  uint64_t sample_budget_ns = 0;
  bool may_use_breakpoints = true;
  // Signals of perf events come as kSampleSignal and kBreakpointSignal, not as SIGTRAP.
  bool uses_real_time_signals = false;
  // For WasInHandler.
  bool keeps_handler_times = false;
};

struct BurstView {
  uint32_t tid;
  uint64_t time_ns;
  uint32_t periods;       // of sampling that the burst stands for
  uint64_t instructions;  // in the streams that end in this part
  const TakenBranch* branches;
  uint32_t count;
  PartEnd end;  // what the next one of this thread is
};

class Tracer {
 public:
  static constexpr uint32_t kMaxThreads = 2048;
  static constexpr uint32_t kMaxBurstBranches = 65536;
  // So many of any length fit into the buffers between two calls of Drain.
  static constexpr uint32_t kBufferedBursts = 64;

  static Tracer& Get();

  // Maps memory (once; it is kept for ever) and installs the signal handlers. 0, EBUSY (somebody
  // else traces) or another errno.
  int Open(const TracerConfig& config);
  void Close();  // after Disable

  // What sampling event or timer `sampler`, a number from 1 to 2^20 - 1, must put into si_perf_data
  // or si_value. Threads may inherit it. A thread that gets samples of several takes those of one.
  uint64_t SampleData(uint32_t sampler) const;
  // Ends reads of handlers that wait for a page. The program may have to provide it (userfaultfd),
  // and may need what the thread holds for that. True if there was one.
  bool InterruptBlockedReads();

  // What threads left that have ended is delivered by the next Drain, and their slots are free
  // then.
  void FreeSlotsOfEnded();

  void Enable();
  // No handler does anything from here on; breakpoints that threads still wait for are taken away.
  // False if a thread did not get there in time.
  bool Disable(int timeout_ms);

  // Calls visit(const BurstView&) for what was recorded since the last call. `take_unfinished`:
  // also of bursts that still wait for a breakpoint; after Disable.
  template <typename Visitor>
  void Drain(bool take_unfinished, Visitor&& visit) {
    DrainInto(
        take_unfinished,
        [](const BurstView& view, void* visitor) {
          (*static_cast<std::remove_reference_t<Visitor>*>(visitor))(view);
        },
        &visit);
  }

  // TracerConfig::sample_budget_ns from now on.
  void SetSampleBudget(uint64_t ns) { sample_budget_ns_.store(ns, std::memory_order_relaxed); }

  // Of all threads since Open, by Counter.
  void ReadCounters(uint64_t (&sums)[kCounters]) const;

  // Of all threads since Open.
  const DisagreementLog& disagreement_log() const { return disagreement_log_; }

  // Other threads, or processes that share memory with this one, may store to what bursts read:
  // from now on, for ever.
  void SetOthersStore() { others_store_.store(true, std::memory_order_relaxed); }

  // Was the thread in a handler when it was at `ip`? By CLOCK_MONOTONIC; of threads that still run,
  // and if TracerConfig::keeps_handler_times, else false.
  bool WasInHandler(uint32_t tid, uint64_t time_ns, uint64_t ip) const;

  // Spends a millisecond and some megabytes on making bursts cheaper: for processes that live on.
  void MakeFaster();

  // Is the address in one of our tables?
  bool Owns(uint64_t address) const;

  CodeCache* code_cache() const { return code_cache_; }
  bool has_native_region() const { return has_native_region_; }
  // For programs with a new seccomp filter: handlers make no system call from here on, also not to
  // take breakpoints away.
  void EndForFilter() {
    failure_.store(TracerFailure::kSystemCallRefused);
    enabled_.store(false);
  }
  // Why handlers do nothing more; until Open.
  TracerFailure failure() const { return failure_.load(); }
  bool is_enabled() const { return enabled_.load(std::memory_order_relaxed); }

  // After fork, in the child: lets go of everything that is the parent's.
  void ForgetInChild();

 private:
  enum SignalKind : uint32_t { kSample = 1, kBreakpointHit = 2, kCleanUp = 3, kInterrupt = 4 };
  struct Arrival {
    SignalKind kind;
    bool was_delayed = false;
    bool was_in_kernel = false;
    uint32_t periods = 1;  // of sampling that a sample stands for
  };
  using BurstVisitor = void (*)(const BurstView&, void*);

  static bool Filter(int signal, siginfo_t* info, ucontext_t* context);
  static bool WasDelayed(const siginfo_t& info);
  static bool WasInKernel(const siginfo_t& info, const ucontext_t& context);
  static uint32_t PeriodsOf(const siginfo_t& info);
  static bool IsInterrupt(const siginfo_t& info);
  bool OnTrap(siginfo_t* info, ucontext_t* context);
  bool OnRealTimeSignal(int signal, const siginfo_t& info, ucontext_t* context);
  uint32_t ThisThread();
  ThreadSlot* SlotOfThisThread();
  ThreadSlot* ClaimSlot();
  bool IsOwnSample(ThreadSlot* slot, uint32_t sampler);
  bool OnStrayTrap(const siginfo_t& info, ucontext_t* context);
  void Handle(ThreadSlot* slot, Arrival arrival, ucontext_t* context);
  void OnSample(ThreadSlot* slot, uint32_t periods, ucontext_t* context);
  bool IsOverBudget(ThreadSlot* slot, uint32_t periods);
  void OnBreakpoint(ThreadSlot* slot, ucontext_t* context, bool was_delayed);
  void CountForeignHit(ThreadSlot* slot);

  bool MapMemory();
  bool ReserveTables();
  bool UseSlot(uint32_t index);
  void GrowAhead();
  uint64_t SignalData(SignalKind kind, uint32_t number) const;
  void GiveAlternateStack(const ThreadSlot* slot, ucontext_t* context);

  bool BeginBurst(ThreadSlot* slot, uint32_t periods);
  bool Record(ThreadSlot* slot, const TakenBranch& branch);
  static void CoverStreams(ThreadSlot* slot, uint64_t first_branch, uint64_t last_branch);
  static void CountRun(ThreadSlot* slot, const RunResult& result);
  TakenBranch* Room(ThreadSlot* slot, uint32_t* capacity);
  bool TakeBufferBehind(ThreadSlot* slot, uint32_t used, uint32_t* fresh);
  void StartPart(ThreadSlot* slot, uint32_t fresh);
  void CommitPart(ThreadSlot* slot, PartEnd end);
  bool StartNextPart(ThreadSlot* slot, PartEnd end);
  void EndBurst(ThreadSlot* slot);
  void FinishBurst(ThreadSlot* slot);
  uint32_t Missing(const ThreadSlot& slot) const;

  void WalkByBreakpoints(ThreadSlot* slot, ucontext_t* context);
  void GoOnByLookAhead(ThreadSlot* slot, ucontext_t* context);
  void StartVerifying(ThreadSlot* slot, ucontext_t* context);
  void GoOnVerifying(ThreadSlot* slot, ucontext_t* context);
  bool OthersMayStore() const;
  Divergence FindDivergence(ThreadSlot* slot, const MachineState& found) const;
  void Predict(ThreadSlot* slot, const BranchOutcome* found, ucontext_t* context);
  bool Arm(ThreadSlot* slot, uint64_t address, ucontext_t* context);

  // Where a breakpoint is to meet the program; address 0: nowhere.
  struct Meeting {
    uint64_t address = 0;
    bool knows_stack = false;
    uint64_t stack_pointer = 0;
    uint32_t passed = 0;  // instructions in front of it that were not interpreted
  };
  static Meeting WhereToGoOn(LookAhead* look_ahead, const RunResult& result);
  bool Await(ThreadSlot* slot, const Meeting& meeting, ucontext_t* context);
  void EndTracing(ThreadSlot* slot);
  static void CountWork(const LookAhead& look_ahead, ThreadSlot* slot);
  LookAhead* AcquireLookAhead();
  LookAhead* MakeLookAhead(unsigned index);
  void ReleaseLookAhead(LookAhead* look_ahead);

  void DrainInto(bool take_unfinished, BurstVisitor visit, void* visitor);
  void DrainBuffer(BurstBuffer* buffer, BurstVisitor visit, void* visitor);

  void RemoveThread(uint32_t index);
  void LeaveDescriptor(int descriptor);
  void CloseLeftDescriptors();
  bool Send(int signal, SignalKind kind, uint32_t slot);
  bool HasEnded(uint32_t slot) const;

  uint32_t IndexOf(const ThreadSlot* slot) const { return static_cast<uint32_t>(slot - slots_); }

  TracerConfig config_;
  uint32_t session_ = 0;  // signals of earlier ones are stale
  std::atomic<bool> is_open_{false};
  std::atomic<bool> enabled_{false};
  std::atomic<TracerFailure> failure_{TracerFailure::kNone};
  std::atomic<uint64_t> sample_budget_ns_{0};
  uint32_t max_threads_ = 0;
  ThreadSlot* slots_ = nullptr;
  GrowingMemory slot_memory_;
  // By slot, apart from them since they are searched: the thread, 0 if free, with kEndedBit if what
  // it left is still to be delivered.
  static constexpr uint32_t kEndedBit = uint32_t{1} << 31;
  std::atomic<uint32_t> owners_[kMaxThreads] = {};
  std::atomic<uint32_t> used_slots_{0};  // all in use are below
  std::atomic<uint64_t> samples_without_slot_{0};
  // Of breakpoints whose threads ended, plus one; handlers close them.
  static constexpr int kMostLeftDescriptors = 16;
  std::atomic<int> left_descriptors_[kMostLeftDescriptors] = {};
  std::atomic<bool> has_left_descriptors_{false};
  GrowingMemory alternate_stacks_;
  HandlerTimes* handler_times_ = nullptr;  // by slot, once a session has asked for them
  GrowingMemory handler_times_memory_;
  BurstBufferPool buffers_;
  GrowingMemory buffer_memory_;
  uint32_t free_buffers_ = 0;  // allowed, besides those of the slots
  CodeCache* code_cache_ = nullptr;
  bool has_native_region_ = false;
  GrowingMemory look_aheads_;
  uint32_t look_ahead_count_ = 0;
  std::atomic<uint64_t> made_look_aheads_{0};  // a bit each
  bool is_faster_ = false;
  std::atomic<uint64_t> free_look_aheads_{0};  // a bit each
  uint64_t ended_counters_[kCounters] = {};
  DisagreementLog disagreement_log_;
  std::atomic<bool> others_store_{false};
  uint32_t interrupted_reads_ = 0;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_TRACER_H_
