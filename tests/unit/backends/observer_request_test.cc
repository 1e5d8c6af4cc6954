#include "backends/observer_request.h"

#include <time.h>

#include <atomic>
#include <thread>

#include "support/catch.h"

namespace hbbp {
namespace {

timespec InTenSeconds() {
  timespec deadline;
  ::clock_gettime(CLOCK_MONOTONIC, &deadline);
  deadline.tv_sec += 10;
  return deadline;
}

TEST_CASE("a request for an observer wakes the worker, and waits until it has started one") {
  Wakeup wakeup;
  ObserverRequest request;
  request.MakeAndWait();
  CHECK_FALSE(request.is_made());
  request.Open(&wakeup);
  std::atomic<bool> has_started{false};
  std::thread worker([&] {
    wakeup.WaitUntil(InTenSeconds());
    has_started = request.is_made();
    request.Close();
  });
  request.MakeAndWait();
  worker.join();
  CHECK(has_started);
  request.MakeAndWait();
  request.Open(&wakeup);
  CHECK_FALSE(request.is_made());
}

TEST_CASE("a worker that does not come is not waited for without end") {
  Wakeup wakeup;
  ObserverRequest request;
  request.Open(&wakeup);
  request.MakeAndWait();
  CHECK(request.is_made());
}

}  // namespace
}  // namespace hbbp
