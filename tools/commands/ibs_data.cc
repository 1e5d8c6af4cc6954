#include "commands/ibs_data.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "format.h"
#include "ibs_accesses.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

// Returns a table with columns for accesses between others.
Table TableOfAccesses(std::vector<Column> before, Column after) {
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
  columns.push_back(std::move(after));
  return Table(std::move(columns));
}

void Append(const IbsAccessRow& row, std::vector<Cell>* cells) {
  for (const uint64_t number :
       {row.loads, row.stores, row.misses, row.miss_cycles, row.local, row.remote, row.threads}) {
    cells->emplace_back(number);
  }
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
  const std::vector<IbsAccessRow> rows = CollectIbsLines(profile, by_page);
  const size_t shown = std::min<uint64_t>(wanted, rows.size());
  Table table = TableOfAccesses(
      {{"pid", "pid"}, {"address", by_page ? "page" : "line", Column::kAddress}}, {"node", "node"});
  for (size_t i = 0; i < shown; ++i) {
    std::vector<Cell> cells = {uint64_t{rows[i].pid}, rows[i].address};
    Append(rows[i], &cells);
    cells.push_back(rows[i].nodes.empty() ? Cell() : Cell(rows[i].nodes));
    table.AddRow(std::move(cells));
  }
  AddEnd(shown, rows.size(), by_page ? "pages" : "lines",
         SumOfCounters(SourcesAsRecorded(profile), "ibs-accesses-dropped"),
         "accesses to rarely sampled lines were dropped", &table);
  return table;
}

Table ObjectTable(const hbbp::analysis& analysis, uint64_t wanted) {
  const std::vector<hbbp_module> modules = analysis.get_profile().modules();
  const std::vector<IbsAccessRow> rows = CollectIbsObjects(analysis);
  const size_t shown = std::min<uint64_t>(wanted, rows.size());
  Table table = TableOfAccesses({{"module", "module", Column::kPath},
                                 {"address", "address", Column::kAddress},
                                 {"size", "size", Column::kCount}},
                                {"object", "object", Column::kFunction});
  for (size_t i = 0; i < shown; ++i) {
    const IbsAccessRow& row = rows[i];
    std::vector<Cell> cells(3);
    if (row.module < modules.size()) cells[0] = modules[row.module].path;
    if (row.address != HBBP_NO_ADDRESS) {
      cells[1] = row.address;
      cells[2] = row.size;
    }
    Append(row, &cells);
    cells.emplace_back(row.name);
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
