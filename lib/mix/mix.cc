#include "mix/mix.h"

#include "mix/pivot_query.h"

namespace hbbp {

StatusOr<Mix> ComputeMix(const PivotSubject& subject, const MixKeys& keys) {
  struct Part {
    bool is_asked;
    const char* key;
    void (*put)(const PivotLabel& label, MixRow* row);
  };
  const Part parts[] = {
      {keys.mnemonic, "mnemonic",
       [](const PivotLabel& label, MixRow* row) {
         row->mnemonic = static_cast<Mnemonic>(label.number);
       }},
      {keys.module, "module",
       [](const PivotLabel& label, MixRow* row) { row->module = label.index; }},
      {keys.function, "function",
       [](const PivotLabel& label, MixRow* row) { row->function = label.index; }},
      {keys.thread, "thread",
       [](const PivotLabel& label, MixRow* row) { row->thread = label.index; }},
      {keys.slice, "slice", [](const PivotLabel& label, MixRow* row) { row->slice = label.index; }},
  };
  PivotQuery query;
  query.only_code = keys.mnemonic;
  std::vector<const Part*> asked;
  for (const Part& part : parts) {
    if (!part.is_asked) continue;
    asked.push_back(&part);
    query.rows.push_back(part.key);
  }
  HBBP_ASSIGN_OR_RETURN(const PivotTable table, MakePivotTable(subject, query));
  Mix mix;
  mix.rows.resize(table.row_count());
  for (size_t i = 0; i < mix.rows.size(); ++i) {
    MixRow& row = mix.rows[i];
    for (size_t key = 0; key < asked.size(); ++key) {
      asked[key]->put(table.RowLabel(i, key), &row);
    }
    const PivotSum& sum = table.At(i, PivotTable::kAll, 0);
    row.instructions = sum.value;
    row.standard_error = sum.StandardError();
    mix.total += row.instructions;
  }
  return mix;
}

QueryNeeds NeedsOf(const MixKeys& keys) { return {.instructions = keys.mnemonic}; }

}  // namespace hbbp
