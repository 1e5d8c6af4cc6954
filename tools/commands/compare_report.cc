// Writes a comparison as text, CSV or JSON. CompareText has a table of modules with their errors
// and overlaps, one of mnemonics, one of the hottest functions with their ranks, and what only one
// side has; JSON has all of that in full, and CSV rows of modules and mnemonics. hbbp compare calls
// one of the three.
#include "commands/compare_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "format.h"
#include "table.h"

namespace hbbp::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMnemonicRows = 20;
// Every start of a program runs a few instructions of each of its libraries.
constexpr double kSmallestShare = 0.0001;

// Makes the cell of an error or an overlap.
Cell Metric(const ModuleComparison& module, double metric) {
  return module.is_empty() ? Cell() : Cell(metric);
}

Json JsonMetric(const ModuleComparison& module, double metric) {
  return module.is_empty() ? Json() : Json(metric);
}

void AddModuleRow(const ModuleComparison& module, Table* table) {
  table->AddRow({module.name, module.instructions_reference, module.instructions_estimate,
                 Metric(module, module.avg_weighted_error),
                 Metric(module, module.block_accuracy_error), Metric(module, module.overlap),
                 Metric(module, module.mnemonic_overlap)});
}

std::string OneSidedText(const char* title, const std::vector<OneSidedModule>& modules) {
  if (modules.empty()) return "";
  Table table({{"name", title}, {"instructions", "instructions", Column::kCount}});
  for (const OneSidedModule& module : modules) table.AddRow({module.name, module.instructions});
  return '\n' + table.ToText();
}

// Ranks from 1 on; nothing for a function without a count.
Cell RankCell(size_t rank) { return rank == 0 ? Cell() : Cell(uint64_t{rank}); }

std::string FunctionsText(const FunctionRanks& ranks) {
  if (ranks.hottest.empty()) return "";
  Table table({{"rank_ref", "rank", Column::kCount},
               {"rank_est", "in the profile", Column::kCount},
               {"ref", "reference", Column::kCount},
               {"est", "estimate", Column::kCount},
               {"module", "module", Column::kPath},
               {"function", "function", Column::kFunction}});
  for (const FunctionComparison& function : ranks.hottest) {
    table.AddRow({RankCell(function.reference_rank), RankCell(function.estimate_rank),
                  function.reference, function.estimate, function.module, function.name});
  }
  const std::string count = FormatCount(uint64_t{ranks.hottest.size()});
  table.AddSummary("of the " + count + " hottest functions of the reference, " +
                   FormatCount(uint64_t{ranks.found}) + (ranks.found == 1 ? " is" : " are") +
                   " among the " + count + " hottest of the profile, " +
                   FormatCount(uint64_t{ranks.in_place}) + " with the same rank");
  return '\n' + table.ToText();
}

Json ToJson(const FunctionRanks& ranks) {
  const auto rank_or_null = [](size_t rank) { return rank == 0 ? Json() : Json(rank); };
  Json json = Json::array();
  for (const FunctionComparison& function : ranks.hottest) {
    json.push_back({{"module", function.module},
                    {"name", function.name},
                    {"ref", function.reference},
                    {"est", function.estimate},
                    {"rank_ref", function.reference_rank},
                    {"rank_est", rank_or_null(function.estimate_rank)}});
  }
  return json;
}

Json ToJson(const ModuleComparison& module) {
  Json json = {{"name", module.name},
               {"build_id", module.build_id},
               {"instructions_ref", module.instructions_reference},
               {"instructions_est", module.instructions_estimate},
               {"avg_weighted_error", JsonMetric(module, module.avg_weighted_error)},
               {"block_accuracy_error", JsonMetric(module, module.block_accuracy_error)},
               {"overlap", JsonMetric(module, module.overlap)},
               {"mnemonic_overlap", JsonMetric(module, module.mnemonic_overlap)},
               {"intervals", module.intervals.intervals},
               {"covering_intervals", module.intervals.covering},
               {"only_estimated", module.only_estimated},
               {"only_referenced", module.only_referenced},
               {"unresolved", module.unresolved},
               {"rep_iterations", module.rep_iterations},
               {"mnemonics", Json::array()}};
  for (const MnemonicComparison& mnemonic : module.mnemonics) {
    json["mnemonics"].push_back({{"mnemonic", mnemonic.mnemonic},
                                 {"ref", mnemonic.reference},
                                 {"est", mnemonic.estimate},
                                 {"error", mnemonic.error}});
  }
  return json;
}

