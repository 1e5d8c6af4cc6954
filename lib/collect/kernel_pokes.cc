// AddSample counts samples by page, and AddPoke keeps the records. Code sorts these by address and
// makes a Region of those that overlap. Within a region AddRegion replays them in the order of
// time, twice: first it adds up the samples of each version, which it knows by a hash, and then it
// stops at the version that has most. ImportPerfData calls all of this.
#include "collect/kernel_pokes.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/address.h"
#include "base/linux_constants.h"

namespace hbbp {
namespace {

// A recording can have any content. Tracing all functions of a kernel changes some ten thousands.
constexpr size_t kMaxPokes = size_t{1} << 18;
constexpr size_t kMaxBytes = size_t{8} << 20;
constexpr size_t kMaxCounts = size_t{1} << 18;
// No function reaches farther from a sample of it.
constexpr uint64_t kMaxDistance = uint64_t{64} << 10;
// Generated code is smaller, or else is judged by its start.
constexpr uint64_t kMaxJudgedPages = 16;

constexpr uint64_t PageOf(uint64_t address) { return address & ~(kPageBytes - 1); }

// Returns the finalizer of MurmurHash3, in which every bit depends on every other.
uint64_t Mix(uint64_t value) {
  value = (value ^ value >> 33) * 0xff51afd7ed558ccd;
  value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53;
  return value ^ value >> 33;
}

}  // namespace

// The bytes from the first poked one to the last, at one time.
class KernelPokes::Region {
 public:
  static constexpr int16_t kUnknown = -1;

  Region(uint64_t start, uint64_t end) : start_(start), content_(end - start, kUnknown) {}

  void Set(uint64_t address, int16_t value) {
    int16_t& known = content_[address - start_];
    hash_ += Term(address, value) - Term(address, known);
    known = value;
  }
  void Write(uint64_t address, std::span<const uint8_t> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) Set(address + i, bytes[i]);
  }
  void Erase(uint64_t start, uint64_t end) {
    for (uint64_t address = start; address < end; ++address) Set(address, kUnknown);
  }
  bool Has(uint64_t address, std::span<const uint8_t> bytes) const {
    return std::equal(bytes.begin(), bytes.end(), content_.begin() + Offset(address));
  }

  // Counts the known bytes that `other`, which has the same bounds, does not have.
  uint64_t CountKnownUnlike(const Region& other) const {
    uint64_t count = 0;
    for (size_t i = 0; i < content_.size(); ++i) {
      count += content_[i] != kUnknown && content_[i] != other.content_[i];
    }
    return count;
  }
  // Appends a chunk for each run of known bytes.
  void AppendTo(std::vector<CodeChunk>* chunks) const {
    bool continues = false;
    for (size_t i = 0; i < content_.size(); ++i) {
      const bool is_known = content_[i] != kUnknown;
      if (is_known && !continues) chunks->push_back({start_ + i, {}, kPokedCode});
      if (is_known) chunks->back().bytes.push_back(static_cast<uint8_t>(content_[i]));
      continues = is_known;
    }
  }

  bool IsEmpty() const { return hash_ == 0; }
  uint64_t hash() const { return hash_; }

 private:
  std::ptrdiff_t Offset(uint64_t address) const {
    return static_cast<std::ptrdiff_t>(address - start_);
  }
  // The hash is a sum over known bytes, so that a change costs what it changes.
  static uint64_t Term(uint64_t address, int16_t value) {
    return value == kUnknown ? 0 : Mix(address << 8 | static_cast<uint64_t>(value));
  }

  const uint64_t start_;
  std::vector<int16_t> content_;
  uint64_t hash_ = 0;
};

void KernelPokes::AddTo(SampleCounts* counts) {
  const bool is_new = counts->empty() || counts->back().pokes != pokes_.size();
  if (is_new && counts_ < kMaxCounts) {
    counts->push_back({pokes_.size(), counts->empty() ? 0 : counts->back().samples});
    ++counts_;
  }
  if (!counts->empty()) ++counts->back().samples;
}

void KernelPokes::AddSample(uint64_t ip) {
  if (!IsKernelAddress(ip)) return;
  AddTo(&of_kernel_);
  const auto page = of_pages_.find(PageOf(ip));
  if (page != of_pages_.end()) return AddTo(&page->second);
  if (counts_ < kMaxCounts) AddTo(&of_pages_[PageOf(ip)]);
}

void KernelPokes::AddPoke(const TextPokeRecord& poke) {
  const size_t size = poke.old_bytes.size() + poke.new_bytes.size();
  const size_t longer = std::max(poke.old_bytes.size(), poke.new_bytes.size());
  const bool fits = IsKernelAddress(poke.address) && poke.address + longer > poke.address &&
                    pokes_.size() < kMaxPokes && bytes_.size() + size <= kMaxBytes;
  if (!fits) {
    ++excess_;
    return;
  }
  pokes_.push_back({poke.address, bytes_.size(), static_cast<uint16_t>(poke.old_bytes.size()),
                    static_cast<uint16_t>(poke.new_bytes.size())});
  bytes_.insert(bytes_.end(), poke.old_bytes.begin(), poke.old_bytes.end());
  bytes_.insert(bytes_.end(), poke.new_bytes.begin(), poke.new_bytes.end());
}

