// Cgroup is a control group, which has the processes of a service or of a container.
#ifndef HBBP_TOOLS_RECORD_CGROUP_H_
#define HBBP_TOOLS_RECORD_CGROUP_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace hbbp::tools {

class Cgroup {
 public:
  // `name` is a directory (/sys/fs/cgroup/system.slice/nginx.service), its path below the mount, as
  // /proc/PID/cgroup shows it, or the last part of that path: the name of a unit of systemd or of
  // the scope of a container.
  static StatusOr<Cgroup> Find(const std::string& name);

  // Returns its processes and those of the groups in it, sorted. There are none if it was removed.
  std::vector<pid_t> ListProcesses() const;

  const std::string& directory() const { return directory_; }

 private:
  explicit Cgroup(std::string directory) : directory_(std::move(directory)) {}

  std::string directory_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_CGROUP_H_
