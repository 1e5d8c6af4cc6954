// These functions sort and merge the counts of a profile. Normalize sorts by the key of a record
// (KeyOf) and adds up equal keys; for branches it sorts only those that were appended, and merges
// them into a copy, or sorts all in place if there is no memory for one. Loops and comparisons call
// CancelCheck where the caller gave one. collect/ calls them for snapshots, profile_merge.cc and
// profile_file.cc for whole profiles.
#include "profile/profile_data.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/counted_memory.h"
#include "base/random_bits.h"

namespace hbbp {
namespace {

auto KeyOf(const IpCount& count) {
  return std::tie(count.module, count.offset, count.position, count.source, count.thread,
                  count.slice);
}

auto KeyOf(const BranchCount& branch) {
  return std::tie(branch.to_module, branch.to, branch.stream_end, branch.from_module, branch.from,
                  branch.source, branch.thread, branch.slice);
}

auto KeyOf(const IbsCount& count) {
  return std::tie(count.module, count.offset, count.name, count.level, count.bucket, count.source,
                  count.thread);
}

auto KeyOf(const IbsAccesses& accesses) {
  return std::tie(accesses.module, accesses.name, accesses.address, accesses.bytes, accesses.source,
                  accesses.thread, accesses.node);
}

void AddTo(IpCount* sum, const IpCount& more) {
  sum->samples += more.samples;
  sum->period_sum += more.period_sum;
  sum->period_squares += more.period_squares;
}

void AddTo(IbsCount* sum, const IbsCount& more) { sum->sum += more.sum; }

void AddTo(BranchCount* sum, const BranchCount& more) {
  sum->number += more.number;
  sum->oldest += more.oldest;
  sum->oldest_expected += more.oldest_expected;
  sum->weights += more.weights;
  sum->replicates.Add(more.replicates);
}

void AddTo(IbsAccesses* sum, const IbsAccesses& more) { AddAccesses(more, sum); }

// Compares by keys, and counts a step of `check` for each comparison.
auto KeyOrder(CancelCheck* check) {
  return [check](const auto& a, const auto& b) {
    check->Step();
    return KeyOf(a) < KeyOf(b);
  };
}

// Calls normalize(check) with a check that nothing cancels if `check` is nullptr.
template <typename Normalize>
void WithCheck(CancelCheck* check, Normalize&& normalize) {
  CancelCheck unchecked(nullptr);
  normalize(check == nullptr ? &unchecked : check);
}

// Returns whether there is nothing to do, as for profiles that were saved.
template <typename Record>
bool IsNormal(std::span<Record> records, CancelCheck* check) {
  const auto is_not_before = [is_before = KeyOrder(check)](const Record& a, const Record& b) {
    return !is_before(a, b);
  };
  return std::adjacent_find(records.begin(), records.end(), is_not_before) == records.end();
}

// Adds each record to the one before it, if their keys are equal. Returns how many are kept.
template <typename Record>
size_t AddEqual(std::span<Record> sorted, CancelCheck* check) {
  size_t kept = 0;
  for (Record& record : sorted) {
    check->Step();
    if (kept > 0 && KeyOf(sorted[kept - 1]) == KeyOf(record)) {
      AddTo(&sorted[kept - 1], record);
    } else {
      if (&sorted[kept] != &record) sorted[kept] = record;
      ++kept;
    }
  }
  return kept;
}

// Records of IBS are few, and sorting them by a heap takes half the code and twice the time.
template <typename Record, typename Order>
void Sort(std::span<Record> records, const Order& order) {
  if constexpr (std::is_same_v<Record, IpCount>) {
    std::sort(records.begin(), records.end(), order);
  } else {
    std::make_heap(records.begin(), records.end(), order);
    std::sort_heap(records.begin(), records.end(), order);
  }
}

template <typename Record>
void SortAndAdd(std::vector<Record>* records, CancelCheck* check) {
  WithCheck(check, [records](CancelCheck* checked) {
    const std::span<Record> all(*records);
    if (IsNormal(all, checked)) return;
    Sort(all, KeyOrder(checked));
    records->resize(AddEqual(all, checked));
  });
}

// Returns the end of the branches that are sorted already.
size_t CountSorted(std::span<const BranchCount> branches, CancelCheck* check) {
  return static_cast<size_t>(
      std::is_sorted_until(branches.begin(), branches.end(), KeyOrder(check)) - branches.begin());
}

// Copies normalized `branches`, of which so many at the beginning are sorted, to `copy`, which has
// room for all. Returns how many there are then. What takes most of the time is new memory, of
// which it needs no more than some bytes for each branch that is not sorted.
size_t CopyNormalized(std::span<const BranchCount> branches, size_t sorted, CancelCheck* check,
                      BranchCount* copy) {
  const auto is_before = KeyOrder(check);
  const auto head = branches.first(sorted), tail = branches.subspan(sorted);
  std::vector<uint32_t> order(tail.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return is_before(tail[a], tail[b]); });
  auto of_head = head.begin();
  auto of_tail = order.begin();
  size_t kept = 0;
  while (of_head != head.end() || of_tail != order.end()) {
    check->Step();
    const bool takes_tail =
        of_head == head.end() || (of_tail != order.end() && is_before(tail[*of_tail], *of_head));
    const BranchCount& branch = takes_tail ? tail[*of_tail++] : *of_head++;
    if (kept > 0 && KeyOf(copy[kept - 1]) == KeyOf(branch)) {
      AddTo(&copy[kept - 1], branch);
    } else {
      copy[kept++] = branch;
    }
  }
  return kept;
}

// Returns how many are kept.
size_t NormalizeInPlace(std::span<BranchCount> branches, CancelCheck* check) {
  Sort(branches, KeyOrder(check));
  return AddEqual(branches, check);
}

constexpr std::string_view kSeparator = "; ";
constexpr size_t kMaxListBytes = 4096;

// Removes the first name from a list.
std::string_view TakeName(std::string_view* list) {
  const std::string_view name = list->substr(0, list->find(kSeparator));
  list->remove_prefix(std::min(list->size(), name.size() + kSeparator.size()));
  return name;
}

// Adds the names of `more` that the list lacks, as long as there is room. Files that are not what
// they seem have lists without end.
void AddToList(std::string_view more, std::string* list) {
  more = more.substr(0, kMaxListBytes);
  while (!more.empty()) {
    const std::string_view name = TakeName(&more);
    if (list->size() + kSeparator.size() + name.size() > kMaxListBytes) return;
    bool is_known = false;
    for (std::string_view rest = *list; !rest.empty();) is_known |= TakeName(&rest) == name;
    if (is_known) continue;
    if (!list->empty()) *list += kSeparator;
    *list += name;
  }
}

}  // namespace

