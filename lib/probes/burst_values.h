// BurstValues completes the instructions of a burst by the values that were recorded of them.
//
// Registers of arguments are known at calls and indirect jumps, and from there on until an
// instruction writes to them; all others are unknown.
#ifndef HBBP_LIB_PROBES_BURST_VALUES_H_
#define HBBP_LIB_PROBES_BURST_VALUES_H_

#include <array>
#include <cstdint>
#include <span>

#include "base/recorded_access.h"
#include "probes/access_cursor.h"
#include "probes/instruction_event.h"
#include "probes/production_keys.h"
#include "probes/written_registers.h"

namespace hbbp {

class BurstValues {
 public:
  // `keys` are those that productions use. The values must outlive this object.
  BurstValues(ProbeKeySet keys, std::span<const RecordedAccess> values)
      : keys_(keys & kRegisters), cursor_(values) {}

  // For each instruction in order, which is where RecordedAccess says. The event has a pointer into
  // this object until the next call.
  void Complete(uint32_t branch, uint32_t offset, RegisterSet written, InstructionEvent* event) {
    if (keys_ != 0) CompleteUsed(branch, offset, written, event);
  }
  // Instead, for a stream whose instructions are unknown.
  void SkipStream() { known_ = 0; }

 private:
  void CompleteUsed(uint32_t branch, uint32_t offset, RegisterSet written, InstructionEvent* event);
  bool SetDivisor(uint32_t branch, uint32_t offset, InstructionEvent* event);

  const ProbeKeySet keys_;
  AccessCursor cursor_;
  std::array<uint64_t, 16> registers_{};
  ProbeKeySet known_ = 0;  // of the registers
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_BURST_VALUES_H_
