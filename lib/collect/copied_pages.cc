#include "collect/copied_pages.h"

#include <algorithm>
#include <utility>

#include "image/process_memory.h"

namespace hbbp {
namespace {

constexpr size_t kLongestInstruction = 15;

// Returns whether an instruction that begins at a set bit may have a byte that differs.
bool HasChangedInstruction(const std::vector<uint8_t>& before, const std::vector<uint8_t>& after,
                           const std::bitset<kPageBytes>& starts) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    const size_t first = i - std::min(i, kLongestInstruction - 1);
    for (size_t start = first; start <= i; ++start) {
      if (starts[start]) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<CopiedPages::Generation> CopiedPages::Refresh(RuntimeAddress address) {
  const uint64_t number = address.value / kPageBytes;
  Refreshed& refreshed = refreshed_[number % refreshed_.size()];
  if (refreshed.number == number && refreshed.round == round_) {
    refreshed.page->counted.set(address.value % kPageBytes);
    return std::nullopt;
  }
  bool has_changed = false;
  // A function may continue over the bounds of its page.
  for (const uint64_t near : {number - 1, number, number + 1}) {
    has_changed = RefreshPage(near) || has_changed;
  }
  std::optional<Generation> begun;
  if (has_changed) begun = BeginGeneration(number);
  const auto page = pages_.find(number);
  if (page != pages_.end()) {
    page->second.counted.set(address.value % kPageBytes);
    refreshed = {number, round_, &page->second};
  }
  return begun;
}

std::vector<uint8_t> CopiedPages::Read(uint64_t number) const {
  std::vector<uint8_t> bytes(kPageBytes);
  bytes.resize(ReadProcessMemory(pid_, RuntimeAddress{number * kPageBytes}, bytes));
  return bytes;
}

bool CopiedPages::RefreshPage(uint64_t number) {
  const auto known = pages_.find(number);
  if (known == pages_.end()) {
    if (pages_.size() + old_pages_.size() >= kMaxPages) return false;
    Page& page = pages_[number];
    page.round = round_;
    page.bytes = Read(number);
    return false;
  }
  Page& page = known->second;
  if (page.round == round_) return false;
  page.round = round_;
  std::vector<uint8_t> now = Read(number);
  // Memory that was unmapped keeps its last copy.
  if (now.size() < page.bytes.size() || now == page.bytes) return false;
  if (HasChangedInstruction(page.bytes, now, page.counted)) return true;
  page.bytes = std::move(now);
  return false;
}

std::optional<CopiedPages::Generation> CopiedPages::BeginGeneration(uint64_t number) {
  uint32_t generation = 0;
  for (const uint64_t near : {number - 1, number, number + 1}) {
    const auto page = pages_.find(near);
    if (page != pages_.end()) generation = std::max(generation, page->second.generation + 1);
  }
  const bool is_kept =
      generation < kMaxGenerations && pages_.size() + old_pages_.size() + 3 <= kMaxPages;
  for (const uint64_t near : {number - 1, number, number + 1}) {
    const auto found = pages_.find(near);
    if (found == pages_.end()) continue;
    Page& page = found->second;
    std::vector<uint8_t> now = Read(near);
    if (now.size() < page.bytes.size()) now = page.bytes;
    if (is_kept) {
      old_pages_.push_back({near, page.generation, std::move(page.bytes)});
      page.generation = generation;
      page.counted.reset();
    }
    page.bytes = std::move(now);
  }
  if (!is_kept) return std::nullopt;
  return Generation{{(number - 1) * kPageBytes}, {(number + 2) * kPageBytes}, generation};
}

std::vector<CopiedPages::Copy> CopiedPages::Copies() const {
  std::vector<Copy> copies;
  copies.reserve(pages_.size() + old_pages_.size());
  for (const auto& [number, page] : pages_) {
    copies.push_back({number * kPageBytes, page.generation, &page.bytes});
  }
  for (const OldPage& page : old_pages_) {
    copies.push_back({page.number * kPageBytes, page.generation, &page.bytes});
  }
  std::erase_if(copies, [](const Copy& copy) { return copy.bytes->empty(); });
  return copies;
}

}  // namespace hbbp
