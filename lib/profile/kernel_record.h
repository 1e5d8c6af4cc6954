// KernelRecord identifies the kernel that was sampled, with what is known of it without its files.
#ifndef HBBP_LIB_PROFILE_KERNEL_RECORD_H_
#define HBBP_LIB_PROFILE_KERNEL_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "events/code_events.h"
#include "image/named_range.h"

namespace hbbp {

struct KernelRecord {
  std::string boot_id;  // the boot of this machine that it ran in; empty if unknown
  std::string release;  // "6.1.0-31-amd64"; empty if unknown
  // The kernel is loaded at a random address, which follows from the address of one of its symbols,
  // "_text" or "_stext". Empty and 0 if unknown.
  std::string reference_symbol;
  uint64_t reference_address = 0;
  std::vector<NamedRange> functions;  // those with samples; by address, without overlaps
  std::vector<NamedRange> modules;    // "[nvme]", and "[kernel]" for the kernel itself; likewise

  bool operator==(const KernelRecord&) const = default;
};

// These describe the kernel that runs here. They return nothing where /proc or /sys cannot be read.
std::string RunningBootId();
std::vector<uint8_t> RunningKernelBuildId();
KernelRecord DescribeRunningKernel();

// Adds a mapping that perf recorded for the kernel or a kernel module. For the kernel it has also
// the address of a symbol, as the offset of the mapping: "[kernel.kallsyms]_text".
void RecordKernelMapping(const MappingEvent& mapping, KernelRecord* kernel);

// Inserts the range by address, unless it overlaps another one.
void AddRange(NamedRange range, std::vector<NamedRange>* ranges);
// Sorts ranges by address, and drops those that are empty or overlap one at a lower address.
void NormalizeRanges(std::vector<NamedRange>* ranges);

// Adds what `to`, which must be the same kernel, lacks.
void MergeKernel(const KernelRecord& from, KernelRecord* to);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_KERNEL_RECORD_H_
