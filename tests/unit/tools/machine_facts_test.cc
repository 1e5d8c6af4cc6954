#include "preload/machine_facts.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "support/catch.h"

namespace hbbp::preload {
namespace {

MachineFacts SomeFacts() {
  MachineFacts facts;
  uint32_t next = 1;
  for (CpuidLeaf& leaf : facts.cpuid.leaves) {
    leaf = {next, next + 1, 0xffffffff - next, 0};
    next += 4;
  }
  return facts;
}

TEST_CASE("facts of a machine are read as they were written") {
  MachineFacts facts = SomeFacts();
  facts.timing = ProcessorTiming{.ns_per_cycle = 0.1 + 0.2, .may_read_ticks = true, .repeat = 1e-7};
  facts.timing->accesses.page_walk = 65535;
  facts.timing->page_fault_ns = 5432.1;
  const std::optional<MachineFacts> read = ReadMachineFacts(ToText(facts));
  REQUIRE(read.has_value());
  REQUIRE(read->timing.has_value());
  CHECK(read->timing->ns_per_cycle == 0.1 + 0.2);
  CHECK(read->timing->repeat == 1e-7);
  CHECK(read->timing->load == facts.timing->load);
  CHECK(read->timing->page_fault_ns == 5432.1);
  CHECK(read->timing->may_read_ticks);
  CHECK(read->timing->accesses == facts.timing->accesses);
  CHECK(read->cpuid.leaves[3].eax == facts.cpuid.leaves[3].eax);
  CHECK(read->cpuid.leaves[9].ecx == facts.cpuid.leaves[9].ecx);
}

TEST_CASE("facts of a machine may lack times") {
  const std::optional<MachineFacts> read = ReadMachineFacts(ToText(SomeFacts()));
  REQUIRE(read.has_value());
  CHECK_FALSE(read->timing.has_value());
}

TEST_CASE("what is not facts of a machine is refused") {
  MachineFacts facts = SomeFacts();
  const std::string without_times = ToText(facts);
  facts.timing = ProcessorTiming();
  const std::string text = ToText(facts);
  CHECK_FALSE(ReadMachineFacts("").has_value());
  CHECK_FALSE(ReadMachineFacts("2" + text.substr(1)).has_value());
  CHECK_FALSE(ReadMachineFacts(text + " 1").has_value());
  CHECK_FALSE(ReadMachineFacts(text + "x").has_value());
  CHECK_FALSE(ReadMachineFacts(without_times + " 0.3").has_value());
  // At each end of a number but two.
  for (size_t end = text.find(' '); end != std::string::npos; end = text.find(' ', end + 1)) {
    if (end != without_times.size()) CHECK_FALSE(ReadMachineFacts(text.substr(0, end)).has_value());
  }
  facts.timing->ns_per_cycle = 0;
  CHECK_FALSE(ReadMachineFacts(ToText(facts)).has_value());
  for (const double wrong :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    facts.timing->ns_per_cycle = wrong;
    CHECK_FALSE(ReadMachineFacts(ToText(facts)).has_value());
  }
}

}  // namespace
}  // namespace hbbp::preload
