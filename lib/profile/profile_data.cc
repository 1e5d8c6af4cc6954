// These functions sort and merge the counts of a profile. Normalize sorts by the key of a record
// (KeyOf) and adds up equal keys; for branches it sorts only those that were appended, and merges
// them in place if there is no memory for a copy. Loops and comparisons call CancelCheck where the
// caller gave one. collect/ calls them for snapshots, profile_merge.cc and profile_file.cc for
// whole profiles.
#include "profile/profile_data.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <tuple>
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
  return std::tie(count.module, count.offset, count.event, count.source, count.thread);
}

auto KeyOf(const IbsBucket& bucket) {
  return std::tie(bucket.latency, bucket.bucket, bucket.source, bucket.thread);
}

auto KeyOf(const IbsLine& line) { return std::tie(line.address, line.source, line.thread); }

void AddTo(IpCount* sum, const IpCount& more) {
  sum->samples += more.samples;
  sum->period_sum += more.period_sum;
  sum->period_squares += more.period_squares;
}

void AddTo(IbsCount* sum, const IbsCount& more) { sum->sum += more.sum; }

void AddTo(IbsBucket* sum, const IbsBucket& more) { sum->samples += more.samples; }

void AddTo(IbsLine* sum, const IbsLine& more) {
  sum->loads += more.loads;
  sum->stores += more.stores;
  sum->misses += more.misses;
  sum->miss_cycles += more.miss_cycles;
}

constexpr auto kIsBefore = [](const auto& a, const auto& b) { return KeyOf(a) < KeyOf(b); };

// Calls body(is_before, step), both of which check `check` if there is one.
template <typename Body>
void WithCheck(CancelCheck* check, Body&& body) {
  if (check == nullptr) return body(kIsBefore, [] {});
  body(
      [check](const auto& a, const auto& b) {
        check->Step();
        return kIsBefore(a, b);
      },
      [check] { check->Step(); });
}

template <typename Counted, typename IsBefore, typename Step>
void SortAndAdd(std::vector<Counted>* counts, IsBefore is_before, Step step) {
  std::sort(counts->begin(), counts->end(), is_before);
  size_t kept = 0;
  for (const Counted& count : *counts) {
    step();
    if (kept > 0 && KeyOf((*counts)[kept - 1]) == KeyOf(count)) {
      AddTo(&(*counts)[kept - 1], count);
    } else {
      (*counts)[kept++] = count;
    }
  }
  counts->resize(kept);
}

template <typename Counted>
void SortAndAdd(std::vector<Counted>* counts, CancelCheck* check) {
  WithCheck(check, [counts](auto is_before, auto step) { SortAndAdd(counts, is_before, step); });
}

template <typename Branches, typename IsBefore>
void SortWithSortedHead(Branches* branches, IsBefore is_before) {
  const auto tail = std::is_sorted_until(branches->begin(), branches->end(), is_before);
  if (tail == branches->end()) return;
  Branches merged(branches->get_allocator());
  try {
    merged.reserve(branches->size());
  } catch (const std::bad_alloc&) {
    std::sort(branches->begin(), branches->end(), is_before);
    return;
  }
  std::sort(tail, branches->end(), is_before);
  std::merge(branches->begin(), tail, tail, branches->end(), std::back_inserter(merged), is_before);
  *branches = std::move(merged);
}

template <typename Branches, typename IsBefore, typename Step>
void NormalizeBranches(Branches* branches, IsBefore is_before, Step step) {
  SortWithSortedHead(branches, is_before);
  size_t kept = 0;
  for (size_t i = 0; i < branches->size(); ++i) {
    step();
    const BranchCount& branch = (*branches)[i];
    if (kept > 0 && KeyOf((*branches)[kept - 1]) == KeyOf(branch)) {
      BranchCount& sum = (*branches)[kept - 1];
      sum.number += branch.number;
      sum.oldest += branch.oldest;
      sum.oldest_expected += branch.oldest_expected;
      sum.weights += branch.weights;
      sum.replicates.Add(branch.replicates);
    } else {
      if (kept != i) (*branches)[kept] = branch;
      ++kept;
    }
  }
  branches->resize(kept);
}

void AddToList(const std::string& more, std::string* list) {
  constexpr std::string_view kSeparator = "; ";
  if (more.empty() || *list == more) return;
  const std::string separated = *list + std::string(kSeparator);
  if (separated.find(more + std::string(kSeparator)) != std::string::npos) return;
  *list = list->empty() ? more : separated + more;
}

}  // namespace

uint64_t SeedOf(const IpCount& count) {
  const uint64_t slice = count.slice == kNoSlice ? 0 : uint64_t{count.slice} + 1;
  return RandomBits(count.offset ^ uint64_t{count.thread} << 48 ^ uint64_t{count.source} << 40 ^
                    slice << 28)
      .Next();
}

void Normalize(std::vector<IpCount>* counts, CancelCheck* check) { SortAndAdd(counts, check); }
void Normalize(std::vector<IbsCount>* counts, CancelCheck* check) { SortAndAdd(counts, check); }
void Normalize(std::vector<IbsBucket>* buckets, CancelCheck* check) { SortAndAdd(buckets, check); }
void Normalize(std::vector<IbsLine>* lines, CancelCheck* check) { SortAndAdd(lines, check); }

void Normalize(std::vector<BranchCount>* branches, CancelCheck* check) {
  WithCheck(check, [branches](auto is_before, auto step) {
    NormalizeBranches(branches, is_before, step);
  });
}
void Normalize(std::pmr::vector<BranchCount>* branches) {
  NormalizeBranches(branches, kIsBefore, [] {});
}

void MakeRoomFor(size_t more, std::pmr::vector<BranchCount>* branches) {
  const size_t needed = branches->size() + more;
  if (needed <= branches->capacity()) return;
  const size_t twice = 2 * branches->capacity();
  if (needed < twice && HasMemoryFor([&] { branches->reserve(twice); })) return;
  branches->reserve(needed);
}

void CopyInSteps(std::span<const BranchCount> from, CancelCheck* check,
                 std::vector<BranchCount>* to) {
  constexpr size_t kStep = 16384;
  to->reserve(to->size() + from.size());
  for (size_t done = 0; done < from.size(); done += kStep) {
    if (check != nullptr) check->CheckNow();
    const auto part = from.subspan(done, std::min(kStep, from.size() - done));
    to->insert(to->end(), part.begin(), part.end());
  }
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
      sum->counters.push_back(counter);
    } else {
      known->second += counter.second;
    }
  }
}

}  // namespace hbbp
