// Counts the resources of the test process, to detect what a test leaves behind.
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

inline size_t EntriesIn(const std::string& directory) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory),
                                           std::filesystem::directory_iterator()));
}

inline size_t OpenFds() { return EntriesIn("/proc/self/fd"); }
inline size_t ThreadsNow() { return EntriesIn("/proc/self/task"); }

// A joined thread stays listed for a moment.
inline bool HasAtMostThreads(size_t limit) {
  for (int i = 0; i < 200 && ThreadsNow() > limit; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return ThreadsNow() <= limit;
}

// Counts mapped ring buffers.
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
