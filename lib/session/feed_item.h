// Items are what a host feeds that is not a record of perf. Pack makes bytes of them that can wait
// in a queue.
#ifndef HBBP_LIB_SESSION_FEED_ITEM_H_
#define HBBP_LIB_SESSION_FEED_ITEM_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "events/samples.h"

namespace hbbp {

// Views are valid during the call that they are given to.
struct FeedSample {
  uint32_t source = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time_ns = 0;
  uint64_t ip = 0;
  uint64_t period = 0;
  std::span<const uint8_t> branches;  // as BranchStack has them
  std::span<const uint8_t> ibs;       // as DecodeIbsOp takes it
};

// Consecutive taken branches, as a tracer found them.
struct FeedBurst {
  uint32_t source = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time_ns = 0;
  uint64_t period = 0;
  // Occurrences of the event of the source that the burst covers; 0: its own streams.
  uint64_t extent = 0;
  std::span<const TakenBranch> branches;  // oldest first
};

// The values are those of hbbp_feed_event_kind; capi/ asserts it.
enum class FeedEventKind : int32_t {
  kNone = 0,
  kMapping = 1,
  kCode = 2,
  kExec = 3,
  kFork = 4,
  kExit = 5,
  kThreadName = 6,
  kBuildId = 7,
  kLost = 8,
  kThrottled = 9,
  kData = 10
};

// hbbp_feed_event says which fields each kind has.
struct FeedEvent {
  FeedEventKind kind = FeedEventKind::kNone;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t parent_pid = 0;
  uint32_t parent_tid = 0;
  uint32_t source = 0;
  uint64_t time_ns = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t count = 0;
  std::string_view name;
  std::span<const uint8_t> build_id;
  std::span<const uint8_t> code;
};

// Replaces the content of `bytes`.
void Pack(const FeedSample& sample, std::vector<uint8_t>* bytes);
void Pack(const FeedBurst& burst, std::vector<uint8_t>* bytes);
void Pack(const FeedEvent& event, std::vector<uint8_t>* bytes);

// Calls the visitor with what was packed. Its views are into `bytes`.
template <typename Visitor>
void VisitPacked(std::span<const uint8_t> bytes, Visitor&& visitor);

// Implementation details follow.

enum class PackedKind : uint8_t { kSample, kBurst, kEvent };

PackedKind KindOfPacked(std::span<const uint8_t> bytes);
FeedSample UnpackSample(std::span<const uint8_t> bytes);
// `branches` keeps what the view of the burst is of.
FeedBurst UnpackBurst(std::span<const uint8_t> bytes, std::vector<TakenBranch>* branches);
FeedEvent UnpackEvent(std::span<const uint8_t> bytes);

template <typename Visitor>
void VisitPacked(std::span<const uint8_t> bytes, Visitor&& visitor) {
  switch (KindOfPacked(bytes)) {
    case PackedKind::kSample:
      return visitor(UnpackSample(bytes));
    case PackedKind::kBurst: {
      std::vector<TakenBranch> branches;
      return visitor(UnpackBurst(bytes, &branches));
    }
    case PackedKind::kEvent:
      return visitor(UnpackEvent(bytes));
  }
}

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_FEED_ITEM_H_