Json ToJson(const std::vector<OneSidedModule>& modules) {
  Json json = Json::array();
  for (const OneSidedModule& module : modules) {
    json.push_back({{"name", module.name},
                    {"build_id", module.build_id},
                    {"instructions", module.instructions}});
  }
  return json;
}

void AddCsvRows(const ModuleComparison& module, Table* table) {
  table->AddRow({module.name, module.build_id, "", module.instructions_reference,
                 module.instructions_estimate, Metric(module, module.avg_weighted_error),
                 Metric(module, module.block_accuracy_error), Metric(module, module.overlap)});
  for (const MnemonicComparison& mnemonic : module.mnemonics) {
    table->AddRow({module.name, module.build_id, mnemonic.mnemonic, mnemonic.reference,
                   mnemonic.estimate, mnemonic.error, Cell(), Cell()});
  }
}

}  // namespace

std::string CompareText(const Comparison& comparison, const std::vector<std::string>& notes) {
  Table modules({{"name", "module", Column::kPath},
                 {"ref", "reference", Column::kCount},
                 {"est", "estimate", Column::kCount},
                 {"avg_weighted_error", "mnemonic error", Column::kShare},
                 {"block_accuracy_error", "block error", Column::kShare},
                 {"overlap", "block overlap", Column::kShare},
                 {"mnemonic_overlap", "mnemonic overlap", Column::kShare}});
  const ModuleComparison& total = comparison.total;
  size_t small_modules = 0;
  for (const ModuleComparison& module : comparison.modules) {
    if (module.instructions_reference < kSmallestShare * total.instructions_reference &&
        module.instructions_estimate < kSmallestShare * total.instructions_estimate) {
      ++small_modules;
    } else {
      AddModuleRow(module, &modules);
    }
  }
  AddModuleRow(total, &modules);
  if (small_modules != 0) {
    modules.AddSummary(std::to_string(small_modules) +
                       " more modules, in the total too, have less than " +
                       FormatShare(kSmallestShare) + " each");
  }

  if (total.intervals.intervals != 0) {
    const double covering = static_cast<double>(total.intervals.covering);
    modules.AddSummary("the 95 % intervals of " +
                       FormatShare(covering / static_cast<double>(total.intervals.intervals)) +
                       " of " + FormatCount(static_cast<double>(total.intervals.intervals)) +
                       " blocks have the reference");
  }

  Table mnemonics({{"mnemonic", "mnemonic"},
                   {"ref", "reference", Column::kCount},
                   {"est", "estimate", Column::kCount},
                   {"error", "error", Column::kShare}});
  const std::vector<MnemonicComparison>& all = total.mnemonics;
  const size_t shown = std::min(all.size(), kMnemonicRows);
  for (size_t i = 0; i < shown; ++i) {
    mnemonics.AddRow({all[i].mnemonic, all[i].reference, all[i].estimate, all[i].error});
  }
  mnemonics.AddSummary(std::to_string(shown) + " of " + std::to_string(all.size()) + " mnemonics");

  std::string out = modules.ToText() + '\n' + mnemonics.ToText();
  out += FunctionsText(comparison.functions);
  out += OneSidedText("only in the reference", comparison.only_in_reference);
  out += OneSidedText("only in the profile", comparison.only_in_estimate);
  if (!notes.empty()) out += '\n';
  for (const std::string& note : notes) out += "note: " + Printable(note) + '\n';
  return out;
}

std::string CompareCsv(const Comparison& comparison) {
  Table table({{"module", ""},
               {"build_id", ""},
               {"mnemonic", ""},
               {"ref", ""},
               {"est", ""},
               {"error", ""},
               {"block_accuracy_error", ""},
               {"overlap", ""}});
  for (const ModuleComparison& module : comparison.modules) AddCsvRows(module, &table);
  AddCsvRows(comparison.total, &table);
  return table.ToCsv();
}

std::string CompareJson(const Comparison& comparison, const std::vector<std::string>& notes) {
  Json json;
  json["modules"] = Json::array();
  for (const ModuleComparison& module : comparison.modules) {
    json["modules"].push_back(ToJson(module));
  }
  json["total"] = ToJson(comparison.total);
  json["functions"] = ToJson(comparison.functions);
  json["functions_found"] = comparison.functions.found;
  json["functions_in_place"] = comparison.functions.in_place;
  json["scaled"] = comparison.scaled;
  json["scale"] = comparison.scale;
  json["only_in_truth"] = ToJson(comparison.only_in_reference);
  json["only_in_profile"] = ToJson(comparison.only_in_estimate);
  json["notes"] = notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace hbbp::tools
