// Feeds any bytes as records of two events: the first 8 bytes are their sample type, the next 8
// determine the rest of the format, how they are fed and where they are divided in two. Each part
// is fed in a block of exactly its size.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "profile/profile_file.h"
#include "session/feed.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Head {
  uint64_t sample_type;
  uint16_t cut;
  uint8_t branch_sample_type;
  uint8_t read_format;
  uint8_t registers;
  uint8_t is_as_fed;
  uint8_t has_one_event;
  uint8_t takes_snapshot;
};

// Returns the rest of `bytes`.
std::span<const uint8_t> Feed(std::span<const uint8_t> bytes, hbbp::Feed* session) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  size_t consumed = 0;
  const hbbp::Status status = session->FeedRecords({copy.get(), bytes.size()}, &consumed);
  Require(consumed <= bytes.size());
  Require(status.ok() || status.code() == hbbp::StatusCode::kBadFormat);
  Require(status.ok() || !status.message().empty());
  return bytes.subspan(consumed);
}

void CheckProfile(hbbp::Feed* session) {
  const hbbp::ProfileData data = session->Snapshot();
  Require(hbbp::ParseProfile(hbbp::SerializeProfile(data)).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Head head;
  if (size < sizeof(head)) return 0;
  std::memcpy(&head, data, sizeof(head));
  std::span<const uint8_t> rest(data + sizeof(head), size - sizeof(head));

  hbbp::FeedOptions options;
  options.delivery.max_waiting_bytes = 4096;
  if (head.is_as_fed != 0) options.delivery.order = hbbp::DeliveryOptions::Order::kAsWritten;
  hbbp::Feed session(options);
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.sample_type = head.sample_type;
  attr.branch_sample_type = head.branch_sample_type;
  attr.read_format = head.read_format;
  attr.sample_regs_user = attr.sample_regs_intr = head.registers;
  attr.sample_id_all = 1;
  for (uint64_t id = 1; id <= (head.has_one_event != 0 ? 1 : 2); ++id) {
    attr.config = id;
    const auto* bytes = reinterpret_cast<const uint8_t*>(&attr);
    Require(session.AddRecordSource({bytes, sizeof(attr)}, {id}, "").ok());
  }
  const size_t cut = std::min<size_t>(head.cut, rest.size());
  const std::span<const uint8_t> left = Feed(rest.first(cut), &session);
  if (head.takes_snapshot != 0) CheckProfile(&session);
  (void)session.FinishRound();
  Feed(rest.subspan(cut - left.size()), &session);
  (void)session.FlushUpTo(UINT64_MAX);
  Require(session.Info().waiting == 0);
  CheckProfile(&session);
  return 0;
}
