#include "probes/count_table.h"

#include <algorithm>
#include <tuple>

namespace hbbp {
namespace {

constexpr size_t kFirstSlots = 64;

}  // namespace

uint64_t HashRow(const ProbeRow& row) {
  uint64_t hash = 0;
  for (const uint64_t field : row) {
    hash = (hash ^ field) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

CountTable::Entry* CountTable::Insert(const ProbeRow& row, Entry* slot) {
  if (rows_ == max_rows_) return nullptr;
  if (++rows_ > slots_.size() / 2) {
    std::vector<Entry> old(std::max(kFirstSlots, slots_.size() * 2));
    old.swap(slots_);
    for (const Entry& entry : old) {
      if (entry.count != 0) *Find(entry.row) = entry;
    }
    slot = Find(row);
  }
  slot->row = row;
  return slot;
}

std::vector<CountTable::Entry> CountTable::Sorted() const {
  std::vector<Entry> entries;
  entries.reserve(rows_);
  std::ranges::copy_if(slots_, std::back_inserter(entries),
                       [](const Entry& entry) { return entry.count != 0; });
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(b.estimate, a.row) < std::tie(a.estimate, b.row);
  });
  return entries;
}

}  // namespace hbbp
