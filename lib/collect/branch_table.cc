#include "collect/branch_table.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace hbbp {
namespace {

constexpr size_t kMinSlots = 1024;
// Number of branches whose slots are prefetched together.
constexpr size_t kLookAhead = 16;

uint64_t HashBranch(uint32_t thread, uint64_t from, uint64_t to, uint64_t end) {
  // Each has a factor of its own, so that differences of one do not cancel those of another.
  uint64_t hash = from * 0x9E3779B97F4A7C15ull + std::rotl(to * 0xC2B2AE3D27D4EB4Full, 21) +
                  std::rotl(end * 0x165667B19E3779F9ull, 42) + (uint64_t{thread} << 13);
  return (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93ull;
}

}  // namespace

void BranchTable::Clear() {
  has_full_sums_ = false;
  // The memory of a busy slice is not kept for quiet ones.
  const bool sparse = entries_.size() * 8 < slots_.size();
  entries_.clear();
  if (sparse) {
    Release();
  } else {
    std::fill(slots_.begin(), slots_.end(), 0);
  }
}

void BranchTable::Release() {
  has_full_sums_ = false;
  entries_.clear();
  entries_.shrink_to_fit();
  slots_.clear();
  slots_.shrink_to_fit();
}

void BranchTable::Reserve(size_t more) {
  if (entries_.capacity() < entries_.size() + more) {
    entries_.reserve(std::max(entries_.size() + more, 2 * entries_.capacity()));
  }
  const size_t needed = std::bit_ceil(std::max(kMinSlots, 2 * (entries_.size() + more)));
  if (needed <= slots_.size()) return;
  slots_.assign(needed, 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const uint64_t hash = HashBranch(entry.thread, entry.from, entry.to, entry.end);
    size_t index = hash & (needed - 1);
    while (slots_[index] != 0) index = (index + 1) & (needed - 1);
    slots_[index] = (hash & ~uint64_t{UINT32_MAX}) | (i + 1);
  }
}

BranchTable::Entry& BranchTable::Find(uint64_t hash, uint32_t thread, uint64_t from, uint64_t to,
                                      uint64_t end) {
  const size_t mask = slots_.size() - 1;
  for (size_t index = hash & mask;; index = (index + 1) & mask) {
    const Slot slot = slots_[index];
    if (slot == 0) {
      Entry& added = entries_.emplace_back();
      added.from = from;
      added.to = to;
      added.end = end;
      added.thread = thread;
      slots_[index] = (hash & ~uint64_t{UINT32_MAX}) | entries_.size();
      return added;
    }
    if ((slot ^ hash) >> 32 != 0) continue;
    Entry& entry = entries_[(slot & UINT32_MAX) - 1];
    if (entry.from == from && entry.to == to && entry.end == end && entry.thread == thread) {
      return entry;
    }
  }
}

void BranchTable::CountBurst(uint32_t thread, std::span<const TakenBranch> branches, double weight,
                             size_t replicate, StackPart stack, uint32_t repeats) {
  Reserve(branches.size());
  weight *= repeats;
  const double expected = stack.entries == 0 ? 0 : static_cast<double>(repeats) / stack.entries;
  const auto replicate_weight = static_cast<float>(weight);
  constexpr float kFullSum = 1 << (std::numeric_limits<float>::digits - 4);
  const float full = kFullSum * replicate_weight;
  bool has_full_sums = false;
  const uint64_t last_end = stack.is_continued ? kCutEnd : kNoEnd;
  uint64_t hashes[kLookAhead];
  for (size_t first = 0; first < branches.size(); first += kLookAhead) {
    const size_t count = std::min(kLookAhead, branches.size() - first);
    const auto end_of = [&](size_t i) {
      return i + 1 < branches.size() ? branches[i + 1].from : last_end;
    };
    for (size_t i = 0; i < count; ++i) {
      const TakenBranch& branch = branches[first + i];
      hashes[i] = HashBranch(thread, branch.from, branch.to, end_of(first + i));
      __builtin_prefetch(&slots_[hashes[i] & (slots_.size() - 1)]);
    }
    for (size_t i = 0; i < count; ++i) {
      const TakenBranch& branch = branches[first + i];
      const uint64_t end = end_of(first + i);
      Entry& entry = Find(hashes[i], thread, branch.from, branch.to, end);
      entry.number += repeats;
      entry.oldest_expected += expected;
      if (first + i == 0 && stack.has_oldest) entry.oldest += repeats;
      if (end >= kCutEnd) continue;
      entry.weights += weight;
      float& sum = entry.replicates.sums[replicate];
      sum += replicate_weight;
      has_full_sums |= sum > full;
    }
  }
  has_full_sums_ |= has_full_sums;
}

}  // namespace hbbp
