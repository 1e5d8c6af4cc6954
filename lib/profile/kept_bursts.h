// KeptBursts has whole bursts and branch stacks, with their branches in the order in which they
// were taken, which ProfileData::branches do not know. They are kept on request only.
//
// A profile may have hundreds of millions of such branches, most of them in loops. So the bursts of
// a recording are kept as bytes, of which KeptBurstReader (kept_burst_reader.h) makes one after the
// other. Numbers are LEB128: seven bits a byte, the lowest first.
//
//   burst    number of its source, number of its thread, time (n more or less than that of the
//            burst before: 2n or 2n - 1), weight (4 bytes: a float), number of branches, branches
//   branches index of the first one, then in turns until all are there: how many of the next ones
//            are as predicted, and the index of one that is not
//
// Predicted is what followed the same branch the last time that its successor was not as predicted.
// A loop of 1000 iterations takes no more bytes than one of two:
//
//   A B C A B C A B C C      A, 0, B, 0, C, 0, A, 5, C (A to C are indices)
//
// Where instructions accessed memory, as far as that was recorded, is in bytes of its own, which
// KeptBurstReader reads together with the bursts:
//
//   accesses how many bursts without accesses were before this one, since the last one with; number
//            of accesses, then each: how many branches of the burst later it is than the access
//            before; by how much its offset is larger than that access's, or just its offset if it
//            is of another branch; address (n more or less than predicted, as with times)
//
// Predicted is the last address in the same slot of NumberPredictor, and 0 at first.
//
// Values that instructions had are in other bytes of the same form, with the position
// RecordedAccess::offset * kRecordedKinds + kind for the offset, and the value for the address.
//
// A weight is that of each stream of the burst (stream_sums.h), times how often it was seen.
//
// ProfileData::kept_bursts, which is the section of a profile file, is
//
//   u64 number of bursts that found no room, u64 number of bursts, u64 count of recordings, then
//   each: u64 number of bursts, u64 count of sources, then each: u32; u64 count of threads, then
//   each: u32; u64 count of branches, then each: u32 from module, u32 to module, u64 from, u64 to;
//   u64 count of bytes of bursts, and these
//   after all recordings, unless none has accesses or values, for each: u64 count of bytes of
//   accesses, and these
//   after that, unless nothing was recorded of any, for each: u64 RecordedKinds that were recorded;
//   u64 count of bytes of values, and these
//
// A reader that does not know it reads the same counts. libhbbp-collect is one.
#ifndef HBBP_LIB_PROFILE_KEPT_BURSTS_H_
#define HBBP_LIB_PROFILE_KEPT_BURSTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_cursor.h"
#include "base/recorded_access.h"
#include "base/status.h"
#include "base/work.h"
#include "profile/profile_data.h"

namespace hbbp {

// Longer bursts are not kept.
inline constexpr size_t kMaxKeptBranches = 65536;
// No successor of a branch is predicted.
inline constexpr uint32_t kNoPrediction = UINT32_MAX;

// Has the fields of BranchCount of the same names.
struct KeptBranch {
  uint32_t from_module = 0;
  uint32_t to_module = 0;
  uint64_t from = 0;
  uint64_t to = 0;

  bool operator==(const KeptBranch&) const = default;
};

// Predicts that an instruction accesses memory where it did the last time, or has the same value.
struct NumberPredictor {
  static constexpr size_t kSlots = 4096;

  // `branch`, an index, began the stream that the instruction is in.
  static constexpr size_t FindSlot(uint32_t branch, uint32_t position) {
    const uint64_t hash = (uint64_t{branch} << 32 | position) * 0x9E3779B97F4A7C15ull;
    return hash >> 52;
  }
};
static_assert(NumberPredictor::kSlots == size_t{1} << (64 - 52));

// Which of the two sequences of bytes an access or value is in, and its position in a stream there.
constexpr bool IsValue(RecordedKind kind) { return kind != RecordedKind::kAddress; }
constexpr uint32_t PositionOf(const RecordedAccess& access) {
  if (!IsValue(access.kind)) return access.offset;
  return access.offset * kRecordedKinds + static_cast<uint32_t>(access.kind);
}
constexpr void SetPosition(bool is_value, uint32_t position, RecordedAccess* access) {
  constexpr uint32_t kOffsetMask = 0xffffff;
  access->offset = (is_value ? position / kRecordedKinds : position) & kOffsetMask;
  access->kind =
      is_value ? static_cast<RecordedKind>(position % kRecordedKinds) : RecordedKind::kAddress;
}

// The bursts of a recording.
struct RecordedBursts {
  uint64_t number = 0;
  // Map the numbers in the bytes to indices of ProfileData::sources and threads.
  std::vector<uint32_t> sources;
  std::vector<uint32_t> threads;
  std::vector<KeptBranch> branches;
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> access_bytes;
  RecordedKinds kinds = 0;  // that were recorded, also if no instruction had one
  std::vector<uint8_t> value_bytes;

  bool operator==(const RecordedBursts&) const = default;
};

struct KeptBursts {
  uint64_t not_kept = 0;
  std::vector<RecordedBursts> recordings;  // several in a sum

  uint64_t number() const {
    uint64_t sum = 0;
    for (const RecordedBursts& recording : recordings) sum += recording.number;
    return sum;
  }
};

// With `check`, throws WorkCancelled if it is cancelled.
std::vector<uint8_t> SerializeKeptBursts(const KeptBursts& bursts, CancelCheck* check = nullptr);
// Checks all but the bytes of bursts, which KeptBurstReader checks.
StatusOr<KeptBursts> ParseKeptBursts(const ProfileData& data);

// Returns the kNotFound of a profile whose number() is 0, and what helps.
Status NoKeptBursts(const KeptBursts& bursts);

struct KeptBurstTotals {
  uint64_t not_kept = 0;
  uint64_t kept = 0;
};
// Returns zeros for a section that is empty or too short.
inline KeptBurstTotals ReadKeptBurstTotals(std::span<const uint8_t> section) {
  KeptBurstTotals totals;
  if (!ByteCursor(section).Read(&totals)) return {};
  return totals;
}

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_KEPT_BURSTS_H_
