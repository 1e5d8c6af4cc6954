#include "profile/kernel_record.h"

#include <sys/utsname.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "image/build_id.h"

namespace hbbp {
namespace {

constexpr std::string_view kKallsyms = "[kernel.kallsyms]";
constexpr uint64_t kKernelHalf = uint64_t{1} << 63;
// This is more than any kernel loads.
constexpr size_t kMaxRanges = 65536;

// Turns "/lib/modules/6.1/kernel/drivers/nvme/host/nvme.ko.xz" and "[nvme]" into "[nvme]".
std::string ModuleName(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with('[')) return std::string(name);
  return "[" + std::string(name.substr(0, name.find(".ko"))) + "]";
}

}  // namespace

std::string RunningBootId() {
  StatusOr<std::string> id = ReadTextFile("/proc/sys/kernel/random/boot_id", 4096);
  if (!id.ok()) return "";
  if (id->ends_with('\n')) id->pop_back();
  return *std::move(id);
}

std::vector<uint8_t> RunningKernelBuildId() {
  constexpr uint64_t kMaxNotes = 1 << 20;
  const StatusOr<std::vector<uint8_t>> notes = ReadFile("/sys/kernel/notes", kMaxNotes);
  return notes.ok() ? ReadBuildIdInNotes(*notes) : std::vector<uint8_t>();
}

KernelRecord DescribeRunningKernel() {
  KernelRecord kernel;
  kernel.boot_id = RunningBootId();
  utsname name;
  if (::uname(&name) == 0) kernel.release = name.release;
  return kernel;
}

void RecordKernelMapping(const MappingEvent& mapping, KernelRecord* kernel) {
  const bool is_kernel = mapping.path.starts_with(kKallsyms);
  const std::string symbol = is_kernel ? mapping.path.substr(kKallsyms.size()) : "";
  if (!symbol.empty() && kernel->reference_symbol.empty() && mapping.offset.value >= kKernelHalf) {
    kernel->reference_symbol = symbol;
    kernel->reference_address = mapping.offset.value;
  }
  NamedRange range;
  range.name = is_kernel ? "[kernel]" : ModuleName(mapping.path);
  // Old versions of perf let the kernel begin at 0.
  range.range = {{std::max(mapping.start.value, kKernelHalf)}, {mapping.end.value}};
  // Some versions let the kernel overlap its modules, which they record later.
  for (NamedRange& known : kernel->modules) {
    if (known.name == "[kernel]" && known.range.Contains(range.range.start) &&
        known.range.start < range.range.start) {
      known.range.end = range.range.start;
    }
  }
  AddRange(std::move(range), &kernel->modules);
}

void AddRange(NamedRange range, std::vector<NamedRange>* ranges) {
  if (range.range.start >= range.range.end || ranges->size() >= kMaxRanges) return;
  const auto next = std::ranges::lower_bound(
      *ranges, range.range.start, {}, [](const NamedRange& named) { return named.range.start; });
  const bool overlaps_next = next != ranges->end() && next->range.start < range.range.end;
  const bool overlaps_previous =
      next != ranges->begin() && range.range.start < std::prev(next)->range.end;
  if (!overlaps_next && !overlaps_previous) ranges->insert(next, std::move(range));
}

void NormalizeRanges(std::vector<NamedRange>* ranges) {
  std::ranges::stable_sort(*ranges, {}, [](const NamedRange& named) { return named.range.start; });
  ModuleAddress end{0};
  std::erase_if(*ranges, [&end](const NamedRange& named) {
    if (named.range.start < end || named.range.end <= named.range.start) return true;
    end = named.range.end;
    return false;
  });
}

void MergeKernel(const KernelRecord& from, KernelRecord* to) {
  if (to->reference_symbol.empty()) {
    to->reference_symbol = from.reference_symbol;
    to->reference_address = from.reference_address;
  }
  if (to->release.empty()) to->release = from.release;
  for (const NamedRange& range : from.functions) AddRange(range, &to->functions);
  for (const NamedRange& range : from.modules) AddRange(range, &to->modules);
}

}  // namespace hbbp
