#include "machine_limits.h"

#include "support/catch.h"
#include "support/temporary_folder.h"

namespace hbbp::tools {
namespace {

TEST_CASE("machine limits: a kernel as it starts") {
  TemporaryFolder directory;
  directory.Write("nmi_watchdog", "0\n");
  directory.Write("perf_event_max_sample_rate", "100000\n");
  directory.Write("perf_cpu_time_max_percent", "25\n");
  const std::vector<MachineLimit> limits = ReadMachineLimits(directory.File(""));
  REQUIRE(limits.size() == 2);
  CHECK(limits[0].name == "nmi_watchdog");
  CHECK(limits[0].state == "supported");
  CHECK(limits[0].advice.empty());
  CHECK(limits[1].name == "sample_rate");
  CHECK(limits[1].state == "supported");
  CHECK(limits[1].detail.find("at most 100,000 samples") != std::string::npos);
  CHECK(limits[1].detail.find("more than 25 % of it") != std::string::npos);
  CHECK(limits[1].advice.empty());
}

TEST_CASE("machine limits: a watchdog, and a rate that was lowered") {
  TemporaryFolder directory;
  directory.Write("nmi_watchdog", "1\n");
  directory.Write("perf_event_max_sample_rate", "12500\n");
  directory.Write("perf_cpu_time_max_percent", "0\n");
  const std::vector<MachineLimit> limits = ReadMachineLimits(directory.File(""));
  CHECK(limits.at(0).state == "denied");
  CHECK(limits.at(0).advice.find("kernel.nmi_watchdog=0") != std::string::npos);
  CHECK(limits.at(1).state == "supported");
  CHECK(limits.at(1).detail.find("12,500") != std::string::npos);
  CHECK(limits.at(1).detail.find('%') == std::string::npos);
  CHECK(limits.at(1).advice.find("perf_event_max_sample_rate=100000") != std::string::npos);
}

TEST_CASE("machine limits: what cannot be read is not known") {
  TemporaryFolder directory;
  directory.Write("perf_event_max_sample_rate", "many\n");
  for (const MachineLimit& limit : ReadMachineLimits(directory.File(""))) {
    CHECK(limit.state == "unknown");
    CHECK(limit.detail.find("cannot be read") != std::string::npos);
  }
}

}  // namespace
}  // namespace hbbp::tools
