// KernelRecord: which kernel was sampled, and what is known of it without its files.
#ifndef HBBP_LIB_PROFILE_KERNEL_RECORD_H_
#define HBBP_LIB_PROFILE_KERNEL_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "events/samples.h"
#include "image/named_range.h"

namespace hbbp {

struct KernelRecord {
  std::string boot_id;  // of the boot of this machine that it ran in; empty if not known
  std::string release;  // "6.1.0-31-amd64"; empty if not known
  // The kernel is loaded at a random address: where one of its symbols was, "_text" or "_stext".
  // Empty and 0 if that is not known.
  std::string reference_symbol;
  uint64_t reference_address = 0;
  std::vector<NamedRange> functions;  // that have samples; by address, without overlaps
  std::vector<NamedRange> modules;    // "[nvme]", and "[kernel]" itself; likewise

  bool operator==(const KernelRecord&) const = default;
};

// The kernel that runs here. Nothing where /proc or /sys cannot be read.
std::string RunningBootId();
std::vector<uint8_t> RunningKernelBuildId();
KernelRecord DescribeRunningKernel();

// perf records for the kernel and each kernel module where it was; for the kernel also the address
// of a symbol, as the offset of the mapping: "[kernel.kallsyms]_text".
void NoteKernelMapping(const MappingEvent& mapping, KernelRecord* kernel);

// Puts it at its place, unless it overlaps one that is there.
void AddRange(NamedRange range, std::vector<NamedRange>* ranges);
// Sorts, and drops what is empty or overlaps a range at a lower address.
void NormalizeRanges(std::vector<NamedRange>* ranges);

// Adds what `to`, which is of the same kernel, does not know yet.
void MergeKernel(const KernelRecord& from, KernelRecord* to);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_KERNEL_RECORD_H_
