// Tests which misses of a burst count as the program's: lines that come back, that are stored to,
// that come too late to say, and more of them than fit.
#include "trace/interpreter/missed_lines.h"

#include <memory>

#include "support/catch.h"

namespace hbbp::trace {
namespace {

constexpr uint64_t kReuse = 100;
constexpr uint64_t kLine = 64;

TEST_CASE("lines that are not used again are the program's misses") {
  const auto lines = std::make_unique<MissedLines>();
  lines->Reset();
  CHECK(lines->Add(5 * kLine, 30, 1030));
  CHECK(lines->IsWatched(5 * kLine));
  CHECK_FALSE(lines->IsWatched(6 * kLine));
  // It is loaded a little later, with the same object.
  CHECK(lines->RecordLoad(5 * kLine, 1080, kReuse));
  CHECK(lines->CountUse(5 * kLine));
  CHECK_FALSE(lines->CountUse(5 * kLine));
  const MissTicks sum = lines->Sum(1000, 2000);
  CHECK(sum.early == 30);
  CHECK(sum.early_again == 0);
  CHECK(sum.undecided == 0);
  CHECK(sum.lines == 1);
}

TEST_CASE("lines that a burst comes back to or stores to are not") {
  const auto lines = std::make_unique<MissedLines>();
  lines->Reset();
  CHECK(lines->Add(5 * kLine, 30, 1030));
  CHECK(lines->Add(6 * kLine, 40, 1100));
  CHECK_FALSE(lines->RecordLoad(5 * kLine, 1030 + 70 + kReuse, kReuse));
  lines->RecordStore(6 * kLine, 1100 + kReuse, kReuse);
  lines->RecordStore(7 * kLine, 1100 + kReuse, kReuse);
  const MissTicks sum = lines->Sum(1000, 3000);
  CHECK(sum.early == 0);
  CHECK(sum.early_again == 70);
}

TEST_CASE("a line that is stored to at once says nothing") {
  const auto lines = std::make_unique<MissedLines>();
  lines->Reset();
  CHECK(lines->Add(5 * kLine, 30, 1030));
  lines->RecordStore(5 * kLine, 1040, kReuse);
  const MissTicks sum = lines->Sum(1000, 3000);
  CHECK(sum.early == 0);
  CHECK(sum.early_again == 0);
  CHECK(sum.undecided == 30);
}

TEST_CASE("the time of misses does not make uses seem further apart") {
  const auto lines = std::make_unique<MissedLines>();
  lines->Reset();
  CHECK(lines->Add(5 * kLine, 30, 1030));
  CHECK(lines->Add(6 * kLine, 1000, 2040));
  // 20 ticks have passed without the second miss.
  CHECK(lines->RecordLoad(5 * kLine, 2050, kReuse));
  CHECK(lines->Sum(1000, 4000).early == 1030);
}

TEST_CASE("the second half of a burst does not say whose misses there were") {
  const auto lines = std::make_unique<MissedLines>();
  lines->Reset();
  CHECK(lines->Add(5 * kLine, 30, 1730));
  CHECK(lines->Sum(1000, 2030).undecided == 30);
  CHECK(lines->Sum(1000, 2030).early == 0);
}

TEST_CASE("misses that there is no room for say nothing") {
  const auto lines = std::make_unique<MissedLines>();
  lines->Reset();
  uint64_t line = 1, now = 0;
  while (lines->Add(line * kLine, 1, ++now)) ++line;
  CHECK(line > 100);
  const MissTicks sum = lines->Sum(0, 1'000'000);
  CHECK(sum.early == line - 1);
  CHECK(sum.undecided == 1);
  lines->Reset();
  CHECK_FALSE(lines->IsWatched(kLine));
  CHECK(lines->Sum(0, 1000).early == 0);
}

}  // namespace
}  // namespace hbbp::trace
