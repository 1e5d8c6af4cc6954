// Finds the events of a processor that say how often blocks run: instructions and taken branches
// retired.
#ifndef HBBP_LIB_PERF_CPU_EVENTS_H_
#define HBBP_LIB_PERF_CPU_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "perf/ibs.h"

namespace hbbp {

struct CpuIdentity {
  std::string vendor;  // "GenuineIntel", "AuthenticAMD", "HygonGenuine"; empty: not known
  unsigned family = 0;
  unsigned model = 0;
};

// Returns the identity of the CPU that the first caller ran on.
const CpuIdentity& ThisCpu();

// PmuEvent is an event as one PMU counts it; a hybrid processor has a PMU for each kind of core.
struct PmuEvent {
  uint32_t type = 0;  // of perf_event_attr
  uint64_t config = 0;
  std::vector<int> cpus;  // that the PMU is of; empty: all
};

struct CpuEvent {
  std::string name;  // "INST_RETIRED.PREC_DIST", as the vendor spells it; of the kernel if generic
  std::vector<PmuEvent> pmus;
};

struct CpuEvents {
  CpuEvent instructions;
  CpuEvent taken_branches;
  // The events have the kernel's names for what every PMU is expected to have.
  bool are_generic = false;
  // Branch stacks are those of AMD's BRS (Zen 3), which has restrictions that LBR has not.
  bool has_branch_sampling = false;
  // These are types in perf_event_attr; 0: there is no such PMU.
  uint32_t ibs_op_type = 0;
  uint32_t ibs_fetch_type = 0;
  IbsQuirks ibs_quirks = {};
};

// Returns the kernel's own events for a processor with no entry in the tables: "instructions", and
// "branches", which counts those that are not taken too. `sysfs` is where event sources are listed.
CpuEvents FindCpuEvents(const CpuIdentity& cpu,
                        const std::string& sysfs = "/sys/bus/event_source/devices");

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_CPU_EVENTS_H_
