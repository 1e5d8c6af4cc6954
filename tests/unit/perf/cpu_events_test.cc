#include "perf/cpu_events.h"

#include <linux/perf_event.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

constexpr char kNoSysfs[] = "/nonexistent";

struct Expected {
  const char* what;
  CpuIdentity cpu;
  uint64_t instructions;
  uint64_t taken_branches;
};

TEST_CASE("events by processor, as the vendors list them") {
  const Expected cases[] = {
      {"Nehalem", {"GenuineIntel", 6, 0x1a}, 0x00c0, 0x4088},
      {"Westmere", {"GenuineIntel", 6, 0x2c}, 0x00c0, 0x4088},
      {"Ivy Bridge", {"GenuineIntel", 6, 0x3a}, 0x01c0, 0x20c4},
      {"Haswell", {"GenuineIntel", 6, 0x3c}, 0x01c0, 0x20c4},
      {"Skylake-SP", {"GenuineIntel", 6, 0x55}, 0x01c0, 0x20c4},
      {"Ice Lake-SP", {"GenuineIntel", 6, 0x6a}, 0x0100, 0x20c4},
      {"Sapphire Rapids", {"GenuineIntel", 6, 0x8f}, 0x0100, 0x20c4},
      {"Goldmont", {"GenuineIntel", 6, 0x5c}, 0x00c0, 0x80c4},
      {"Tremont", {"GenuineIntel", 6, 0x96}, 0x00c0, 0xc0c4},
      {"Zen 3", {"AuthenticAMD", 0x19, 0x01}, 0x00c0, 0x00c4},
      {"Zen 5", {"AuthenticAMD", 0x1a, 0x02}, 0x00c0, 0x00c4},
      {"Hygon", {"HygonGenuine", 0x18, 0x00}, 0x00c0, 0x00c4},
  };
  for (const Expected& expected : cases) {
    INFO(expected.what);
    const CpuEvents events = FindCpuEvents(expected.cpu, kNoSysfs);
    REQUIRE(events.instructions.pmus.size() == 1);
    REQUIRE(events.taken_branches.pmus.size() == 1);
    CHECK(events.instructions.pmus[0].type == PERF_TYPE_RAW);
    CHECK(events.instructions.pmus[0].config == expected.instructions);
    CHECK(events.taken_branches.pmus[0].config == expected.taken_branches);
    CHECK(events.taken_branches.pmus[0].cpus.empty());
    CHECK_FALSE(events.are_generic);
    CHECK_FALSE(events.has_branch_sampling);
  }
}

TEST_CASE("a processor that is not known has the events of the kernel") {
  for (const CpuIdentity& cpu :
       {CpuIdentity{"GenuineIntel", 6, 0xfe}, CpuIdentity{"GenuineIntel", 15, 4},
        CpuIdentity{"AuthenticAMD", 0xf, 5}, CpuIdentity{"CentaurHauls", 7, 1}, CpuIdentity{}}) {
    const CpuEvents events = FindCpuEvents(cpu, kNoSysfs);
    CHECK(events.are_generic);
    CHECK(events.instructions.name == "instructions");
    CHECK(events.instructions.pmus.at(0).type == PERF_TYPE_HARDWARE);
    CHECK(events.taken_branches.pmus.at(0).config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
  }
}

TEST_CASE("each kind of core of a hybrid processor has events of its own") {
  const TemporaryFolder sysfs;
  for (const char* pmu : {"cpu_core", "cpu_atom"})
    std::filesystem::create_directory(sysfs.File(pmu));
  sysfs.Write("cpu_core/type", "4\n");
  sysfs.Write("cpu_core/cpus", "0-15\n");
  sysfs.Write("cpu_atom/type", "10\n");
  sysfs.Write("cpu_atom/cpus", "16-17\n");
  const CpuEvents events = FindCpuEvents({"GenuineIntel", 6, 0x97}, sysfs.File("."));
  REQUIRE(events.taken_branches.pmus.size() == 2);
  CHECK(events.taken_branches.name == "BR_INST_RETIRED.NEAR_TAKEN");
  CHECK(events.taken_branches.pmus[0].type == 4);
  CHECK(events.taken_branches.pmus[0].config == 0x20c4);
  CHECK(events.taken_branches.pmus[0].cpus.size() == 16);
  CHECK(events.taken_branches.pmus[1].type == 10);
  CHECK(events.taken_branches.pmus[1].config == 0xc0c4);
  CHECK(events.taken_branches.pmus[1].cpus == std::vector<int>{16, 17});
  REQUIRE(events.instructions.pmus.size() == 2);
  CHECK(events.instructions.pmus[0].config == 0x0100);
  CHECK(events.instructions.pmus[1].config == 0x00c0);
}

TEST_CASE("what sysfs has wrong is left out") {
  const TemporaryFolder sysfs;
  std::filesystem::create_directory(sysfs.File("cpu_core"));
  sysfs.Write("cpu_core/type", "4\n");
  sysfs.Write("cpu_core/cpus", "all\n");
  CHECK(FindCpuEvents({"GenuineIntel", 6, 0x97}, sysfs.File(".")).are_generic);
}

TEST_CASE("the branch sampling of Zen 3 is known by its event") {
  const TemporaryFolder sysfs;
  std::filesystem::create_directories(sysfs.File("cpu/events"));
  sysfs.Write("cpu/events/branch-brs", "event=0xc4\n");
  CHECK(FindCpuEvents({"AuthenticAMD", 0x19, 0x01}, sysfs.File(".")).has_branch_sampling);
}

TEST_CASE("this processor is one") {
  const CpuIdentity cpu = ThisCpu();
  CHECK(cpu.vendor.size() == 12);
  CHECK(cpu.family >= 5);
}

}  // namespace
}  // namespace hbbp
