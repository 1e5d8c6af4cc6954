#include "backends/threads.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <thread>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

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
  // The kernel removes the thread from the list a little after the join.
  do threads = ListThreads();
  while (std::binary_search(threads->begin(), threads->end(), tid));
  CHECK(std::binary_search(threads->begin(), threads->end(), ::gettid()));
}

}  // namespace
}  // namespace hbbp
