// Descendants finds the processes that others start, by the parents that /proc shows.
//
// A process is missed if it ends between two searches, or if its parent has ended before it is
// first seen: then the kernel says that another one started it.
#ifndef HBBP_TOOLS_RECORD_DESCENDANTS_H_
#define HBBP_TOOLS_RECORD_DESCENDANTS_H_

#include <sys/types.h>

#include <map>
#include <set>
#include <vector>

namespace hbbp::tools {

class Descendants {
 public:
  // The process is an ancestor from now on.
  void AddAncestor(pid_t pid) { family_.insert(pid); }

  // Returns the descendants that were not returned before. What it costs depends on the number of
  // all processes, and little on that of old ones.
  std::vector<pid_t> FindNew();

 private:
  std::set<pid_t> family_;
  std::map<pid_t, pid_t> parents_;  // of the other processes, when they were first seen
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_DESCENDANTS_H_
