// ObservedProcesses profiles processes from outside, each by a session of its own, and those that
// belong to them later: their children, or all of a control group.
#ifndef HBBP_TOOLS_RECORD_OBSERVED_PROCESSES_H_
#define HBBP_TOOLS_RECORD_OBSERVED_PROCESSES_H_

#include <sys/types.h>

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "record/cgroup.h"
#include "record/collect.h"
#include "record/descendants.h"
#include "record/record_options.h"

namespace hbbp::tools {

class ObservedProcesses {
 public:
  // `record` must outlive it.
  explicit ObservedProcesses(const RecordOptions& record) : record_(record) {}

  // Begins to observe a process. The first one is the root.
  Status Add(pid_t pid);
  // The same with a child that waits for this before it executes the command.
  Status AddWaiting(pid_t child);
  // Observes all processes of the group, also those that join it. The error is that of the first
  // process if none can be observed.
  Status AddGroup(Cgroup group);

  // Waits until a process ends, or for so long, and looks for new ones if it is time to.
  void Wait(int timeout_ms);

  // Stops this process, as SIGTSTP does by default, and returns when it continues. Meanwhile
  // nothing is observed, since threads would wait for this process.
  void Suspend();

  // Returns whether one, or any of them, still runs.
  bool IsRunning(pid_t pid) const;
  bool AnyRuns() const;

  // Ends the sessions, and returns the profiles of the root and of all others that have samples.
  std::vector<ProcessProfile> Finish();

 private:
  struct Process {
    UniqueFd fd;  // becomes readable at its end
    hbbp::session session;
  };

  Status Start(pid_t pid, hbbp_session_options options);
  std::vector<pid_t> FindNew();
  void AddFound(pid_t pid);
  void EndSession(pid_t pid, Process* process);

  const RecordOptions& record_;
  pid_t root_ = 0;
  std::map<pid_t, Process> running_;
  Descendants descendants_;
  std::optional<Cgroup> group_;
  std::vector<ProcessProfile> profiles_;  // of processes whose sessions have ended
  std::vector<pid_t> members_;            // of the group, when they were last listed; sorted
  std::set<std::string> refusals_;        // that were printed
  uint64_t next_search_ns_ = 0;
  uint64_t last_found_ns_ = 0;  // when a search last found processes, or began
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_OBSERVED_PROCESSES_H_
