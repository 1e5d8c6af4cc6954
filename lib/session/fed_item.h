// What a host tells of its own accord, not as records of perf; and as bytes that can wait in a
// queue.
#ifndef HBBP_LIB_SESSION_FED_ITEM_H_
#define HBBP_LIB_SESSION_FED_ITEM_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hbbp {

// Views are valid during the call that they are given to.
struct FedSample {
  uint32_t source = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time_ns = 0;
  uint64_t ip = 0;
  uint64_t period = 0;
  std::span<const uint8_t> branches;  // as BranchStack has them
  std::span<const uint8_t> ibs;       // as DecodeIbsOp takes it
};

// The values are those of hbbp_feed_event_kind; capi/ asserts it.
enum class FedEventKind : int32_t {
  kNone = 0,
  kMapping = 1,
  kCode = 2,
  kExec = 3,
  kFork = 4,
  kExit = 5,
  kThreadName = 6,
  kBuildId = 7,
  kLost = 8,
  kThrottled = 9
};

// Which fields each kind has is said at hbbp_feed_event.
struct FedEvent {
  FedEventKind kind = FedEventKind::kNone;
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
void Pack(const FedSample& sample, std::vector<uint8_t>* bytes);
void Pack(const FedEvent& event, std::vector<uint8_t>* bytes);

// Calls the visitor with the FedSample or FedEvent that was packed. Its views are into `bytes`.
template <typename Visitor>
void VisitPacked(std::span<const uint8_t> bytes, Visitor&& visitor);

// Implementation details follow.

bool IsPackedSample(std::span<const uint8_t> bytes);
FedSample UnpackSample(std::span<const uint8_t> bytes);
FedEvent UnpackEvent(std::span<const uint8_t> bytes);

template <typename Visitor>
void VisitPacked(std::span<const uint8_t> bytes, Visitor&& visitor) {
  if (IsPackedSample(bytes)) {
    visitor(UnpackSample(bytes));
  } else {
    visitor(UnpackEvent(bytes));
  }
}

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_FED_ITEM_H_
