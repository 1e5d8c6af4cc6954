// Tracer records bursts of taken branches in signal handlers ("Break Dancing" and look-ahead).
//
// A sample (SIGTRAP of a perf event or a timer) starts a burst. In mode breakpoint the handler
// walks the code to the next branch that the code alone does not resolve, arms a breakpoint there
// and lets the program run to it. In mode look-ahead it interprets instead and needs a breakpoint
// only where that fails. In mode verify it interprets from branch to branch and compares each with
// what the program does.
//
// There is one Tracer per process, because signals and debug registers belong to the process.
//
// Contract: one worker thread calls Open, FreeSlotsOfEnded, Enable, Disable, Drain, Close. It may
// have a table of descriptors of its own, so it uses none that a handler has opened. Handlers run
// in any thread at any time; the first one of a thread takes a slot, and they do not allocate, lock
// or wait. Memory that a handler may touch is never unmapped. Where a resource is full, the loss is
// counted. Failures are errno values: Status allocates, so trace/ does not use it.
#ifndef HBBP_LIB_TRACE_TRACER_H_
#define HBBP_LIB_TRACE_TRACER_H_

#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/recorded_access.h"
#include "base/shared_start.h"
#include "trace/breakpoint.h"
#include "trace/burst_recorder.h"
#include "trace/handler_reserve.h"
#include "trace/look_ahead_pool.h"
#include "trace/look_ahead_walk.h"
#include "trace/resume_breakpoints.h"
#include "trace/signal_data.h"
#include "trace/thread_slots.h"
#include "trace/verify_walk.h"
#include "trace/walk_by_breakpoints.h"

namespace hbbp::trace {

class CodeCache;

enum class Mode : uint8_t { kLookAhead, kBreakpoint, kVerify };

enum class TracerFailure : uint8_t {
  kNone,
  kStackOverflow,     // the stack of the interpreter overflowed, which is a bug
  kSystemCallRefused  // a seccomp filter of the program refused a system call
};

struct TracerConfig {
  Mode mode = Mode::kLookAhead;
  BurstLimits burst = {256, 0, 0};  // its `instructions` are for kLookAhead only
  // The part of the CPU time of a thread that handlers may take there. Samples over this budget are
  // skipped, and the next burst represents them too. 0 means no limit.
  double handler_share = 0;
  // CPU time that handlers of all threads together may take beyond that, by and by in the first
  // second (handler_reserve.h).
  uint64_t handler_reserve_ns = 0;
  // The first samples of a session, so many of all threads together, begin a burst each. Later ones
  // do so if they, with those since the last burst, are as many as was drawn, a fourth more or less
  // than this mean. The burst represents them then.
  uint32_t dense_samples = 0;
  uint32_t samples_by_burst = 1;
  // Where dense samples are counted; it must outlive the handlers. nullptr: this session has them
  // for itself.
  SharedStart* shared_start = nullptr;
  bool may_use_breakpoints = true;
  // A sample that comes while it is blocked, or while a burst waits for a breakpoint, is
  // represented by the next burst. That is right for clocks, if the time of handlers is taken out.
  bool carries_late_samples = false;
  // Perf events send kSampleSignal and kBreakpointSignal and not SIGTRAP.
  bool uses_real_time_signals = false;
  // What bursts have of their instructions, in mode kLookAhead. With addresses, they cost about a
  // third more.
  RecordedKinds recorded_kinds = 0;
  // A handler posts it when a quarter of the buffers are full.
  Wakeup* drain_request = nullptr;
  // WasInHandler needs this.
  bool keeps_handler_times = false;
};

class Tracer {
 public:
  static constexpr uint32_t kMaxThreads = ThreadSlots::kMaxThreads;
  static constexpr uint32_t kMaxBurstBranches = BurstRecorder::kMaxBurstBranches;
  static constexpr uint32_t kBufferedBursts = BurstRecorder::kBufferedBursts;

  static Tracer& Get();

  // Maps memory (once; it is kept for ever) and installs the signal handlers. Returns 0 or an
  // errno, EBUSY if the tracer is in use.
  int Open(const TracerConfig& config);
  void Close();  // requires Disable

  // Returns what sampling event or timer `sampler`, a number from 1 to 2^20 - 1, must put into
  // si_perf_data or si_value. Threads may inherit it. A thread that gets samples of several
  // samplers accepts those of one.
  uint64_t SampleData(uint32_t sampler) const;
  // Ends reads of handlers that wait for a page. The program may have to provide the page
  // (userfaultfd), and may need for that what the thread holds. Returns whether there was such a
  // read.
  bool InterruptBlockedReads();

  // Gives back address space that is reserved and not in use, if the program has limited its own
  // (RLIMIT_AS) to a few GB, or is about to. Programs that do so while they run have not reckoned
  // with ours. Any thread may call it.
  void ReleaseUnused();
  void ReleaseUnusedFor(uint64_t limit_bytes);

  // Frees the slots of threads that have ended; the next Drain delivers their bursts.
  void FreeSlotsOfEnded();

  void Enable();
  // Makes handlers do nothing from now on, and disarms breakpoints that threads still wait for.
  // Returns false if a thread was not ready in time.
  bool Disable(int timeout_ms);

  // Calls visit(const BurstView&) for every part that was recorded since the last call.
  // `take_unfinished` includes bursts that still wait for a breakpoint, and requires Disable.
  template <typename Visitor>
  void Drain(bool take_unfinished, Visitor&& visit) {
    DrainInto(
        take_unfinished,
        [](const BurstView& view, void* visitor) {
          (*static_cast<std::remove_reference_t<Visitor>*>(visitor))(view);
        },
        &visit);
  }

