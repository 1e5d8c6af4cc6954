#include "base/cpu_list.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Cpus = std::vector<int>;

TEST_CASE("lists of CPUs") {
  CHECK(*ParseCpuList("0") == Cpus{0});
  CHECK(*ParseCpuList("0-3,8\n") == Cpus{0, 1, 2, 3, 8});
  CHECK(*ParseCpuList("1,3-4,6") == Cpus{1, 3, 4, 6});
  CHECK(*ParseCpuList("5-5") == Cpus{5});
  CHECK(*ParseCpuList("65535") == Cpus{65535});
  CHECK(ParseCpuList("\n")->empty());
}

TEST_CASE("everything else is refused") {
  for (const char* text : {"a", "-1", "1-", "-", "3-1", "0,", ",0", "0,,1", "0-1-2", "0 1", "0x1",
                           "65536", "0-65536", "99999999999999999999", "1;2", " 1", "+1"}) {
    CAPTURE(text);
    const StatusOr<Cpus> cpus = ParseCpuList(text);
    CHECK(cpus.status().code() == StatusCode::kBadFormat);
  }
  CHECK(ParseCpuList("3-1").status().message() == "\"3-1\" is not a list of CPUs");
  CHECK(ParseCpuList(std::string(100'000, 'x')).status().message().size() < 200);
}

TEST_CASE("text that is not followed by a NUL is not overrun") {
  const std::string text = "0-123456";
  CHECK(*ParseCpuList(std::string_view(text).substr(0, 3)) == Cpus{0, 1});
}

TEST_CASE("the CPU that this runs on is online") {
  const StatusOr<Cpus> cpus = ListOnlineCpus();
  REQUIRE(cpus.ok());
  CHECK_FALSE(cpus->empty());
  CHECK(std::is_sorted(cpus->begin(), cpus->end()));
}

}  // namespace
}  // namespace hbbp
