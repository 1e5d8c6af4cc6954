#include "ibs_accesses.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/linux_constants.h"
#include "format.h"

namespace hbbp::tools {
namespace {

// Adds the numbers of a line or an object.
template <typename Record>
void Add(const Record& record, IbsAccessRow* row) {
  row->loads += record.loads;
  row->stores += record.stores;
  row->misses += record.misses;
  row->miss_cycles += record.miss_cycles;
  row->local += record.local;
  row->remote += record.remote;
}

void SortBySamples(std::vector<IbsAccessRow>* rows) {
  std::ranges::stable_sort(*rows, std::greater(), &IbsAccessRow::samples);
}

// Returns IbsAccessRow::nodes. Accesses are by node, HBBP_NO_INDEX of an unknown one.
std::string NodesText(const std::map<uint32_t, uint64_t>& accesses, uint64_t all) {
  if (accesses.begin()->first == HBBP_NO_INDEX) return "";
  std::vector<std::pair<uint32_t, uint64_t>> nodes(accesses.begin(), accesses.end());
  std::ranges::stable_sort(nodes, std::greater(), &std::pair<uint32_t, uint64_t>::second);
  std::string text;
  for (const auto& [node, samples] : nodes) {
    if (!text.empty()) text += ", ";
    text += node == HBBP_NO_INDEX ? "-" : std::to_string(node);
    if (nodes.size() == 1) continue;
    text += " (" + FormatShare(static_cast<double>(samples) / static_cast<double>(all)) + ")";
  }
  return text;
}

}  // namespace

std::vector<IbsAccessRow> CollectIbsLines(const hbbp::profile_view& profile, bool by_page) {
  using Location = std::pair<uint32_t, uint64_t>;  // process and address
  std::map<Location, IbsAccessRow> by_location;
  std::map<Location, std::set<uint32_t>> threads;
  std::map<Location, std::map<uint32_t, uint64_t>> accesses;  // by node
  for (const hbbp_ibs_line& line : profile.ibs_lines()) {
    const uint64_t address = by_page ? line.address / kPageBytes * kPageBytes : line.address;
    const Location location = {line.pid, address};
    IbsAccessRow& row = by_location[location];
    Add(line, &row);
    accesses[location][line.node] += line.loads + line.stores;
    threads[location].insert(line.tid);
  }
  std::vector<IbsAccessRow> rows;
  for (auto& [location, row] : by_location) {
    row.pid = location.first;
    row.address = location.second;
    row.threads = threads[location].size();
    row.nodes = NodesText(accesses[location], row.samples());
    rows.push_back(std::move(row));
  }
  SortBySamples(&rows);
  return rows;
}

std::vector<IbsAccessRow> CollectIbsObjects(const hbbp::analysis& analysis) {
  std::vector<IbsAccessRow> rows;
  for (const hbbp_ibs_object& object : analysis.ibs_objects()) {
    IbsAccessRow& row = rows.emplace_back();
    Add(object, &row);
    row.threads = object.threads;
    row.module = object.module;
    row.address = object.address;
    row.size = object.size;
    row.name = object.kind == HBBP_IBS_SYMBOL ? Demangle(object.name) : object.name;
  }
  SortBySamples(&rows);
  return rows;
}

}  // namespace hbbp::tools
