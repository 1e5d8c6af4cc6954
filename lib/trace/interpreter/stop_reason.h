// StopReason says why an interpretation ended.
#ifndef HBBP_LIB_TRACE_INTERPRETER_STOP_REASON_H_
#define HBBP_LIB_TRACE_INTERPRETER_STOP_REASON_H_

#include <cstdint>

namespace hbbp::trace {

// StopReason says why interpretation stopped at RunResult::ip, which has not been executed.
enum class StopReason : uint8_t {
  kFull,              // the requested number of taken branches was reached
  kUnknownBranch,     // the branch at ip depends on something unknown
  kDynamicBranch,     // Run was to stop before branches that the code alone does not resolve
  kSystemCall,        // syscall, int n
  kFarTransfer,       // iret, far jumps, transactions, and other special transfers
  kTrap,              // int3, ud2, hlt: the program ends or is being debugged
  kUnreadableCode,    // no code is mapped there
  kUndecodable,       // the bytes are not an instruction
  kUnreadableMemory,  // a load that faults, or from memory that must not be touched
  kUnknownStore,      // a store to an address that is unknown
  kCodeWasWritten,    // the code there is changed by what the burst stored
  kInVdso,            // the kernel changes the data of that code concurrently
  kInstructionLimit,  // the burst is too long, for example in a loop that waits for another thread
  kOverlayFull,       // the overlay takes no more stores: it has no room, or had many page faults
  kCodeCacheFull,     // the cache has no room for more code until the worker flushes it
  kStackOverflow,  // the interpreter's own stack overflowed, a bug; the branches cannot be trusted
  kSystemCallRefused,  // a fault of the interpreter could not be prepared for, so it did not run
  kCount
};

// Returns whether a run ended because it was long, and not because of the location it had reached.
constexpr bool IsLimit(StopReason reason) {
  return reason == StopReason::kFull || reason == StopReason::kInstructionLimit ||
         reason == StopReason::kOverlayFull;
}

// Returns a name such as "unknown-branch". The names are stable, because profiles and JSON have
// them.
constexpr const char* NameOf(StopReason reason) {
  constexpr const char* kNames[] = {"full",
                                    "unknown-branch",
                                    "dynamic-branch",
                                    "system-call",
                                    "far-transfer",
                                    "trap",
                                    "unreadable-code",
                                    "undecodable",
                                    "unreadable-memory",
                                    "unknown-store",
                                    "code-was-written",
                                    "in-vdso",
                                    "instruction-limit",
                                    "overlay-full",
                                    "code-cache-full",
                                    "interpreter-stack-overflow",
                                    "system-call-refused"};
  static_assert(sizeof(kNames) / sizeof(*kNames) == static_cast<unsigned>(StopReason::kCount));
  return reason < StopReason::kCount ? kNames[static_cast<unsigned>(reason)] : "?";
}

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_STOP_REASON_H_
