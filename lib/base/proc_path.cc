#include "base/proc_path.h"

namespace hbbp {

std::string ProcPath(pid_t pid, pid_t tid, const char* file) {
  std::string path = "/proc/";
  if (pid != 0) {
    path += std::to_string(pid);
  } else {
    path += tid == 0 ? "thread-self" : "self";
  }
  if (tid != 0) path += "/task/" + std::to_string(tid);
  path += '/';
  path += file;
  return path;
}

}  // namespace hbbp
