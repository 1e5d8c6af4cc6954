// RecordedAccess: where an instruction of a burst accessed memory, or a value that it had, from the
// signal handler that saw it to the profile that keeps it.
#ifndef HBBP_LIB_BASE_RECORDED_ACCESS_H_
#define HBBP_LIB_BASE_RECORDED_ACCESS_H_

#include <cstdint>

namespace hbbp {

enum class RecordedKind : uint8_t {
  kAddress,  // of the first access to memory
  kDivisor,  // of div and idiv, with zeros above its size
  // The registers of arguments before calls and indirect jumps, which may be calls.
  kRdi,
  kRsi,
  kRdx,
  kRcx,
  kR8,
  kR9,
};
inline constexpr unsigned kRecordedKinds = 8;

// A set of kinds.
using RecordedKinds = uint8_t;
constexpr RecordedKinds SetOf(RecordedKind kind) {
  return static_cast<RecordedKinds>(1u << static_cast<unsigned>(kind));
}
inline constexpr RecordedKinds kRecordedValues =
    static_cast<RecordedKinds>(~SetOf(RecordedKind::kAddress));

inline constexpr RecordedKind kRecordedRegisters[] = {RecordedKind::kRdi, RecordedKind::kRsi,
                                                      RecordedKind::kRdx, RecordedKind::kRcx,
                                                      RecordedKind::kR8,  RecordedKind::kR9};
// Returns the number of the register of such a kind.
constexpr unsigned RegisterNumber(RecordedKind kind) {
  constexpr uint8_t kNumbers[] = {7, 6, 2, 1, 8, 9};
  return kNumbers[static_cast<unsigned>(kind) - static_cast<unsigned>(RecordedKind::kRdi)];
}

struct RecordedAccess {
  uint64_t number = 0;  // the address or the value
  uint32_t branch = 0;  // which branch of the burst began the stream that the instruction is in
  uint32_t offset : 24 = 0;  // of the instruction from the start of the stream
  RecordedKind kind : 8 = RecordedKind::kAddress;

  bool operator==(const RecordedAccess&) const = default;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_RECORDED_ACCESS_H_
