// Add appends a burst to the bytes: its head, its branches (AppendBranches), where they accessed
// memory and the values that they had (AppendNumbers). IndexOf numbers branches by a hash table.
// Encode makes the section of a profile of all.
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

FirstBursts::FirstBursts(CountedMemory* memory, uint64_t max_bytes, RecordedKinds kinds)
    : memory_(PartOf(memory), BytesIn(*memory, max_bytes)),
      recorded_kinds_(kinds),
      branches_(&memory_),
      predicted_(&memory_),
      slots_(&memory_),
      accesses_{{}, std::pmr::vector<uint64_t>(&memory_)},
      values_{{}, std::pmr::vector<uint64_t>(&memory_)} {}

// After a burst that found no room, predictions are not those of a reader, so that no other burst
// can follow.
void FirstBursts::Add(const Head& head, std::span<const TakenBranch> locations) {
  if (is_full_ || locations.size() > kMaxKeptBranches) {
    ++not_kept_;
    return;
  }
  std::optional<std::pmr::deque<uint8_t>>* const all[] = {&bytes_, &accesses_.bytes,
                                                          &values_.bytes};
  size_t sizes[std::size(all)];
  std::ranges::transform(all, sizes,
                         [](const auto* bytes) { return *bytes ? (*bytes)->size() : 0; });
  if (HasMemoryFor([&] { Append(head, locations); })) {
    ++kept_;
    return;
  }
  for (size_t i = 0; i < std::size(all); ++i) {
    if (*all[i]) (*all[i])->resize(sizes[i]);
  }
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
  AppendNumbers(head.accesses, locations, false);
  AppendNumbers(head.accesses, locations, true);
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

void FirstBursts::AppendNumbers(std::span<const RecordedAccess> accesses,
                                std::span<const TakenBranch> locations, bool are_values) {
  const auto count = static_cast<uint64_t>(std::ranges::count_if(
      accesses, [&](const RecordedAccess& of) { return IsValue(of.kind) == are_values; }));
  if (count == 0) return;
  NumberBytes& numbers = are_values ? values_ : accesses_;
  if (!numbers.bytes) numbers.bytes.emplace(&memory_);
  if (numbers.last.empty()) numbers.last.resize(NumberPredictor::kSlots);
  const auto put = [&](uint64_t number) { AppendUleb128(number, &*numbers.bytes); };
  put(kept_ - std::exchange(numbers.last_burst, kept_ + 1));
  put(count);
  uint32_t last_branch = 0;
  uint32_t last_position = 0;
  for (const RecordedAccess& access : accesses) {
    if (IsValue(access.kind) != are_values) continue;
    const uint32_t position = PositionOf(access);
    const uint32_t later = access.branch - std::exchange(last_branch, access.branch);
    put(later);
    put(later == 0 ? position - last_position : position);
    last_position = position;
    uint64_t& predicted =
        numbers.last[NumberPredictor::FindSlot(IndexOf(locations[access.branch]), position)];
    put(ToZigzag(access.number - std::exchange(predicted, access.number)));
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
  for (NumberBytes* numbers : {&accesses_, &values_}) {
    numbers->bytes.reset();
    numbers->last = std::pmr::vector<uint64_t>(&memory_);
    numbers->last_burst = 0;
  }
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
  recording.kinds = recorded_kinds_;
  const auto copy = [](const std::optional<std::pmr::deque<uint8_t>>& from,
                       std::vector<uint8_t>* to) {
    if (from) to->assign(from->begin(), from->end());
  };
  copy(bytes_, &recording.bytes);
  copy(accesses_.bytes, &recording.access_bytes);
  copy(values_.bytes, &recording.value_bytes);
  return SerializeKeptBursts(kept, checked);
}

void KeepBursts(uint64_t bytes, KeptDetail* detail) {
  detail->kept_burst_bytes = bytes;
  detail->new_burst_keeper = nullptr;
  if (bytes == 0) return;
  detail->new_burst_keeper = [](CountedMemory* memory,
                                const KeptDetail& of) -> std::unique_ptr<BurstKeeper> {
    return std::make_unique<FirstBursts>(memory, of.kept_burst_bytes, of.kept_kinds);
  };
}

}  // namespace hbbp
