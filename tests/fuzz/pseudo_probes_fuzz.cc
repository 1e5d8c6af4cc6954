// Reads any bytes as sections of pseudo-probes: the size of .pseudo_probe_desc (u16), that section,
// and .pseudo_probe. The functions are at the addresses that are the low halves of their GUIDs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "symbols/pseudo_probes.h"

namespace {

using hbbp::FunctionStart;
using hbbp::ModuleAddress;
using hbbp::ProbedFunction;
using hbbp::PseudoProbes;

volatile uint64_t sink;

// Takes a GUID wherever one may be.
std::vector<FunctionStart> MakeStarts(std::span<const uint8_t> trees) {
  std::vector<FunctionStart> starts;
  for (size_t i = 0; i + sizeof(uint64_t) <= trees.size(); ++i) {
    uint64_t guid;
    std::memcpy(&guid, trees.data() + i, sizeof(guid));
    const ModuleAddress start{guid & 0xffffffff};
    starts.push_back({guid, {start, start + (guid >> 60)}});
  }
  return starts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint16_t described;
  if (size < sizeof(described)) return 0;
  std::memcpy(&described, data, sizeof(described));
  const std::span<const uint8_t> bytes(data + sizeof(described), size - sizeof(described));
  if (described > bytes.size()) return 0;
  const std::span<const uint8_t> trees = bytes.subspan(described);
  const auto probes = PseudoProbes::Read(bytes.first(described), trees, MakeStarts(trees));
  if (!probes.ok()) {
    if (probes.status().message().empty()) std::abort();
    return 0;
  }
  const std::vector<ProbedFunction>& functions = probes->functions();
  for (uint32_t i = 0; i < functions.size(); ++i) {
    if (functions[i].caller != ProbedFunction::kNone && functions[i].caller >= i) std::abort();
    const hbbp::ProbeDescription* description = probes->Describe(functions[i].guid);
    if (description != nullptr) sink = description->name.size();
  }
  ModuleAddress last{0};
  for (const hbbp::PseudoProbe& probe : probes->all()) {
    if (probe.address < last || probe.function >= functions.size()) std::abort();
    if (probes->At(probe.address).empty()) std::abort();
    sink = probes->DescribeStart(probe.address) != nullptr;
    last = probe.address;
  }
  return 0;
}
