#include "probe/compare_probes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "estimate/error_metrics.h"
#include "format.h"

namespace hbbp::tools {
namespace {

using nlohmann::json;

constexpr double kMaxCount = 1e18;

// The counts of a table by what identifies a row.
struct ProbedRows {
  std::map<std::string, double> counts;
  uint64_t records = 0;
  double sum = 0;
};
struct ProbedTables {
  std::map<std::string, ProbedRows> of;  // by name
  std::vector<std::string> notes;
};

// Joins the fields of a row. A name stands for an address, which is unique and the name is not.
std::string KeyOf(const json& row) {
  std::string key;
  for (const auto& [name, value] : row.items()) {
    const bool is_result = name == "table" || name == "count" || name == "share" ||
                           name == "records" || name == "stream" || name == "length";
    const auto address = row.find(name + "_address");
    const bool has_address = address != row.end() && !address->is_null();
    if (!is_result && !has_address && !value.is_null()) key += name + "=" + value.dump() + " ";
  }
  return key;
}

std::optional<ProbedTables> ReadTables(const std::string& text) {
  ProbedTables tables;
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("rows") || !document["rows"].is_array()) {
    return std::nullopt;
  }
  for (const json& row : document["rows"]) {
    if (!row.is_object() || !row.contains("table") || !row["table"].is_string() ||
        !row.contains("count") || !row["count"].is_number()) {
      return std::nullopt;
    }
    if (row.contains("stream") && !row["stream"].is_null()) continue;
    ProbedRows& rows = tables.of[row["table"].get<std::string>()];
    const double count = row["count"].get<double>();
    if (!(count >= 0 && count <= kMaxCount)) return std::nullopt;
    rows.counts[KeyOf(row)] += count;
    rows.sum += count;
    const auto records = row.find("records");
    if (records != row.end() && records->is_number_unsigned())
      rows.records += records->get<uint64_t>();
  }
  const auto notes = document.find("notes");
  if (notes == document.end() || !notes->is_array()) return tables;
  for (const json& note : *notes) {
    if (note.is_string()) tables.notes.push_back(note.get<std::string>());
  }
  return tables;
}

}  // namespace

StatusOr<Table> CompareProbes(const std::string& reference, const std::string& reference_name,
                              const std::string& estimate) {
  const std::optional<ProbedTables> exact = ReadTables(reference);
  if (!exact) {
    return Status(StatusCode::kBadFormat,
                  reference_name +
                      ": not a table of productions in JSON; write it by 'hbbp probe --exhaustive "
                      "--format json -o FILE' with the same productions");
  }
  const ProbedTables estimated = ReadTables(estimate).value_or(ProbedTables());
  Table table({{"table", "table"},
               {"overlap", "overlap", Column::kShare},
               {"records", "records", Column::kCount},
               {"exhaustive", "exhaustive", Column::kCount},
               {"rows", "rows", Column::kCount},
               {"exhaustive_rows", "exhaustive rows", Column::kCount}});
  bool has_rows = false;
  for (const auto& [name, rows] : exact->of) {
    const auto found = estimated.of.find(name);
    if (found == estimated.of.end()) continue;
    std::map<std::string, CountPair> pairs;
    for (const auto& [key, count] : rows.counts) pairs[key].reference = count;
    for (const auto& [key, count] : found->second.counts) pairs[key].estimate = count;
    std::vector<CountPair> list;
    list.reserve(pairs.size());
    for (const auto& [key, pair] : pairs) list.push_back(pair);
    table.AddRow({name, Overlap(list), found->second.records,
                  static_cast<uint64_t>(std::min(rows.sum, kMaxCount)),
                  uint64_t{found->second.counts.size()}, uint64_t{rows.counts.size()}});
    has_rows = true;
  }
  for (const std::string& note : exact->notes)
    table.AddNote(reference_name + ": " + Printable(note));
  if (has_rows) return table;
  return Status(StatusCode::kNotFound,
                reference_name +
                    ": no table of counts that the bursts recorded in as well; probe "
                    "both with the same productions");
}

}  // namespace hbbp::tools
