// Measures what a profiler adds to context switches: two processes on one CPU wake each other
// through pipes.
//
//   bench/pipes [ROUNDS]; hbbp record -- bench/pipes [ROUNDS]
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/clock.h"

namespace {

void StayOnOneCpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(::sched_getcpu(), &cpus);
  ::sched_setaffinity(0, sizeof(cpus), &cpus);
}

bool Pass(int from, int to, bool begins) {
  char byte = 0;
  if (begins && ::write(to, &byte, 1) != 1) return false;
  if (::read(from, &byte, 1) != 1) return false;
  return begins || ::write(to, &byte, 1) == 1;
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 1'000'000;
  StayOnOneCpu();
  int there[2], back[2];
  if (rounds <= 0 || ::pipe(there) != 0 || ::pipe(back) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    for (long i = 0; i < rounds && Pass(there[0], back[1], false); ++i) {
    }
    std::exit(0);
  }
  const uint64_t begin_ns = hbbp::ClockNs(CLOCK_MONOTONIC);
  for (long i = 0; i < rounds && Pass(back[0], there[1], true); ++i) {
  }
  const uint64_t end_ns = hbbp::ClockNs(CLOCK_MONOTONIC);
  ::waitpid(child, nullptr, 0);
  std::printf("%.0f ns a switch\n",
              static_cast<double>(end_ns - begin_ns) / (2 * static_cast<double>(rounds)));
  return 0;
}
