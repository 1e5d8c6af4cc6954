#include "collect/data_blocks.h"

#include <algorithm>
#include <set>

#include "collect/memory_use.h"
#include "profile/profile_data.h"

namespace hbbp {
namespace {

constexpr AddressSpace::Placement kNothing = {kNoModule, {}, {}};

// More pieces than a block adds where it replaces one other.
constexpr size_t kPiecesOfBlock = 4;

}  // namespace

bool DataBlocks::Add(const DataEvent& data) {
  if (pieces_ >= limits_.pieces) DropReplaced();
  const bool is_block = !data.name.empty();
  std::optional<uint32_t> number;
  if (is_block && pieces_ < limits_.pieces) number = NumberOf(data.name);
  const bool is_refused = is_block && !number;
  if (is_refused) ++refused_;
  if (!number && !spaces_.contains(data.pid)) return !is_refused;
  // Freed memory takes pieces as well, and has as many again.
  if (pieces_ >= 2 * limits_.pieces) {
    refused_ += spaces_.contains(data.pid) ? spaces_.at(data.pid)->pieces : 0;
    Drop(data.pid);
    return !is_refused;
  }
  ChargePieces(kPiecesOfBlock);
  Space& space = SpaceToChange(data.pid);
  const RuntimeAddress end = data.address + std::min(data.size, UINT64_MAX - data.address.value);
  const size_t added =
      space.addresses.Add(data.address, end, data.time_ns,
                          number ? AddressSpace::Placement{*number, data.address, {}} : kNothing);
  space.pieces += added;
  pieces_ += added;
  return !is_refused;
}

std::optional<uint32_t> DataBlocks::NumberOf(std::string_view name) {
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) return known->second;
  if (names_.size() == limits_.names) return std::nullopt;
  names_.reserve(names_.size() + 1);  // so that both lists grow or neither
  name_bytes_ += name.size();
  ChargePieces(0);
  const auto number = static_cast<uint32_t>(names_.size());
  names_.push_back(&numbers_.emplace(name, number).first->first);
  return number;
}

DataBlocks::Space& DataBlocks::SpaceToChange(uint32_t pid) {
  SharedSpace& space = spaces_[pid];
  if (space == nullptr) {
    space = std::make_shared<Space>();
  } else if (space.use_count() > 1) {
    ChargePieces(space->pieces + kPiecesOfBlock);
    space = std::make_shared<Space>(*space);
    pieces_ += space->pieces;
  }
  return *space;
}

// Memory that was charged once stays charged, since it is needed again.
void DataBlocks::ChargePieces(size_t more) {
  charge_.GrowTo((pieces_ + more) * kIntervalBytes + names_.size() * kThreadBytes + name_bytes_);
}

void DataBlocks::Share(uint32_t parent_pid, uint32_t pid) {
  if (parent_pid == pid) return;
  Drop(pid);
  const auto parent = spaces_.find(parent_pid);
  if (parent != spaces_.end()) spaces_.emplace(pid, SharedSpace(parent->second));
}

void DataBlocks::Drop(uint32_t pid) {
  const auto dropped = spaces_.find(pid);
  if (dropped == spaces_.end()) return;
  if (dropped->second.use_count() == 1) pieces_ -= dropped->second->pieces;
  spaces_.erase(dropped);
}

std::optional<uint32_t> DataBlocks::Find(uint32_t pid, RuntimeAddress address,
                                         uint64_t time_ns) const {
  const auto space = spaces_.find(pid);
  if (space == spaces_.end()) return std::nullopt;
  const auto placement = space->second->addresses.Find(address, time_ns);
  if (!placement || placement->module == kNoModule) return std::nullopt;
  return placement->module;
}

// Takes the time to look at all pieces, so that where that does not help it waits for more blocks
// to be refused.
void DataBlocks::DropReplaced() {
  if (refused_ < drop_again_at_) return;
  std::set<const Space*> seen;
  pieces_ = 0;
  for (const auto& [pid, space] : spaces_) {
    if (!seen.insert(space.get()).second) continue;
    space->pieces = space->addresses.DropReplaced(settled_ns_, kNothing);
    pieces_ += space->pieces;
  }
  const size_t few = limits_.pieces / 16;
  drop_again_at_ = pieces_ + few > limits_.pieces ? refused_ + few : refused_;
}

}  // namespace hbbp
