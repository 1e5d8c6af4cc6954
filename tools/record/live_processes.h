// Finds the processes of a recorded program that still run after it has ended, as those of daemons
// do. Each profiled process has a FIFO in the directory of parts open for as long as it is
// profiled, and has written its id to it (preload/image_profile.cc).
#ifndef HBBP_TOOLS_RECORD_LIVE_PROCESSES_H_
#define HBBP_TOOLS_RECORD_LIVE_PROCESSES_H_

#include <sys/types.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp::tools {

class LiveProcesses {
 public:
  // Makes the FIFO, before the program runs.
  static StatusOr<LiveProcesses> Create(const std::string& directory);
  // Opens one that another process made.
  static StatusOr<LiveProcesses> Open(const std::string& directory);
  // Returns whether a process has that of this directory open for reading.
  static bool IsObserved(const std::string& directory);

  // Returns those that still run, but `root`, which has ended. Some may be missing if there were
  // thousands of processes. Waits a little for processes that were forked last of all, and for the
  // ends of those that are about to end.
  std::vector<pid_t> Find(pid_t root);

  // Waits for all processes, among which are `known` ones.
  void WaitForAll(const std::vector<pid_t>& known);

 private:
  LiveProcesses(std::string directory, UniqueFd reader)
      : directory_(std::move(directory)), reader_(std::move(reader)) {}

  // Returns whether a process has the FIFO open.
  bool Read();
  std::vector<pid_t> AliveBut(pid_t root) const;
  bool MayGetWriter(pid_t root) const;

  std::string directory_;
  UniqueFd reader_;
  std::set<pid_t> pids_;  // that were written
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_LIVE_PROCESSES_H_
