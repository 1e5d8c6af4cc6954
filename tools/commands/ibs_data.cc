#include "commands/ibs_data.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/linux_constants.h"
#include "format.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

struct Accesses {
  uint64_t loads = 0, stores = 0, misses = 0, miss_cycles = 0, local = 0, remote = 0;
  uint64_t threads = 0;

  uint64_t samples() const { return loads + stores; }
};

// Adds the numbers of a line or an object.
template <typename Record>
void Add(const Record& record, Accesses* accesses) {
  accesses->loads += record.loads;
  accesses->stores += record.stores;
  accesses->misses += record.misses;
  accesses->miss_cycles += record.miss_cycles;
  accesses->local += record.local;
  accesses->remote += record.remote;
}

// Returns a table with columns for accesses between others.
Table TableOfAccesses(std::vector<Column> before, std::vector<Column> after) {
  std::vector<Column> columns = std::move(before);
  for (Column column : {Column{"loads", "loads", Column::kCount},
                        {"stores", "stores", Column::kCount},
                        {"misses", "DC misses", Column::kCount},
                        {"miss_cycles", "miss cycles", Column::kCount},
                        {"local", "local", Column::kCount},
                        {"remote", "remote", Column::kCount},
                        {"threads", "threads", Column::kCount}}) {
    columns.push_back(std::move(column));
  }
  for (Column& column : after) columns.push_back(std::move(column));
  return Table(std::move(columns));
}

void Append(const Accesses& accesses, std::vector<Cell>* cells) {
  for (const uint64_t number :
       {accesses.loads, accesses.stores, accesses.misses, accesses.miss_cycles, accesses.local,
        accesses.remote, accesses.threads}) {
    cells->emplace_back(number);
  }
}

// Sorts by samples, and returns how many rows there are at most.
template <typename Rows>
size_t SortAndCount(uint64_t wanted, Rows* rows) {
  std::stable_sort(rows->begin(), rows->end(), [](const auto& a, const auto& b) {
    return a.second.samples() > b.second.samples();
  });
  return std::min<uint64_t>(wanted, rows->size());
}

void AddEnd(size_t shown, size_t all, const char* what, uint64_t dropped, const char* dropped_what,
            Table* table) {
  table->AddField("dropped", dropped);
  table->AddSummary(FormatCount(uint64_t{shown}) + " of " + FormatCount(uint64_t{all}) + " " +
                    what);
  if (dropped != 0) table->AddNote(FormatCount(dropped) + " " + dropped_what);
}

}  // namespace

Table LineTable(const hbbp::profile& profile, bool by_page, uint64_t wanted) {
  using Location = std::pair<uint32_t, uint64_t>;  // process and address
  std::map<Location, Accesses> accesses;
  std::map<Location, std::set<uint32_t>> threads;
  for (const hbbp_ibs_line& line : profile.ibs_lines()) {
    const uint64_t address = by_page ? line.address / kPageBytes * kPageBytes : line.address;
    const Location location = {line.pid, address};
    Add(line, &accesses[location]);
    threads[location].insert(line.tid);
  }
  for (auto& [location, sum] : accesses) sum.threads = threads[location].size();
  std::vector<std::pair<Location, Accesses>> rows(accesses.begin(), accesses.end());
  const size_t shown = SortAndCount(wanted, &rows);
  Table table = TableOfAccesses(
      {{"pid", "pid"}, {"address", by_page ? "page" : "line", Column::kAddress}}, {});
  for (size_t i = 0; i < shown; ++i) {
    const auto& [location, sum] = rows[i];
    std::vector<Cell> cells = {uint64_t{location.first}, location.second};
    Append(sum, &cells);
    table.AddRow(std::move(cells));
  }
  AddEnd(shown, rows.size(), by_page ? "pages" : "lines",
         SumOfCounters(SourcesAsRecorded(profile), "ibs-accesses-dropped"),
         "accesses to rarely sampled lines were dropped", &table);
  return table;
}

Table ObjectTable(const hbbp::analysis& analysis, uint64_t wanted) {
  const std::vector<hbbp_module> modules = analysis.get_profile().modules();
  std::vector<std::pair<hbbp_ibs_object, Accesses>> rows;
  for (const hbbp_ibs_object& object : analysis.ibs_objects()) {
    Accesses accesses;
    Add(object, &accesses);
    accesses.threads = object.threads;
    rows.emplace_back(object, accesses);
  }
  const size_t shown = SortAndCount(wanted, &rows);
  Table table = TableOfAccesses({{"module", "module", Column::kPath},
                                 {"address", "address", Column::kAddress},
                                 {"size", "size", Column::kCount}},
                                {{"object", "object", Column::kFunction}});
  for (size_t i = 0; i < shown; ++i) {
    const auto& [object, accesses] = rows[i];
    std::vector<Cell> cells(3);
    if (object.module < modules.size()) cells[0] = modules[object.module].path;
    if (object.address != HBBP_NO_ADDRESS) {
      cells[1] = object.address;
      cells[2] = object.size;
    }
    Append(accesses, &cells);
    const bool is_symbol = object.kind == HBBP_IBS_SYMBOL;
    cells.push_back(is_symbol ? Demangle(object.name) : std::string(object.name));
    table.AddRow(std::move(cells));
  }
  AddEnd(shown, rows.size(), "objects", SumOfCounters(Sources(analysis), "ibs-data-dropped"),
         "accesses to rarely sampled data were dropped", &table);
  const uint64_t refused = SumOfCounters(Sources(analysis), "data-blocks-refused");
  if (refused != 0) table.AddNote(FormatCount(refused) + " blocks of the program found no room");
  AddCodeProblems(analysis, &table);
  return table;
}

}  // namespace hbbp::tools
