#include "profile/kernel_record.h"

#include <string>
#include <utility>
#include <vector>

#include "profile/profile_data.h"
#include "profile/profile_merge.h"
#include "support/catch.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

MappingEvent Mapping(uint64_t start, uint64_t end, uint64_t offset, const std::string& path) {
  MappingEvent mapping;
  mapping.start = {start};
  mapping.end = {end};
  mapping.offset = {offset};
  mapping.path = path;
  return mapping;
}

NamedRange Range(uint64_t start, uint64_t end, const std::string& name) {
  return {{{start}, {end}}, name};
}

TEST_CASE("the kernel's mappings in recordings say where it and its modules were") {
  KernelRecord kernel;
  SECTION("of now") {
    RecordKernelMapping(Mapping(0xffffffffb4200000, 0xffffffffb5000000, 0xffffffffb4200000,
                                "[kernel.kallsyms]_text"),
                        &kernel);
    CHECK(kernel.modules == std::vector{Range(0xffffffffb4200000, 0xffffffffb5000000, "[kernel]")});
  }
  SECTION("of Linux 3, from 0 on and over its modules") {
    RecordKernelMapping(
        Mapping(0, 0xffffffffff000000, 0xffffffffb4200000, "[kernel.kallsyms]_text"), &kernel);
    CHECK(kernel.modules == std::vector{Range(uint64_t{1} << 63, 0xffffffffff000000, "[kernel]")});
  }
  const uint64_t start = kernel.modules[0].range.start.value;
  RecordKernelMapping(Mapping(0xffffffffc0100000, 0xffffffffc0108000, 0,
                              "/lib/modules/6.1/kernel/drivers/nvme/nvme.ko.xz"),
                      &kernel);
  RecordKernelMapping(Mapping(0xffffffffc0200000, 0xffffffffc0208000, 0, "[zram]"), &kernel);
  // perf repeats it for each map that it splits.
  RecordKernelMapping(Mapping(0xffffffffc0200000, 0xffffffffc0208000, 0, "[zram]"), &kernel);
  CHECK(kernel.reference_symbol == "_text");
  CHECK(kernel.reference_address == 0xffffffffb4200000);
  REQUIRE(kernel.modules.size() == 3);
  CHECK(kernel.modules[0].range.start.value == start);
  CHECK(kernel.modules[0].range.end.value <= 0xffffffffc0100000);
  CHECK(kernel.modules[1] == Range(0xffffffffc0100000, 0xffffffffc0108000, "[nvme]"));
  CHECK(kernel.modules[2] == Range(0xffffffffc0200000, 0xffffffffc0208000, "[zram]"));
}

TEST_CASE("a mapping that says nothing of where the kernel was") {
  KernelRecord kernel;
  RecordKernelMapping(Mapping(0, 0, 0, "[kernel.kallsyms]_text"), &kernel);
  RecordKernelMapping(Mapping(UINT64_MAX, 1, 5, "[kernel.kallsyms]"), &kernel);
  CHECK(kernel == KernelRecord());
}

TEST_CASE("ranges are kept by address and without overlaps") {
  std::vector<NamedRange> ranges;
  AddRange(Range(10, 20, "b"), &ranges);
  AddRange(Range(30, 40, "d"), &ranges);
  AddRange(Range(20, 30, "c"), &ranges);
  AddRange(Range(0, 10, "a"), &ranges);
  for (const auto& [start, end] :
       {std::pair(5, 6), {15, 25}, {0, 100}, {39, 41}, {50, 50}, {60, 5}}) {
    AddRange(Range(static_cast<uint64_t>(start), static_cast<uint64_t>(end), "no"), &ranges);
  }
  CHECK(ranges ==
        std::vector{Range(0, 10, "a"), Range(10, 20, "b"), Range(20, 30, "c"), Range(30, 40, "d")});
  std::vector<NamedRange> unsorted = {Range(5, 9, "kept"), Range(8, 8, "empty"),
                                      Range(0, 4, "first"), Range(8, 10, "overlaps"),
                                      Range(7, 6, "backwards")};
  NormalizeRanges(&unsorted);
  CHECK(unsorted == std::vector{Range(0, 4, "first"), Range(5, 9, "kept")});
}

ProfileData ProfileOfKernel(const std::string& boot_id, uint64_t address, const char* function) {
  ProfileData data = FullProfile();
  KernelRecord& kernel = data.modules[3].kernel;
  kernel.boot_id = boot_id;
  kernel.reference_address = address;
  kernel.functions = {Range(address, address + 10, function)};
  return data;
}

TEST_CASE("kernels of one boot are added up, those of several are not") {
  const ProfileData one = ProfileOfKernel("boot", 1000, "first");
  ProfileData two = ProfileOfKernel("boot", 1000, "ignored");
  two.modules[3].kernel.functions = {Range(2000, 2010, "second")};
  const auto kernels = [](const ProfileData& data) {
    std::vector<KernelRecord> found;
    for (const ModuleRecord& module : data.modules) {
      if (module.kind == ModuleKind::kKernel) found.push_back(module.kernel);
    }
    return found;
  };
  const ProfileData* const same[] = {&one, &two};
  const auto merged = kernels(MergeProfiles(same));
  REQUIRE(merged.size() == 1);
  CHECK(merged[0].functions ==
        std::vector{Range(1000, 1010, "first"), Range(2000, 2010, "second")});
  const ProfileData moved = ProfileOfKernel("boot", 3000, "moved");
  const ProfileData later = ProfileOfKernel("later", 1000, "later");
  const ProfileData* const different[] = {&one, &moved, &later};
  CHECK(kernels(MergeProfiles(different)).size() == 3);
}

TEST_CASE("the kernel that runs here") {
  const KernelRecord kernel = DescribeRunningKernel();
  if (kernel.boot_id.empty()) HBBP_SKIP("no /proc here");
  CHECK(kernel.boot_id.size() == 36);
  CHECK_FALSE(kernel.release.empty());
  const std::vector<uint8_t> build_id = RunningKernelBuildId();
  if (build_id.empty()) HBBP_SKIP("the kernel has no build ID");
  CHECK(build_id.size() == 20);
}

}  // namespace
}  // namespace hbbp
