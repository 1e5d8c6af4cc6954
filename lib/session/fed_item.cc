#include "session/fed_item.h"

#include <cstring>
#include <type_traits>

namespace hbbp {
namespace {

// A struct whose views are without meaning, and behind it what they were of.
template <typename Item>
void PutItem(bool is_sample, const Item& item, std::vector<uint8_t>* bytes) {
  static_assert(std::is_trivially_copyable_v<Item>);
  bytes->assign(1, is_sample ? 1 : 0);
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

void Pack(const FedSample& sample, std::vector<uint8_t>* bytes) {
  PutItem(true, sample, bytes);
  PutBytes(sample.branches, bytes);
  PutBytes(sample.ibs, bytes);
}

void Pack(const FedEvent& event, std::vector<uint8_t>* bytes) {
  PutItem(false, event, bytes);
  PutBytes({reinterpret_cast<const uint8_t*>(event.name.data()), event.name.size()}, bytes);
  PutBytes(event.build_id, bytes);
  PutBytes(event.code, bytes);
}

bool IsPackedSample(std::span<const uint8_t> bytes) { return bytes[0] != 0; }

FedSample UnpackSample(std::span<const uint8_t> bytes) {
  auto sample = TakeItem<FedSample>(&bytes);
  sample.branches = TakeBytes(sample.branches.size(), &bytes);
  sample.ibs = TakeBytes(sample.ibs.size(), &bytes);
  return sample;
}

FedEvent UnpackEvent(std::span<const uint8_t> bytes) {
  auto event = TakeItem<FedEvent>(&bytes);
  const std::span<const uint8_t> name = TakeBytes(event.name.size(), &bytes);
  event.name = {reinterpret_cast<const char*>(name.data()), name.size()};
  event.build_id = TakeBytes(event.build_id.size(), &bytes);
  event.code = TakeBytes(event.code.size(), &bytes);
  return event;
}

}  // namespace hbbp