  // Returns whether each sample begins a burst now.
  bool IsDense() const {
    return config_.samples_by_burst == 1 ||
           shared_start_->dense_samples.load(std::memory_order_relaxed) < config_.dense_samples;
  }

  // Replaces TracerConfig::handler_share from now on.
  void SetHandlerShare(double share);

  // Sums the counters of all threads since Open.
  void ReadCounters(uint64_t (&sums)[kCounters]) const { slots_.ReadCounters(sums); }

  // The log has entries of all threads since Open.
  const DisagreementLog& disagreement_log() const { return verify_walk_.log(); }

  // Declares that from now on other threads, or processes that share memory with this one, may
  // store to what bursts read.
  void SetOthersStore() { verify_walk_.SetOthersStore(true); }

  // Returns whether the thread is in a handler now.
  bool IsInHandler(uint32_t tid);

  // Returns whether the thread was in a handler when it was at `ip`, at a time of CLOCK_MONOTONIC.
  // It knows threads that still run, if TracerConfig::keeps_handler_times, and returns false for
  // others.
  bool WasInHandler(uint32_t tid, uint64_t time_ns, uint64_t ip) const;

  // Spends a millisecond and some megabytes to make bursts cheaper, which pays in long-lived
  // processes.
  void Prewarm();

  // Returns whether the address is in one of the tracer's tables.
  bool Owns(uint64_t address) const;

  CodeCache* code_cache() const { return code_cache_; }
  bool has_native_region() const { return has_native_region_; }
  // For programs with a new seccomp filter: handlers make no system call from now on, not even to
  // disarm breakpoints.
  void EndForFilter() {
    failure_.store(TracerFailure::kSystemCallRefused);
    enabled_.store(false);
  }
  // Returns why handlers have stopped working; Open resets it.
  TracerFailure failure() const { return failure_.load(); }
  bool is_enabled() const { return enabled_.load(std::memory_order_relaxed); }

  // Call it in the child after fork: it abandons everything that belongs to the parent.
  void ResetInChild();

 private:
  struct Arrival {
    SignalKind kind;
    bool was_delayed = false;
    bool was_in_kernel = false;
    uint32_t periods = 1;  // of sampling that a sample stands for
  };

  static bool Filter(int signal, siginfo_t* info, ucontext_t* context);
  static bool IsInterrupt(const siginfo_t& info);
  bool OnTrap(siginfo_t* info, ucontext_t* context);
  ThreadSlot* SlotOfSample(SignalKind kind, uint32_t sampler);
  bool OnStrayTrap(const siginfo_t& info, ucontext_t* context);
  bool OnRealTimeSignal(int signal, const siginfo_t& info, ucontext_t* context);
  uint32_t ThisThread();
  ThreadSlot* FindSlot();
  ThreadSlot* ClaimSlot();
  void Handle(ThreadSlot* slot, Arrival arrival, ucontext_t* context);
  void OnSample(ThreadSlot* slot, uint32_t periods, ucontext_t* context);
  void CarryLateSample(ThreadSlot* slot, uint32_t periods) const;
  bool IsLeftOut(ThreadSlot* slot, uint32_t periods);
  bool IsOverBudget(ThreadSlot* slot, uint32_t periods);
  WalkEnd BeginWalk(ThreadSlot* slot, ucontext_t* context);
  void OnBreakpoint(ThreadSlot* slot, ucontext_t* context, bool was_delayed);
  WalkEnd ContinueWalk(ThreadSlot* slot, ucontext_t* context);
  void CountForeignHit(ThreadSlot* slot);
  void OnWalkEnd(ThreadSlot* slot, WalkEnd end);
  void EndBurst(ThreadSlot* slot);
  void FinishBurst(ThreadSlot* slot);

  bool MapMemory();
  bool ReserveTables();
  void GrowAhead();
  void DrainInto(bool take_unfinished, BurstRecorder::Visitor visit, void* visitor);
  void RemoveThread(uint32_t index);
  bool EndFromOutside(uint32_t index, bool* was_asked);
  bool Send(int signal, SignalKind kind, uint32_t slot);

  TracerConfig config_;
  uint32_t session_ = 0;  // signals of earlier ones are stale
  std::atomic<bool> is_open_{false};
  std::atomic<bool> enabled_{false};
  std::atomic<TracerFailure> failure_{TracerFailure::kNone};
  HandlerReserve handler_reserve_;
  SharedStart own_start_;
  SharedStart* shared_start_ = &own_start_;
  std::atomic<uint64_t> handler_share_{0};  // TracerConfig::handler_share, times 2^32
  CodeCache* code_cache_ = nullptr;
  bool has_native_region_ = false;
  bool is_faster_ = false;
  std::atomic<bool> is_releasing_{false};
  uint32_t interrupted_reads_ = 0;
  DeferredDescriptors deferred_descriptors_;
  ThreadSlots slots_;
  BurstRecorder recorder_{&slots_};
  ResumeBreakpoints breakpoints_{&slots_};
  LookAheadPool look_aheads_;
  WalkByBreakpoints walk_by_breakpoints_{&recorder_, &breakpoints_};
  LookAheadWalk look_ahead_walk_{&recorder_, &breakpoints_, &look_aheads_};
  VerifyWalk verify_walk_{&slots_, &recorder_, &breakpoints_, &look_aheads_};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_TRACER_H_
