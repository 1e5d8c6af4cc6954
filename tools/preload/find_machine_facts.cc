// What images need to know of the machine, found out by `hbbp record`.
#include "backends/processor_timing.h"
#include "base/cpuid.h"
#include "preload/machine_facts.h"

namespace hbbp::preload {

MachineFacts FindMachineFacts(bool will_trace) {
  MachineFacts facts;
  facts.cpuid = ReadCpuidAtStart();
  if (will_trace) facts.timing = MeasureProcessorWell();
  return facts;
}

}  // namespace hbbp::preload
