#include "backends/threads.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <string>
#include <string_view>
#include <thread>
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
  CHECK(ParseCpuList("3-1").status().message() == "\"3-1\" is no list of CPUs");
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

TEST_CASE("threads are listed from their start to their end, sorted") {
  std::promise<pid_t> started;
  std::promise<void> may_end;
  std::thread thread([&] {
    started.set_value(::gettid());
    may_end.get_future().wait();
  });
  const pid_t tid = started.get_future().get();
  StatusOr<std::vector<pid_t>> threads = ListThreads();
  REQUIRE(threads.ok());
  CHECK(std::is_sorted(threads->begin(), threads->end()));
  CHECK(std::binary_search(threads->begin(), threads->end(), tid));
  CHECK(std::binary_search(threads->begin(), threads->end(), ::gettid()));
  may_end.set_value();
  thread.join();
  // The kernel takes the thread off the list a little after the join.
  do threads = ListThreads();
  while (std::binary_search(threads->begin(), threads->end(), tid));
  CHECK(std::binary_search(threads->begin(), threads->end(), ::gettid()));
}

}  // namespace
}  // namespace hbbp
