// Gathers what the processes of a recorded program left behind.
#ifndef HBBP_TOOLS_RECORD_COLLECT_H_
#define HBBP_TOOLS_RECORD_COLLECT_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "profile_view.h"

namespace hbbp::tools {

// A folder for the parts, made beside `output` so that they can be moved there; removed with all
// that is in it at the end.
class PartsFolder {
 public:
  static StatusOr<PartsFolder> Create(const std::string& output);
  PartsFolder(PartsFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ~PartsFolder();

  const std::string& path() const { return path_; }

  // Why nothing can be written there.
  Status TryToWrite() const;

 private:
  explicit PartsFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// The images of one process, in the order that it ran them (exec).
struct ProcessParts {
  std::vector<std::string> profiles;
  std::vector<std::string> errors;  // texts
};

std::map<pid_t, ProcessParts> ListParts(const PartsFolder& folder);

struct ProcessProfile {
  pid_t pid = 0;
  std::string path;
  ProfileHandle profile;
};

// Puts the profile of `root` at `output` and those of other processes with samples at
// output.PID, after removing such files of an earlier run. The root's comes first, if it has one.
StatusOr<std::vector<ProcessProfile>> StoreProfiles(const std::map<pid_t, ProcessParts>& parts,
                                                    pid_t root, const std::string& output);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_COLLECT_H_
