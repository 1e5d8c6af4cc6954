#include "pmu_model/callgrind_writer.h"

#include <cinttypes>
#include <cstdio>
#include <map>

namespace hbbp::simulation {
namespace {

const TraceModule* FindModule(const Trace& trace, uint64_t address) {
  for (const TraceModule& module : trace.modules) {
    if (module.start <= address && address < module.end) return &module;
  }
  return nullptr;
}

}  // namespace

std::string CallgrindText(const Trace& trace) {
  std::map<std::string, std::map<uint64_t, uint64_t>> counts;
  const std::vector<uint64_t> executions = Executions(trace);
  uint64_t total = 0;
  for (size_t i = 0; i < trace.blocks.size(); ++i) {
    const TraceBlock& block = trace.blocks[i];
    const TraceModule* module = FindModule(trace, block.start);
    if (executions[i] == 0 || module == nullptr) continue;
    auto& addresses = counts[module->path];
    for (const TraceInstruction& instruction : trace.InstructionsOf(block)) {
      addresses[instruction.address - module->load_bias] += executions[i];
    }
    total += executions[i] * block.count;
  }
  std::string text =
      "# callgrind format\nversion: 1\ncreator: hbbp_pmu_model\ncmd: " + trace.program +
      "\npositions: instr\nevents: Ir\n";
  for (const auto& [path, addresses] : counts) {
    text += "\nob=" + path + "\nfn=traced\n";
    for (const auto& [address, count] : addresses) {
      char line[64];
      std::snprintf(line, sizeof(line), "0x%" PRIx64 " %" PRIu64 "\n", address, count);
      text += line;
    }
  }
  return text + "totals: " + std::to_string(total) + "\n";
}

}  // namespace hbbp::simulation