uint64_t SeedOf(const IpCount& count) {
  const uint64_t slice = count.slice == kNoSlice ? 0 : uint64_t{count.slice} + 1;
  RandomBits of_module(uint64_t{count.module} << 8 ^ static_cast<uint64_t>(count.position));
  return RandomBits(of_module.Next() ^ count.offset ^ uint64_t{count.thread} << 48 ^
                    uint64_t{count.source} << 40 ^ slice << 28)
      .Next();
}

void Normalize(std::vector<IpCount>* counts, CancelCheck* check) { SortAndAdd(counts, check); }
void Normalize(std::vector<IbsCount>* counts, CancelCheck* check) { SortAndAdd(counts, check); }
void Normalize(std::vector<IbsAccesses>* accesses, CancelCheck* check) {
  SortAndAdd(accesses, check);
}

void AddAccesses(const IbsAccesses& more, IbsAccesses* sum) {
  sum->loads += more.loads;
  sum->stores += more.stores;
  sum->misses += more.misses;
  sum->miss_cycles += more.miss_cycles;
  sum->local += more.local;
  sum->remote += more.remote;
}

void Normalize(std::vector<BranchCount>* branches, CancelCheck* check) {
  WithCheck(check, [branches](CancelCheck* checked) {
    const std::span<BranchCount> all(*branches);
    if (IsNormal(all, checked)) return;
    const bool has_memory =
        HasMemoryFor([&] { *branches = CopyNormalized(all, CountSorted(all, checked), checked); });
    if (!has_memory) branches->resize(NormalizeInPlace(all, checked));
  });
}

