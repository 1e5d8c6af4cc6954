#include "session/feed_item.h"

#include <cstring>
#include <type_traits>

namespace hbbp {
namespace {

// Starts `bytes` with the struct. Its views are without meaning there; PutBytes adds what they are
// of.
template <typename Item>
void PutItem(PackedKind kind, const Item& item, std::vector<uint8_t>* bytes) {
  static_assert(std::is_trivially_copyable_v<Item>);
  bytes->assign(1, static_cast<uint8_t>(kind));
  const auto* first = reinterpret_cast<const uint8_t*>(&item);
  bytes->insert(bytes->end(), first, first + sizeof(item));
}

void PutBytes(std::span<const uint8_t> view, std::vector<uint8_t>* bytes) {
  bytes->insert(bytes->end(), view.begin(), view.end());
}

template <typename Item>
Item TakeItem(std::span<const uint8_t>* bytes) {
  Item item;
  std::memcpy(static_cast<void*>(&item), bytes->data() + 1, sizeof(item));
  *bytes = bytes->subspan(1 + sizeof(item));
  return item;
}

std::span<const uint8_t> TakeBytes(size_t size, std::span<const uint8_t>* bytes) {
  const std::span<const uint8_t> view = bytes->first(size);
  *bytes = bytes->subspan(size);
  return view;
}

}  // namespace

void Pack(const FeedSample& sample, std::vector<uint8_t>* bytes) {
  PutItem(PackedKind::kSample, sample, bytes);
  PutBytes(sample.branches, bytes);
  PutBytes(sample.ibs, bytes);
}

void Pack(const FeedBurst& burst, std::vector<uint8_t>* bytes) {
  PutItem(PackedKind::kBurst, burst, bytes);
  PutBytes({reinterpret_cast<const uint8_t*>(burst.branches.data()), burst.branches.size_bytes()},
           bytes);
}

void Pack(const FeedEvent& event, std::vector<uint8_t>* bytes) {
  PutItem(PackedKind::kEvent, event, bytes);
  PutBytes({reinterpret_cast<const uint8_t*>(event.name.data()), event.name.size()}, bytes);
  PutBytes(event.build_id, bytes);
  PutBytes(event.code, bytes);
}

PackedKind KindOfPacked(std::span<const uint8_t> bytes) {
  return static_cast<PackedKind>(bytes[0]);
}

FeedSample UnpackSample(std::span<const uint8_t> bytes) {
  auto sample = TakeItem<FeedSample>(&bytes);
  sample.branches = TakeBytes(sample.branches.size(), &bytes);
  sample.ibs = TakeBytes(sample.ibs.size(), &bytes);
  return sample;
}

// The branches in `bytes` are not aligned.
FeedBurst UnpackBurst(std::span<const uint8_t> bytes, std::vector<TakenBranch>* branches) {
  auto burst = TakeItem<FeedBurst>(&bytes);
  branches->resize(burst.branches.size());
  const std::span<const uint8_t> packed = TakeBytes(burst.branches.size_bytes(), &bytes);
  if (!packed.empty()) std::memcpy(branches->data(), packed.data(), packed.size());
  burst.branches = *branches;
  return burst;
}

FeedEvent UnpackEvent(std::span<const uint8_t> bytes) {
  auto event = TakeItem<FeedEvent>(&bytes);
  const std::span<const uint8_t> name = TakeBytes(event.name.size(), &bytes);
  event.name = {reinterpret_cast<const char*>(name.data()), name.size()};
  event.build_id = TakeBytes(event.build_id.size(), &bytes);
  event.code = TakeBytes(event.code.size(), &bytes);
  return event;
}

}  // namespace hbbp
