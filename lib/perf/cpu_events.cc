#include "perf/cpu_events.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>

#include "base/cpu_list.h"
#include "base/cpuid.h"
#include "base/files.h"

namespace hbbp {
namespace {

// Codes have the event in bits 0 to 7 and the unit mask in bits 8 to 15.
struct RawEvent {
  const char* name;
  uint64_t code;
};

// Core is a group of cores that share their events. Codes are those of Intel's and AMD's event
// lists; libpfm4 has the same.
struct Core {
  RawEvent instructions;
  RawEvent taken_branches;
};

enum CoreName : uint8_t { kNehalem, kSandyBridge, kIceLake, kSilvermont, kTremont, kAmd };

// These are in the order of CoreName.
constexpr Core kCores[] = {
    {{"INST_RETIRED.ANY_P", 0x00c0}, {"BR_INST_EXEC.TAKEN", 0x4088}},
    {{"INST_RETIRED.PREC_DIST", 0x01c0}, {"BR_INST_RETIRED.NEAR_TAKEN", 0x20c4}},
    {{"INST_RETIRED.PREC_DIST", 0x0100}, {"BR_INST_RETIRED.NEAR_TAKEN", 0x20c4}},
    {{"INST_RETIRED.ANY_P", 0x00c0}, {"BR_INST_RETIRED.ALL_TAKEN_BRANCHES", 0x80c4}},
    {{"INST_RETIRED.ANY_P", 0x00c0}, {"BR_INST_RETIRED.NEAR_TAKEN", 0xc0c4}},
    {{"ex_ret_instr", 0x00c0}, {"ex_ret_brn_tkn", 0x00c4}}};

const Core* FindCore(CoreName name) { return &kCores[static_cast<size_t>(name)]; }

struct Model {
  uint8_t number;
  CoreName core;
};

// These are models of family 6.
constexpr Model kIntelModels[] = {
    {0x1a, kNehalem},     {0x1e, kNehalem},     {0x1f, kNehalem},     {0x25, kNehalem},
    {0x2c, kNehalem},     {0x2e, kNehalem},     {0x2f, kNehalem},     {0x2a, kSandyBridge},
    {0x2d, kSandyBridge}, {0x3a, kSandyBridge}, {0x3e, kSandyBridge}, {0x3c, kSandyBridge},
    {0x3f, kSandyBridge}, {0x45, kSandyBridge}, {0x46, kSandyBridge}, {0x3d, kSandyBridge},
    {0x47, kSandyBridge}, {0x4f, kSandyBridge}, {0x56, kSandyBridge}, {0x4e, kSandyBridge},
    {0x5e, kSandyBridge}, {0x55, kSandyBridge}, {0x8e, kSandyBridge}, {0x9e, kSandyBridge},
    {0x66, kSandyBridge}, {0xa5, kSandyBridge}, {0xa6, kSandyBridge}, {0x6a, kIceLake},
    {0x6c, kIceLake},     {0x7d, kIceLake},     {0x7e, kIceLake},     {0x8c, kIceLake},
    {0x8d, kIceLake},     {0xa7, kIceLake},     {0x8f, kIceLake},     {0xcf, kIceLake},
    {0xad, kIceLake},     {0xae, kIceLake},     {0x37, kSilvermont},  {0x4a, kSilvermont},
    {0x4c, kSilvermont},  {0x4d, kSilvermont},  {0x5a, kSilvermont},  {0x5d, kSilvermont},
    {0x5c, kSilvermont},  {0x5f, kSilvermont},  {0x7a, kSilvermont},  {0x86, kTremont},
    {0x96, kTremont},     {0x9c, kTremont},     {0xbe, kTremont},     {0xaf, kTremont},
    {0xb6, kTremont},
};

// `name` is that under which the kernel lists the PMU of a kind of core of a hybrid processor.
struct HybridPmu {
  const char* name;
  CoreName core;
};
constexpr HybridPmu kHybridPmus[] = {{"cpu_core", kIceLake}, {"cpu_atom", kTremont}};

const Core* CoreOf(const CpuIdentity& cpu) {
  if (cpu.vendor == "AuthenticAMD" || cpu.vendor == "HygonGenuine") {
    constexpr unsigned kOldestFamily = 0x10;
    return cpu.family >= kOldestFamily ? FindCore(kAmd) : nullptr;
  }
  if (cpu.vendor != "GenuineIntel" || cpu.family != 6) return nullptr;
  const auto model =
      std::find_if(std::begin(kIntelModels), std::end(kIntelModels),
                   [&cpu](const Model& candidate) { return candidate.number == cpu.model; });
  return model != std::end(kIntelModels) ? FindCore(model->core) : nullptr;
}

std::optional<uint32_t> TypeOfPmu(const std::string& directory) {
  const StatusOr<std::string> text = ReadTextFile(directory + "/type");
  if (!text.ok()) return std::nullopt;
  uint64_t type = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), type);
  return parsed.ec == std::errc() ? std::optional(static_cast<uint32_t>(type)) : std::nullopt;
}