void Normalize(std::pmr::vector<BranchCount>* branches) {
  CancelCheck unchecked(nullptr);
  const std::span<BranchCount> all(*branches);
  if (IsNormal(all, &unchecked)) return;
  const bool has_memory = HasMemoryFor([&] {
    std::pmr::vector<BranchCount> copy(all.size(), branches->get_allocator());
    copy.resize(CopyNormalized(all, CountSorted(all, &unchecked), &unchecked, copy.data()));
    *branches = std::move(copy);
  });
  if (!has_memory) branches->resize(NormalizeInPlace(all, &unchecked));
}

void NormalizeIbs(ProfileData* data, CancelCheck* check) {
  Normalize(&data->ibs_counts, check);
  Normalize(&data->ibs_buckets, check);
  Normalize(&data->ibs_lines, check);
  Normalize(&data->ibs_data, check);
}

void Normalize(ProfileData* data, CancelCheck* check) {
  Normalize(&data->counts, check);
  Normalize(&data->branches, check);
  NormalizeIbs(data, check);
}

void SortChunks(std::vector<CodeChunk>* chunks) {
  std::sort(chunks->begin(), chunks->end(),
            [](const CodeChunk& a, const CodeChunk& b) { return a.offset < b.offset; });
}

void MakeRoomFor(size_t more, std::pmr::vector<BranchCount>* branches) {
  const size_t needed = branches->size() + more;
  if (needed <= branches->capacity()) return;
  const size_t twice = 2 * branches->capacity();
  if (needed < twice && HasMemoryFor([&] { branches->reserve(twice); })) return;
  branches->reserve(needed);
}

std::vector<BranchCount> CopyNormalized(std::span<const BranchCount> branches, size_t sorted,
                                        CancelCheck* check) {
  constexpr size_t kStep = 16384;
  std::vector<BranchCount> copy;
  copy.reserve(branches.size());
  WithCheck(check, [&](CancelCheck* checked) {
    while (copy.size() < branches.size()) {
      checked->CheckNow();
      copy.resize(std::min(copy.size() + kStep, branches.size()));
    }
    copy.resize(CopyNormalized(branches, sorted, checked, copy.data()));
  });
  return copy;
}

size_t CountWithoutSlices(std::span<const BranchCount> branches) {
  size_t count = branches.empty() ? 0 : 1;
  for (size_t i = 1; i < branches.size(); ++i) {
    BranchCount then = branches[i - 1];
    then.slice = branches[i].slice;
    if (KeyOf(then) != KeyOf(branches[i])) ++count;
  }
  return count;
}

void AddTraceStatistics(const TraceStatistics& more, TraceStatistics* sum) {
  AddToList(more.mode, &sum->mode);
  AddToList(more.method, &sum->method);
  sum->bursts += more.bursts;
  sum->taken_branches += more.taken_branches;
  sum->breakpoints += more.breakpoints;
  sum->lookahead_instructions += more.lookahead_instructions;
  sum->decoded_instructions += more.decoded_instructions;
  sum->handler_ns += more.handler_ns;
  sum->verified_branches += more.verified_branches;
  sum->disagreements += more.disagreements;
  for (const auto& counter : more.counters) {
    const auto known = std::find_if(sum->counters.begin(), sum->counters.end(),
                                    [&](const auto& c) { return c.first == counter.first; });
    if (known == sum->counters.end()) {
      AddCounter(counter.first.c_str(), counter.second, &sum->counters);
    } else {
      known->second += counter.second;
    }
  }
}

}  // namespace hbbp