void KernelPokes::AddGenerated(uint64_t address, std::span<const uint8_t> code) {
  TextPokeRecord poke;
  poke.address = address;
  poke.new_bytes = code;
  const bool is_possible = IsKernelAddress(address) && code.size() <= UINT16_MAX;
  if (is_possible) AddPoke(poke);
  generated_ = pokes_.size();
}

bool KernelPokes::HasSamplesNear(uint64_t start, uint64_t end) const {
  const auto page = of_pages_.lower_bound(PageOf(start - kMaxDistance));
  return page != of_pages_.end() && page->first <= end + std::min(kMaxDistance, UINT64_MAX - end);
}

std::vector<const KernelPokes::SampleCounts*> KernelPokes::CountsIn(uint64_t start,
                                                                    uint64_t end) const {
  std::vector<const SampleCounts*> counts;
  const uint64_t judged = std::min(end - PageOf(start), kMaxJudgedPages * kPageBytes);
  for (auto page = of_pages_.lower_bound(PageOf(start));
       page != of_pages_.end() && page->first - PageOf(start) < judged; ++page) {
    counts.push_back(&page->second);
  }
  if (counts.empty()) counts.push_back(&of_kernel_);
  return counts;
}

PokedCode KernelPokes::Code() const {
  PokedCode code;
  code.records = pokes_.size() - generated_;
  code.excess = excess_;
  std::vector<size_t> order(pokes_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [this](size_t poke) { return pokes_[poke].address; });
  for (size_t first = 0, last = 0; first < order.size(); first = last) {
    const uint64_t start = pokes_[order[first]].address;
    uint64_t end = pokes_[order[first]].end();
    for (last = first + 1; last < order.size() && pokes_[order[last]].address < end; ++last) {
      end = std::max(end, pokes_[order[last]].end());
    }
    if (!HasSamplesNear(start, end)) continue;
    const std::span<size_t> pokes = std::span(order).subspan(first, last - first);
    std::ranges::sort(pokes);
    AddRegion(pokes, start, end, &code);
  }
  return code;
}

void KernelPokes::Apply(const Poke& poke, Region* region) const {
  region->Erase(poke.address, poke.end());
  region->Write(poke.address, NewBytes(poke));
}

void KernelPokes::AddRegion(std::span<const size_t> pokes, uint64_t start, uint64_t end,
                            PokedCode* code) const {
  // What was there at first is what the first change of each byte replaced.
  Region first(start, end);
  for (auto index = pokes.rbegin(); index != pokes.rend(); ++index) {
    const Poke& poke = pokes_[*index];
    first.Erase(poke.address, poke.end());
    first.Write(poke.address, OldBytes(poke));
  }
  const std::vector<const SampleCounts*> counts = CountsIn(start, end);
  std::unordered_map<uint64_t, uint64_t> samples;  // by the hash of the version
  uint64_t max_samples = 0, counted = 0;
  Region version = first;
  const auto count_until = [&](size_t poke) {
    uint64_t total = 0;
    for (const SampleCounts* list : counts) {
      const auto later = std::ranges::upper_bound(*list, poke, {}, &SampleCount::pokes);
      if (later != list->begin()) total += std::prev(later)->samples;
    }
    const uint64_t more = total - std::exchange(counted, total);
    if (!version.IsEmpty()) max_samples = std::max(max_samples, samples[version.hash()] += more);
  };
  for (const size_t index : pokes) {
    count_until(index);
    if (!version.Has(pokes_[index].address, OldBytes(pokes_[index]))) ++code->unexpected;
    Apply(pokes_[index], &version);
  }
  count_until(pokes_.size());
  if (max_samples == 0) return;
  Region chosen = first;
  for (auto index = pokes.begin(); index != pokes.end() && samples[chosen.hash()] != max_samples;
       ++index) {
    Apply(pokes_[*index], &chosen);
  }
  chosen.AppendTo(&code->chunks);
  if (pokes.back() < generated_) return;
  code->bytes += chosen.CountKnownUnlike(Region(start, end));
  code->earlier_bytes += chosen.CountKnownUnlike(version);
}

std::string DescribePokes(const PokedCode& code) {
  if (code.records == 0 && code.excess == 0) return "";
  std::string text = std::to_string(code.records) + (code.records == 1 ? " change" : " changes") +
                     " of kernel code while it was recorded (TEXT_POKE)";
  if (code.bytes == 0) {
    text += ", but no sample saw that code";
  } else {
    text += ": " + std::to_string(code.bytes) +
            " bytes are decoded as most samples near them saw them, " +
            std::to_string(code.earlier_bytes) + " of them unlike they were at the end";
  }
  if (code.unexpected != 0) {
    text += "; before " + std::to_string(code.unexpected) +
            " of them the code was changed without a record";
  }
  if (code.excess != 0) {
    text += "; " + std::to_string(code.excess) + " more are too many or not of the kernel";
  }
  return text;
}

}  // namespace hbbp
