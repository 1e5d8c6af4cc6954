// rings HOW ROUNDS: waits for so many operations of an io_uring, and prints how many waits ended
// before one was complete. HOW is "wait", "submit", where the call that submits an operation also
// waits for it, or "late", as "wait", after one or two seconds in which the program only sleeps for
// moments. Exits with 77 where there is no io_uring.
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "support/nop_ring.h"

namespace {

void SleepForMoments() {
  const time_t end = time(nullptr) + 2;
  while (time(nullptr) < end) usleep(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 99;
  const std::string_view how = argv[1];
  if (how == "late") SleepForMoments();
  hbbp::NopRing ring;
  if (!ring.is_mapped()) return 77;
  long interrupted = 0;
  for (long rounds = std::atol(argv[2]); rounds > 0; --rounds) {
    interrupted += ring.DoOne(/*waits_where_it_submits=*/how == "submit");
  }
  std::printf("%ld interrupted\n", interrupted);
  return 0;
}
