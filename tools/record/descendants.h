// Descendants finds the processes that others start, by the parents that /proc shows.
//
// A process is missed if it ends between two searches, or if its parent has ended before it is
// first seen: then the kernel says that another one started it.
#ifndef HBBP_TOOLS_RECORD_DESCENDANTS_H_
#define HBBP_TOOLS_RECORD_DESCENDANTS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace hbbp::tools {

class Descendants {
 public:
  // The process is an ancestor from now on.
  void AddAncestor(pid_t pid);

  // Returns the descendants that were not returned before. It costs a read of a file where no
  // process was born; otherwise that depends on the number of all processes, and little on that of
  // old ones.
  std::vector<pid_t> FindNew();

 private:
  bool MayHaveNew();

  std::set<pid_t> family_;
  std::map<pid_t, pid_t> parents_;  // of the other processes, when they were first seen
  UniqueFd newest_;                 // /proc/loadavg
  std::string newest_process_;      // as of the last call
  uint64_t next_listing_ns_ = 0;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_DESCENDANTS_H_
