// What the test process itself holds on to, for tests that nothing is left behind.
#ifndef HBBP_TESTS_SUPPORT_OWN_PROCESS_H_
#define HBBP_TESTS_SUPPORT_OWN_PROCESS_H_

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace hbbp {

inline size_t EntriesIn(const std::string& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                           std::filesystem::directory_iterator()));
}

inline size_t OpenFds() { return EntriesIn("/proc/self/fd"); }
inline size_t ThreadsNow() { return EntriesIn("/proc/self/task"); }

// A thread that was joined is listed for a moment longer.
inline bool HasAtMostThreads(size_t most) {
  for (int i = 0; i < 200 && ThreadsNow() > most; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return ThreadsNow() <= most;
}

// Ring buffers that are mapped.
inline size_t MappedRings() {
  std::ifstream maps("/proc/self/maps");
  size_t rings = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("anon_inode:[perf_event]") != std::string::npos) ++rings;
  }
  return rings;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_OWN_PROCESS_H_