std::optional<PmuEvent> PmuAt(const std::string& directory) {
  const std::optional<uint32_t> type = TypeOfPmu(directory);
  const StatusOr<std::string> cpus_text = ReadTextFile(directory + "/cpus");
  if (!type || !cpus_text.ok()) return std::nullopt;
  PmuEvent pmu;
  pmu.type = *type;
  StatusOr<std::vector<int>> cpus = ParseCpuList(*cpus_text);
  if (!cpus.ok() || cpus->empty()) return std::nullopt;
  pmu.cpus = *std::move(cpus);
  return pmu;
}

void Add(const RawEvent& raw, PmuEvent pmu, CpuEvent* event) {
  pmu.config = raw.code;
  if (event->name.empty()) event->name = raw.name;
  event->pmus.push_back(std::move(pmu));
}

CpuEvents GenericEvents() {
  const auto generic = [](const char* name, uint64_t id) {
    return CpuEvent{name, {{PERF_TYPE_HARDWARE, id, {}}}};
  };
  return {generic("instructions", PERF_COUNT_HW_INSTRUCTIONS),
          generic("branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS), true};
}

}  // namespace

namespace {

CpuIdentity IdentifyCpu() {
  CpuIdentity cpu;
  const CpuidLeaf names = ReadCpuid(0);
  if (names.ebx == 0) return cpu;
  char vendor[12];
  std::memcpy(vendor, &names.ebx, 4);
  std::memcpy(vendor + 4, &names.edx, 4);
  std::memcpy(vendor + 8, &names.ecx, 4);
  cpu.vendor.assign(vendor, sizeof(vendor));
  const uint32_t signature = ReadCpuid(1).eax;
  cpu.family = signature >> 8 & 0xf;
  cpu.model = signature >> 4 & 0xf;
  if (cpu.family == 6 || cpu.family == 15) cpu.model |= signature >> 12 & 0xf0;
  if (cpu.family == 15) cpu.family += signature >> 20 & 0xff;
  return cpu;
}

}  // namespace

// It is asked once, because a hypervisor takes some microseconds for it.
const CpuIdentity& ThisCpu() {
  static const CpuIdentity cpu = IdentifyCpu();
  return cpu;
}

CpuEvents FindCpuEvents(const CpuIdentity& cpu, const std::string& sysfs) {
  CpuEvents events;
  if (cpu.vendor == "GenuineIntel") {
    for (const HybridPmu& hybrid : kHybridPmus) {
      const std::optional<PmuEvent> pmu = PmuAt(sysfs + "/" + hybrid.name);
      if (!pmu) continue;
      Add(FindCore(hybrid.core)->instructions, *pmu, &events.instructions);
      Add(FindCore(hybrid.core)->taken_branches, *pmu, &events.taken_branches);
    }
    if (!events.instructions.pmus.empty()) return events;
  }
  const Core* core = CoreOf(cpu);
  if (core == nullptr) return GenericEvents();
  const PmuEvent of_all_cpus = {PERF_TYPE_RAW, 0, {}};
  Add(core->instructions, of_all_cpus, &events.instructions);
  Add(core->taken_branches, of_all_cpus, &events.taken_branches);
  events.ibs_op_type = TypeOfPmu(sysfs + "/ibs_op").value_or(0);
  events.ibs_fetch_type = TypeOfPmu(sysfs + "/ibs_fetch").value_or(0);
  events.ibs_quirks = FindIbsQuirks(cpu.family, cpu.model);
  events.has_branch_sampling = ReadTextFile(sysfs + "/cpu/events/branch-brs").ok();
  return events;
}

}  // namespace hbbp
