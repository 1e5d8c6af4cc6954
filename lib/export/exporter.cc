#include "export/exporter.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "export/share_text.h"

namespace hbbp {
namespace {

constexpr std::array kExporters = {&kLlvmExporter,
                                   &kAutofdoExporter,
                                   &kProfgenExporter,
                                   &kBoltExporter,
                                   &kBoltAggregatedExporter,
                                   &kBrstackExporter,
                                   &kCallgrindExporter,
                                   &kPprofExporter,
                                   &kGoPgoExporter,
                                   &kSpeedscopeExporter,
                                   &kBbvExporter,
                                   &kPerfettoExporter,
                                   &kCsvExporter,
                                   &kJsonExporter,
                                   &kSqlExporter};

// Formats that are not of code alone have functions whose code is missing, too.
std::vector<double> InstructionsByModule(const Analysis& analysis, bool only_code) {
  std::vector<double> instructions(analysis.data().modules.size());
  if (!only_code) {
    for (const FunctionRecord& record : analysis.functions()) {
      instructions[record.module] += record.instructions;
    }
    return instructions;
  }
  for (const BlockRecord& record : analysis.blocks()) {
    instructions[record.module] += record.estimate.count * record.block.instruction_count;
  }
  return instructions;
}

// Returns the module with the most instructions, or kNoIndex. Readers of such formats want a file,
// so that other modules come after all files.
uint32_t HottestModule(const Analysis& analysis, const std::vector<double>& instructions) {
  const auto rank = [&](uint32_t i) {
    return std::pair(analysis.data().modules[i].kind == ModuleKind::kFile, instructions[i]);
  };
  uint32_t hottest = kNoIndex;
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    if (instructions[i] <= 0) continue;
    if (hottest == kNoIndex || rank(i) > rank(hottest)) hottest = i;
  }
  return hottest;
}

void ReportOtherModules(const ExportSubject& subject, const std::vector<double>& instructions) {
  double all = 0;
  for (const double of_module : instructions) all += of_module;
  const double others = all - instructions[subject.module];
  if (others < all * 0.001) return;
  subject.Note("this is of " + subject.analysis.data().modules[subject.module].path +
               " only: other modules executed " + ShareText(others, all) +
               " of the instructions, and each has an export of its own");
}

void ReportFunctionsWithoutCode(const ExportSubject& subject) {
  const std::vector<double> all = InstructionsByModule(subject.analysis, false);
  const std::vector<double> of_code = InstructionsByModule(subject.analysis, true);
  double sum = 0, written = 0;
  for (uint32_t module = 0; module < all.size(); ++module) {
    if (!subject.Wants(module)) continue;
    sum += all[module];
    written += of_code[module];
  }
  if (sum - written < sum * 0.001) return;
  subject.Note(ShareText(sum - written, sum) +
               " of the instructions are of functions whose code is not known, and left out");
}

Status NothingCounted(const Exporter& exporter, const ExportSubject& subject) {
  std::string of_module;
  if (subject.module != kNoIndex) {
    of_module = " of " + subject.analysis.data().modules[subject.module].path;
    const std::string& problem = subject.analysis.modules().ProblemOf(subject.module);
    if (!problem.empty()) of_module += " (" + problem + ")";
  }
  return MakeStatus(StatusCode::kNotFound,
                    "no block%s was counted, so that there is nothing to write as %s; hbbp info "
                    "says what became of the samples",
                    of_module.c_str(), exporter.name);
}

}  // namespace

std::span<const Exporter* const> Exporters() { return kExporters; }

const Exporter* FindExporter(std::string_view name) {
  const auto found = std::find_if(kExporters.begin(), kExporters.end(),
                                  [&](const Exporter* each) { return each->name == name; });
  return found == kExporters.end() ? nullptr : *found;
}

Status Export(const Exporter& exporter, const ExportSubject& subject, ExportSink* sink) {
  ExportSubject chosen = subject;
  const std::vector<double> instructions =
      InstructionsByModule(subject.analysis, exporter.is_of_code);
  const uint32_t hottest = HottestModule(subject.analysis, instructions);
  const bool is_chosen = chosen.module != kNoIndex;
  if (hottest == kNoIndex || (is_chosen && instructions[chosen.module] <= 0)) {
    return NothingCounted(exporter, chosen);
  }
  if (exporter.is_of_one_module && !is_chosen) {
    chosen.module = hottest;
    ReportOtherModules(chosen, instructions);
  }
  if (exporter.is_of_code) ReportFunctionsWithoutCode(chosen);
  HBBP_RETURN_IF_ERROR(exporter.write(chosen, sink));
  return sink->Finish();
}

}  // namespace hbbp
