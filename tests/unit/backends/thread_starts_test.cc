#include "backends/thread_starts.h"

#include "base/wakeup.h"
#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("the start of a thread is reported to a worker that waits for it") {
  Wakeup wakeup;
  ThreadStarts starts;
  starts.Report();
  starts.SetWorker(&wakeup);
  starts.Report();
  CHECK_FALSE(wakeup.Take());
  wakeup.ExpectReport();
  starts.Report();
  CHECK(wakeup.Take());
  CHECK(wakeup.TakeReport());
  wakeup.ExpectReport();
  starts.SetWorker(nullptr);
  starts.Report();
  CHECK_FALSE(wakeup.Take());
}

TEST_CASE("whether starts are reported is known once somebody does") {
  ThreadStarts starts;
  CHECK_FALSE(starts.are_seen());
  starts.SetAreSeen();
  CHECK(starts.are_seen());
}

}  // namespace
}  // namespace hbbp
