// A library to be preloaded, which makes one allocation of libhbbp-preload in the program fail, or
// all from one on (tools/preload/own_memory.cc).
//
//   HBBP_FAULT_NTH     which one, counted from 1; 0: none
//   HBBP_FAULT_ON      if set, all later ones too
//   HBBP_FAULT_REPORT  a file that gets a line for each process: how many failed
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<long> allocations{0}, failed{0};
std::atomic<long> nth{-1};
std::atomic<bool> fails_on{false};

// The library allocates before constructors of this one run.
void ReadSettings() {
  const char* const number = getenv("HBBP_FAULT_NTH");
  fails_on = getenv("HBBP_FAULT_ON") != nullptr;
  nth = number == nullptr ? 0 : atol(number);
}

__attribute__((destructor)) void Report() {
  const char* const file = getenv("HBBP_FAULT_REPORT");
  if (file == nullptr || allocations == 0) return;
  char line[64];
  const int length =
      snprintf(line, sizeof(line), "%ld of %ld\n", failed.load(), allocations.load());
  const int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  (void)!write(fd, line, static_cast<size_t>(length));
  close(fd);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) bool HbbpRefusesMemory() {
  if (nth < 0) ReadSettings();
  const long number = ++allocations;
  if (nth == 0 || number < nth || (number > nth && !fails_on)) return false;
  ++failed;
  return true;
}
