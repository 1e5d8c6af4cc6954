// MachineFacts are what each image needs to know of the machine and takes a millisecond or two to
// find out where page faults and CPUID are slow. `hbbp record` finds them out once, and hands them
// on in an environment variable.
#ifndef HBBP_TOOLS_PRELOAD_MACHINE_FACTS_H_
#define HBBP_TOOLS_PRELOAD_MACHINE_FACTS_H_

#include <optional>
#include <string>
#include <string_view>

#include "backends/processor_timing.h"
#include "base/cpuid.h"

namespace hbbp::preload {

struct MachineFacts {
  CpuidAtStart cpuid = {};
  std::optional<ProcessorTiming> timing;  // empty: not measured, as no branches will be traced
};

// For `hbbp record`; images do not link it (find_machine_facts.cc). Without branches to trace, the
// processor is not measured.
MachineFacts FindMachineFacts(bool will_trace);

std::string ToText(const MachineFacts& facts);

// Returns nothing if the text is not one of ToText, of this version of it. It does not allocate.
std::optional<MachineFacts> ReadMachineFacts(std::string_view text);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_MACHINE_FACTS_H_
