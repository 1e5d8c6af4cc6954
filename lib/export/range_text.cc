// Ranges of code and branches, with their counts, as text: the input of AutoFDO's create_llvm_prof
// and create_gcov (--profiler=text), which have a section of single addresses between the two, and
// of llvm-profgen (--unsymbolized-profile), which has none. Both ends of a range are instructions.
// AutoFDO counts addresses from the first segment on, llvm-profgen from the page of the first
// executable one (without its option --use-offset=0).
#include <vector>

#include "export/exporter.h"
#include "export/module_flow.h"
#include "image/elf_image.h"

namespace hbbp {
namespace {

constexpr uint64_t kPageBytes = 4096;

void WriteLine(uint64_t from, const char* between, uint64_t to, double count, ExportSink* sink) {
  sink->WriteHex(from);
  sink->Write(between);
  sink->WriteHex(to);
  sink->Write(":");
  sink->WriteNumber(WholeCount(count));
  sink->Write("\n");
}

// `between` is the section between ranges and branches, or nothing.
Status WriteSections(const ExportSubject& subject, uint64_t base, const char* between,
                     ExportSink* sink) {
  const std::vector<FlowBlock> blocks = FindBlocks(subject);
  sink->Print("%zu\n", blocks.size());
  for (const FlowBlock& block : blocks) {
    WriteLine(block.start.value - base, "-", block.last.value - base, block.count, sink);
  }
  sink->Write(between);
  const std::vector<FlowBranch> branches = FindBranches(subject);
  sink->Print("%zu\n", branches.size());
  for (const FlowBranch& branch : branches) {
    WriteLine(branch.from.value - base, "->", branch.to.value - base, branch.count, sink);
  }
  return OkStatus();
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
  return WriteSections(subject, FindStart(subject, false), "0\n", sink);
}

Status WriteProfgen(const ExportSubject& subject, ExportSink* sink) {
  return WriteSections(subject, FindStart(subject, true), "", sink);
}

}  // namespace

constexpr Exporter kAutofdoExporter = {
    "autofdo", "text for AutoFDO's create_llvm_prof and create_gcov: --profiler=text", true,
    &WriteAutofdo};
constexpr Exporter kProfgenExporter = {"profgen", "text for llvm-profgen: --unsymbolized-profile",
                                       true, &WriteProfgen};

}  // namespace hbbp
