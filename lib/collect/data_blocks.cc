#include "collect/data_blocks.h"

#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include "collect/memory_use.h"
#include "profile/profile_data.h"

namespace hbbp {
namespace {

constexpr AddressSpace::Placement kNothing = {kNoModule, {}, {}};

// A search for replaced pieces that found few is repeated when that much more is settled.
constexpr uint64_t kNsUntilNextSearch = 100'000'000;

constexpr size_t kMinNames = 16;

}  // namespace

// Without memory for what is new, what is known is no longer true.
bool DataBlocks::Add(const DataEvent& data) {
  try {
    return AddWithMemory(data);
  } catch (const std::bad_alloc&) {
    if (!data.name.empty()) ++refused_;
    DropAndCount(data.pid);
    throw;
  }
}

bool DataBlocks::AddWithMemory(const DataEvent& data) {
  const bool is_block = !data.name.empty();
  const Range range = {data.address,
                       data.address + std::min(data.size, UINT64_MAX - data.address.value)};
  size_t more = MaxAdded(data, range);
  if (pieces_ + more > limits_.pieces) {
    DropReplaced(more);
    more = MaxAdded(data, range);
  }
  std::optional<uint32_t> number;
  if (is_block && pieces_ + more <= limits_.pieces) number = NumberOf(data.name);
  const bool is_refused = is_block && !number;
  if (is_refused) ++refused_;
  if (!number && !spaces_.contains(data.pid)) return !is_refused;
  // Freed memory takes pieces as well, and has as many again.
  if (pieces_ + more > 2 * limits_.pieces) {
    DropAndCount(data.pid);
    return !is_refused;
  }
  ChargePieces(more);
  Space& space = SpaceToChange(data.pid);
  const size_t added =
      space.addresses.Add(range.start, range.end, data.time_ns,
                          number ? AddressSpace::Placement{*number, data.address, {}} : kNothing);
  space.pieces += added;
  pieces_ += added;
  return !is_refused;
}

// Includes the pieces of a copy, if the space is shared.
size_t DataBlocks::MaxAdded(const DataEvent& data, const Range& range) const {
  const auto found = spaces_.find(data.pid);
  if (found == spaces_.end()) return 1;
  const Space& space = *found->second;
  const size_t copied = found->second.use_count() > 1 ? space.pieces : 0;
  return copied + space.addresses.MaxAdded(range.start, range.end, data.time_ns);
}

std::optional<uint32_t> DataBlocks::NumberOf(std::string_view name) {
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) return known->second;
  if (names_.size() == limits_.names) return std::nullopt;
  // Reserved first, so that both lists grow or neither.
  if (names_.size() == names_.capacity()) names_.reserve(std::max(kMinNames, 2 * names_.size()));
  charge_.GrowTo(BytesWith(0) + kThreadBytes + name.size());
  const auto number = static_cast<uint32_t>(names_.size());
  names_.push_back(&numbers_.emplace(name, number).first->first);
  name_bytes_ += name.size();
  return number;
}

DataBlocks::Space& DataBlocks::SpaceToChange(uint32_t pid) {
  const auto found = spaces_.find(pid);
  if (found == spaces_.end()) {
    return *spaces_.emplace(pid, std::make_shared<Space>()).first->second;
  }
  SharedSpace& space = found->second;
  if (space.use_count() > 1) {
    space = std::make_shared<Space>(*space);
    pieces_ += space->pieces;
  }
  return *space;
}

// Memory that was charged once stays charged, since it is needed again.
void DataBlocks::ChargePieces(size_t more) { charge_.GrowTo(BytesWith(more)); }

uint64_t DataBlocks::BytesWith(size_t more) const {
  return (pieces_ + more) * kIntervalBytes + names_.size() * kThreadBytes + name_bytes_;
}

void DataBlocks::Share(uint32_t parent_pid, uint32_t pid) {
  if (parent_pid == pid) return;
  Drop(pid);
  const auto parent = spaces_.find(parent_pid);
  if (parent != spaces_.end()) spaces_.emplace(pid, SharedSpace(parent->second));
}

void DataBlocks::Drop(uint32_t pid) {
  for (Spaces* const spaces : {&spaces_, &retired_, &retired_before_}) DropFrom(pid, spaces);
}

// Takes no memory.
void DataBlocks::Retire(uint32_t pid) {
  auto space = spaces_.extract(pid);
  if (space.empty()) return;
  DropFrom(pid, &retired_);
  retired_.insert(std::move(space));
}

void DataBlocks::DropRetired(uint64_t complete_ns) {
  const auto drop_all = [this](Spaces* spaces) {
    while (!spaces->empty()) DropFrom(spaces->begin()->first, spaces);
  };
  drop_all(&retired_before_);
  retired_before_.swap(retired_);
  if (complete_ns == UINT64_MAX) drop_all(&retired_before_);
}

void DataBlocks::DropFrom(uint32_t pid, Spaces* spaces) {
  const auto dropped = spaces->find(pid);
  if (dropped == spaces->end()) return;
  if (dropped->second.use_count() == 1) pieces_ -= dropped->second->pieces;
  spaces->erase(dropped);
}

void DataBlocks::DropAndCount(uint32_t pid) {
  const auto dropped = spaces_.find(pid);
  if (dropped != spaces_.end()) refused_ += dropped->second->pieces;
  Drop(pid);
}

std::optional<uint32_t> DataBlocks::Find(uint32_t pid, RuntimeAddress address,
                                         uint64_t time_ns) const {
  for (const Spaces* const spaces : {&spaces_, &retired_, &retired_before_}) {
    const auto space = spaces->find(pid);
    if (space == spaces->end()) continue;
    const auto placement = space->second->addresses.Find(address, time_ns);
    if (!placement) continue;
    return placement->module == kNoModule ? std::nullopt : std::optional(placement->module);
  }
  return std::nullopt;
}

// Takes the time to look at all pieces, so that where that does not make room for so many it waits
// for more blocks, or for more that is settled.
void DataBlocks::DropReplaced(size_t more) {
  const bool is_due = adds_until_search_ == 0 || settled_ns_ >= next_search_ns_;
  if (!is_due) {
    --adds_until_search_;
    return;
  }
  std::set<const Space*> seen;
  pieces_ = 0;
  for (Spaces* const spaces : {&spaces_, &retired_, &retired_before_}) {
    for (const auto& [pid, space] : *spaces) {
      if (!seen.insert(space.get()).second) continue;
      space->pieces = space->addresses.DropReplaced(settled_ns_, kNothing);
      pieces_ += space->pieces;
    }
    std::erase_if(*spaces, [](const auto& space) { return space.second->pieces == 0; });
  }
  const size_t few = limits_.pieces / 16;
  adds_until_search_ = pieces_ + std::max(few, more) > limits_.pieces ? few : 0;
  next_search_ns_ = settled_ns_ + kNsUntilNextSearch;
}

}  // namespace hbbp
