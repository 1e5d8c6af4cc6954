// Add appends a burst to the bytes: its head, its branches (AppendBranches) and where they accessed
// memory (AppendAccesses). IndexOf numbers branches by a hash table. Encode makes the section of a
// profile of all.
#include "collect/first_bursts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "base/leb128.h"
#include "collect/code_location.h"
#include "collect/memory_use.h"
#include "profile/kept_bursts.h"

namespace hbbp {
namespace {

constexpr size_t kMinSlots = 1024;

// Takes memory of another one.
Allocator PartOf(CountedMemory* whole) {
  Allocator allocator;
  allocator.user_data = whole;
  allocator.allocate = [](size_t size, size_t alignment, void* memory) {
    void* allocated = nullptr;
    (void)HasMemoryFor(
        [&] { allocated = static_cast<CountedMemory*>(memory)->allocate(size, alignment); });
    return allocated;
  };
  allocator.deallocate = [](void* allocated, size_t size, size_t alignment, void* memory) {
    static_cast<CountedMemory*>(memory)->deallocate(allocated, size, alignment);
  };
  return allocator;
}

// Most of a limited memory is for counts.
uint64_t BytesIn(const CountedMemory& memory, uint64_t wanted) {
  return memory.limit() == 0 ? wanted : std::min(wanted, memory.limit() / kBurstsInMemory);
}

size_t FirstSlot(const TakenBranch& branch, size_t slots) {
  const uint64_t hash =
      branch.from * 0x9E3779B97F4A7C15ull + std::rotl(branch.to * 0xC2B2AE3D27D4EB4Full, 21);
  return (hash ^ hash >> 32) & (slots - 1);
}

std::vector<uint32_t> Numbers(size_t size) {
  std::vector<uint32_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

}  // namespace

FirstBursts::FirstBursts(CountedMemory* memory, uint64_t max_bytes)
    : memory_(PartOf(memory), BytesIn(*memory, max_bytes)),
      branches_(&memory_),
      predicted_(&memory_),
      slots_(&memory_),
      last_addresses_(&memory_) {}

// After a burst that found no room, predictions are not those of a reader, so that no other burst
// can follow.
void FirstBursts::Add(const Head& head, std::span<const TakenBranch> locations) {
  if (is_full_ || locations.size() > kMaxKeptBranches) {
    ++not_kept_;
    return;
  }
  const size_t size = bytes_ ? bytes_->size() : 0;
  const size_t access_size = access_bytes_ ? access_bytes_->size() : 0;
  if (HasMemoryFor([&] { Append(head, locations); })) {
    ++kept_;
    return;
  }
  if (bytes_) bytes_->resize(size);
  if (access_bytes_) access_bytes_->resize(access_size);
  is_full_ = true;
  ++not_kept_;
}

void FirstBursts::Append(const Head& head, std::span<const TakenBranch> locations) {
  if (!bytes_) bytes_.emplace(&memory_);
  const uint64_t later = ToZigzag(head.time_ns - std::exchange(last_time_ns_, head.time_ns));
  PutNumber(head.source);
  PutNumber(head.thread);
  PutNumber(later);
  for (const uint8_t byte :
       std::bit_cast<std::array<uint8_t, sizeof(float)>>(static_cast<float>(head.weight))) {
    bytes_->push_back(byte);
  }
  PutNumber(locations.size());
  AppendBranches(locations);
  if (!head.accesses.empty()) AppendAccesses(head.accesses, locations);
}

void FirstBursts::AppendBranches(std::span<const TakenBranch> locations) {
  uint32_t last = IndexOf(locations.front());
  PutNumber(last);
  uint64_t as_predicted = 0;
  for (const TakenBranch& branch : locations.subspan(1)) {
    const uint32_t index = IndexOf(branch);
    uint32_t& predicted = predicted_[last];
    last = index;
    if (index == predicted) {
      ++as_predicted;
      continue;
    }
    predicted = index;
    PutNumber(std::exchange(as_predicted, 0));
    PutNumber(index);
  }
  if (as_predicted != 0) PutNumber(as_predicted);
}

void FirstBursts::AppendAccesses(std::span<const RecordedAccess> accesses,
                                 std::span<const TakenBranch> locations) {
  if (!access_bytes_) access_bytes_.emplace(&memory_);
  if (last_addresses_.empty()) last_addresses_.resize(AddressPredictor::kSlots);
  const auto put = [this](uint64_t number) { AppendUleb128(number, &*access_bytes_); };
  put(kept_ - std::exchange(last_with_accesses_, kept_ + 1));
  put(accesses.size());
  RecordedAccess last;
  for (const RecordedAccess& access : accesses) {
    const uint32_t later = access.branch - last.branch;
    put(later);
    put(later == 0 ? access.offset - last.offset : access.offset);
    uint64_t& predicted = last_addresses_[AddressPredictor::FindSlot(
        IndexOf(locations[access.branch]), access.offset)];
    put(ToZigzag(access.address - std::exchange(predicted, access.address)));
    last = access;
  }
}

void FirstBursts::PutNumber(uint64_t number) { AppendUleb128(number, &*bytes_); }

uint32_t FirstBursts::IndexOf(const TakenBranch& branch) {
  if (slots_.size() < 2 * (branches_.size() + 1)) GrowSlots();
  size_t slot = FirstSlot(branch, slots_.size());
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const uint32_t index = slots_[slot] - 1;
    if (branches_[index] == branch) return index;
  }
  const auto index = static_cast<uint32_t>(branches_.size());
  predicted_.push_back(kNoPrediction);
  branches_.push_back(branch);
  slots_[slot] = index + 1;
  return index;
}

void FirstBursts::GrowSlots() {
  std::pmr::vector<uint32_t> slots(std::max(kMinSlots, 2 * slots_.size()), 0, &memory_);
  for (uint32_t index = 0; index < branches_.size(); ++index) {
    size_t slot = FirstSlot(branches_[index], slots.size());
    while (slots[slot] != 0) slot = (slot + 1) & (slots.size() - 1);
    slots[slot] = index + 1;
  }
  slots_ = std::move(slots);
}

void FirstBursts::Clear() {
  branches_ = std::pmr::vector<TakenBranch>(&memory_);
  predicted_ = std::pmr::vector<uint32_t>(&memory_);
  slots_ = std::pmr::vector<uint32_t>(&memory_);
  bytes_.reset();
  access_bytes_.reset();
  last_addresses_ = std::pmr::vector<uint64_t>(&memory_);
  last_with_accesses_ = 0;
  last_time_ns_ = 0;
  kept_ = 0;
  not_kept_ = 0;
  is_full_ = false;
}

std::vector<uint8_t> FirstBursts::Encode(const ProfileData& data, uint32_t kernel_module,
                                         CancelCheck* check) const {
  KeptBursts kept;
  kept.not_kept = not_kept_;
  RecordedBursts& recording = kept.recordings.emplace_back();
  recording.number = kept_;
  recording.sources = Numbers(data.sources.size());
  recording.threads = Numbers(data.threads.size());
  recording.branches.reserve(branches_.size());
  CancelCheck unchecked(nullptr);
  CancelCheck* const checked = check == nullptr ? &unchecked : check;
  for (const TakenBranch& branch : branches_) {
    checked->Step();
    const CodeLocation from = UnpackLocation(branch.from, kernel_module);
    const CodeLocation to = UnpackLocation(branch.to, kernel_module);
    recording.branches.push_back({from.module, to.module, from.offset, to.offset});
  }
  if (bytes_) recording.bytes.assign(bytes_->begin(), bytes_->end());
  if (access_bytes_) recording.access_bytes.assign(access_bytes_->begin(), access_bytes_->end());
  return SerializeKeptBursts(kept, checked);
}

void KeepBursts(uint64_t bytes, KeptDetail* detail) {
  detail->kept_burst_bytes = bytes;
  detail->new_burst_keeper = nullptr;
  if (bytes == 0) return;
  detail->new_burst_keeper = [](CountedMemory* memory,
                                uint64_t max_bytes) -> std::unique_ptr<BurstKeeper> {
    return std::make_unique<FirstBursts>(memory, max_bytes);
  };
}

}  // namespace hbbp
