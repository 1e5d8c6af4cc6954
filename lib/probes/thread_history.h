// ThreadHistory derives from the earlier instructions of a thread what a single one does not show:
// who called the function, how far an access is from the last one, how many cache lines were
// accessed since its own was, how often a loop iterated, which path through the function was taken.
//
// A path begins where a function is entered and where another one ends: behind a backward branch
// that is taken, an indirect jump, and kMaxOutcomes conditional branches. It ends there and at a
// return. A call interrupts it.
//
// A stream that has all instructions of a thread keeps one for it:
//
//   history.Complete(keys, &event);   // fills in stride, reuse, trips, caller and path
//   engine.Run(event, thread, &state);
//   history.Follow(keys, event);
//
// A stream that has only parts of a thread keeps one for each part (kPart). What depends on what
// was before is unknown then, and not 0: the caller until the part has its call, the stride of the
// first execution, the reuse distance of a first access to a line (which is at least the number of
// lines that the part accessed before), the iterations of a loop until the part has seen it end
// once, the path until the part has its start. Behind an access with an unknown address, strides of
// its instruction and reuse distances begin anew.
#ifndef HBBP_LIB_PROBES_THREAD_HISTORY_H_
#define HBBP_LIB_PROBES_THREAD_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "probes/instruction_event.h"
#include "probes/production_keys.h"
#include "probes/reuse_distances.h"

namespace hbbp {

class ThreadHistory {
 public:
  // Deeper calls have no frame, and the functions that they call no known caller.
  static constexpr size_t kMaxCallDepth = 1 << 16;
  static constexpr int kMaxOutcomes = 63;
  static constexpr int kLineBits = 6;  // a cache line has 64 bytes

  enum class Extent : uint8_t { kWholeThread, kPart };

  explicit ThreadHistory(Extent extent = Extent::kWholeThread) : extent_(extent) {}

  // `keys` are those that productions use; the others cost nothing. Of a part it also adds to the
  // numbers of the event that are unknown.
  void Complete(ProbeKeySet keys, InstructionEvent* event);
  void Follow(ProbeKeySet keys, const InstructionEvent& event);

 private:
  struct Path {
    uint64_t start = 0;
    uint64_t outcomes = 1;
  };
  struct CallFrame {
    uint64_t return_address = 0;
    uint64_t caller = 0;
    Path path;  // that the call interrupts
  };

  void AccessLines(InstructionEvent* event);
  void AddOutcome(InstructionEvent* event);
  void ReturnTo(uint64_t address);
  void MarkUnknown(ProbeKey key, InstructionEvent* event) const {
    if (extent_ == Extent::kPart) event->unknown |= SetOf(key);
  }

  Extent extent_;
  std::vector<CallFrame> calls_;
  std::unordered_map<uint64_t, uint32_t> frames_of_;  // their number, by return address
  Path path_;
  uint64_t calls_without_frame_ = 0;                       // that have not returned
  std::unordered_map<uint64_t, uint64_t> last_addresses_;  // by pc
  ReuseDistances reuse_;
  std::unordered_map<uint64_t, uint64_t> trips_;  // by pc of the backward branch
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_THREAD_HISTORY_H_
