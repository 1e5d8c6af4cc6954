// RecordedAccess: where an instruction of a burst accessed memory, from the signal handler that saw
// it to the profile that keeps it.
#ifndef HBBP_LIB_BASE_RECORDED_ACCESS_H_
#define HBBP_LIB_BASE_RECORDED_ACCESS_H_

#include <cstdint>

namespace hbbp {

struct RecordedAccess {
  uint64_t address = 0;  // of the first access of the instruction
  uint32_t branch = 0;   // which branch of the burst began the stream that the instruction is in
  uint32_t offset = 0;   // of the instruction from the start of the stream

  bool operator==(const RecordedAccess&) const = default;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_RECORDED_ACCESS_H_
