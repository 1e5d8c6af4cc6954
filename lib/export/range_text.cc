// Ranges of code and branches, with their counts, as text: the input of AutoFDO's create_llvm_prof
// and create_gcov (--profiler=text), which have a section of single addresses between the two, and
// of llvm-profgen (--unsymbolized-profile), which has none. Both ends of a range are instructions.
// AutoFDO counts addresses from the first segment on, llvm-profgen from the page of the first
// executable one (without its option --use-offset=0).
#include "export/exporter.h"
#include "export/module_flow.h"
#include "image/elf_image.h"

namespace hbbp {
namespace {

constexpr uint64_t kPageBytes = 4096;

void WriteRanges(const ModuleFlow& flow, uint64_t base, ExportSink* sink) {
  sink->Print("%zu\n", flow.blocks.size());
  for (const FlowBlock& block : flow.blocks) {
    sink->WriteHex(block.start.value - base);
    sink->Write("-");
    sink->WriteHex(block.last.value - base);
    sink->Write(":");
    sink->WriteNumber(WholeCount(block.count));
    sink->Write("\n");
  }
}

void WriteBranches(const ModuleFlow& flow, uint64_t base, ExportSink* sink) {
  sink->Print("%zu\n", flow.branches.size());
  for (const FlowBranch& branch : flow.branches) {
    sink->WriteHex(branch.from.value - base);
    sink->Write("->");
    sink->WriteHex(branch.to.value - base);
    sink->Write(":");
    sink->WriteNumber(WholeCount(branch.count));
    sink->Write("\n");
  }
}

// Returns the page of the first segment, or of the first executable one.
uint64_t FindStart(const ExportSubject& subject, bool is_executable) {
  const ResolvedModules::Use module = subject.analysis.modules().Open(subject.module);
  if (module->code == nullptr || !module->offsets_are_of_file) return 0;
  for (const Segment& segment : static_cast<const ElfImage&>(*module->code).LoadSegments()) {
    if (segment.executable || !is_executable) return segment.range.start.value & ~(kPageBytes - 1);
  }
  return 0;
}

Status WriteAutofdo(const ExportSubject& subject, ExportSink* sink) {
  const ModuleFlow flow = FindModuleFlow(subject.analysis, subject.module, subject.work);
  const uint64_t base = FindStart(subject, false);
  WriteRanges(flow, base, sink);
  sink->Write("0\n");
  WriteBranches(flow, base, sink);
  return OkStatus();
}

Status WriteProfgen(const ExportSubject& subject, ExportSink* sink) {
  const ModuleFlow flow = FindModuleFlow(subject.analysis, subject.module, subject.work);
  const uint64_t base = FindStart(subject, true);
  WriteRanges(flow, base, sink);
  WriteBranches(flow, base, sink);
  return OkStatus();
}

}  // namespace

constexpr Exporter kAutofdoExporter = {
    "autofdo", "text for AutoFDO's create_llvm_prof and create_gcov: --profiler=text", true,
    &WriteAutofdo};
constexpr Exporter kProfgenExporter = {"profgen", "text for llvm-profgen: --unsymbolized-profile",
                                       true, &WriteProfgen};

}  // namespace hbbp
