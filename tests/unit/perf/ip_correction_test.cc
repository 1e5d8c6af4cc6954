#include "perf/ip_correction.h"

#include <map>
#include <string>
#include <vector>

#include "collect/recorded_periods.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kKernel = 0xffffffff81000000;
constexpr uint8_t kWrongPath = 1;

BranchEntry Branch(uint64_t from, uint64_t to, uint8_t speculation = 0) {
  BranchEntry entry;
  entry.from = from;
  entry.to = to;
  entry.speculation = speculation;
  return entry;
}

using Stack = std::vector<BranchEntry>;  // newest first

IpOrigin Corrected(uint64_t ip, const Stack& stack, bool is_exact = false) {
  return IpCorrection().Correct(ip, is_exact, stack);
}

TEST_CASE("a sample at the target of the newest branch is of that branch") {
  CHECK(Corrected(0x1000, {Branch(0x2000, 0x1000), Branch(0x1, 0x2)}) == IpOrigin{0x2000});
}

TEST_CASE("a sample behind the target of the newest branch is of the instruction before it") {
  CHECK(Corrected(0x1005, {Branch(0x2000, 0x1000)}) == IpOrigin{0x1005, IpPosition::kAfter});
}

TEST_CASE("an exact sample is of the instruction at its address") {
  CHECK(Corrected(0x1000, {Branch(0x2000, 0x1000)}, true) == IpOrigin{0x1000});
  CHECK(Corrected(0x1005, {Branch(0x2000, 0x1000)}, true) == IpOrigin{0x1005});
}

TEST_CASE("a stack that does not lead to the sample corrects nothing") {
  CHECK(Corrected(0x1000, {}) == IpOrigin{0x1000});
  CHECK(Corrected(0x1000, {Branch(0x2000, 0x1001)}) == IpOrigin{0x1000});
  CHECK(Corrected(0x9000, {Branch(0x2000, 0x1000)}) == IpOrigin{0x9000});
  CHECK(Corrected(0x1000, {Branch(0, 0)}) == IpOrigin{0x1000});
  // The return of an interrupt.
  CHECK(Corrected(0x1000, {Branch(kKernel, 0x1000)}) == IpOrigin{0x1000});
}

TEST_CASE("the newest branch is the newest that happened") {
  const Stack stack = {Branch(0x3000, 0x1000, kWrongPath), Branch(0, 0), Branch(0x2000, 0x1000)};
  CHECK(Corrected(0x1000, stack) == IpOrigin{0x2000});
}

TEST_CASE("what happened to instruction pointers is counted") {
  IpCorrection correction;
  correction.Correct(0x1000, true, Stack{});
  correction.Correct(0x1000, false, Stack{});
  correction.Correct(0x1000, false, Stack{Branch(0x2000, 0x1000)});
  correction.Correct(0x1001, false, Stack{Branch(0x2000, 0x1000)});
  correction.Correct(0x1002, false, Stack{Branch(0x2000, 0x1000)});
  std::vector<std::pair<std::string, uint64_t>> counters;
  correction.AppendTo(&counters);
  CHECK(std::map<std::string, uint64_t>(counters.begin(), counters.end()) ==
        std::map<std::string, uint64_t>{
            {"ip-exact", 1}, {"ip-kept", 1}, {"ip-moved-to-branch", 1}, {"ip-moved-before", 2}});
}

TEST_CASE("instruction pointers are corrected where that is needed and possible, or asked for") {
  CHECK(ChooseEbsMethod(EbsMethod::kAuto, 0, true) == EbsMethod::kPlain);
  CHECK(ChooseEbsMethod(EbsMethod::kAuto, 1, true) == EbsMethod::kIpPlusOne);
  CHECK(ChooseEbsMethod(EbsMethod::kAuto, 1, false) == EbsMethod::kPlain);
  CHECK(ChooseEbsMethod(EbsMethod::kPlain, 1, true) == EbsMethod::kPlain);
  CHECK(ChooseEbsMethod(EbsMethod::kIpPlusOne, 0, true) == EbsMethod::kIpPlusOne);
  CHECK(ChooseEbsMethod(EbsMethod::kIpPlusOne, 2, false) == EbsMethod::kPlain);
}

PeriodMode FindMode(uint64_t asked, const std::vector<uint64_t>& periods) {
  RecordedPeriods recorded;
  for (uint64_t period : periods) recorded.Add(period);
  return recorded.ModeOf(asked);
}

TEST_CASE("how periods were chosen is seen from them") {
  CHECK(FindMode(1'000'003, {1'000'003, 1'000'003}) == PeriodMode::kPrime);
  CHECK(FindMode(1'000'000, {1'000'000}) == PeriodMode::kFixed);
  CHECK(FindMode(1'000'003, {1'000'010, 999'950}) == PeriodMode::kRandom);
  CHECK(FindMode(1, {}) == PeriodMode::kFixed);
  // By frequency.
  CHECK(FindMode(0, {1, 17, 1000}) == PeriodMode::kByFrequency);
}

}  // namespace
}  // namespace hbbp
