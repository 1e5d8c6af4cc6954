// Collects the profiles that the processes of a recorded program wrote, and stores them.
#ifndef HBBP_TOOLS_RECORD_COLLECT_H_
#define HBBP_TOOLS_RECORD_COLLECT_H_

#include <sys/types.h>

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace hbbp::tools {

// A directory for the parts, next to `output` so that they can be moved there; it is removed with
// all of its files at the end. Programs that change their user write there too, so everybody may
// who knows its name: a random one in a directory that only its owner can list.
class PartsDirectory {
 public:
  // Returns its path for `output`, which must be or become a regular file.
  static StatusOr<std::string> PathFor(const std::string& output);
  // Also removes the directories of earlier runs with the same output that were killed with all
  // their processes.
  static StatusOr<PartsDirectory> Create(const std::string& path);
  explicit PartsDirectory(std::string path) : path_(std::move(path)) {}
  PartsDirectory(PartsDirectory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ~PartsDirectory();

  const std::string& path() const { return path_; }
  // Returns OUTPUT.parts-PID, which only it is in.
  std::string Outer() const;

  // Returns why nothing can be written there.
  Status TryToWrite() const;

  // Leaves the directory to another process, which removes it.
  void Release() { path_.clear(); }

  // Keeps profiles that could not be stored. Returns what to do about them, for the end of a
  // message; empty if there are none.
  std::string KeepIfAnyProfile();

 private:
  std::string path_;
};

// The images of one process, in the order of their exec.
struct ProcessParts {
  struct Profile {
    std::string path;
    bool is_partial = false;  // the image ended without saving its last counts
    uint64_t begin_ns = 0;    // of CLOCK_MONOTONIC
  };
  std::vector<Profile> profiles;
  std::vector<std::string> errors;  // messages
  // These are set only for the root: whether it reached the point where it could be profiled, and
  // whether it ran.
  bool was_starting = false;
  bool was_started = false;
};

struct ProcessProfile {
  pid_t pid = 0;
  std::string path;
  hbbp::profile profile;
  uint64_t saved_ns = 0;    // in CLOCK_MONOTONIC; 0: it was observed from outside, until its end
  bool is_partial = false;  // its process has not saved its last counts
  bool is_running = false;  // its profile is replaced when it ends
  bool has_failed = false;  // to save something, as its errors say
};

struct RunProfiles {
  // The root's comes first, if it has one.
  std::vector<ProcessProfile> processes;
  std::optional<hbbp::profile> merged;  // what is at the output, if they were merged
  std::vector<std::string>
      kept_apart;  // says of each file that was not merged where it is, and why
};

// Stores the profile of `root` at `output` and those of other processes with samples at output.PID,
// after removing such files of an earlier run. The keeper continues where a killed process stopped.
// The parts of processes that still run stay in the directory. `parts` gets the parts in
// `directory`.
StatusOr<RunProfiles> StoreProfiles(const PartsDirectory& directory, pid_t root,
                                    const std::string& output, const std::set<pid_t>& running,
                                    std::map<pid_t, ProcessParts>* parts);

// Does the same, but stores the sum of all processes that have ended at `output`. Only what cannot
// be added is stored at output.PID.
StatusOr<RunProfiles> StoreMergedProfile(const PartsDirectory& directory, pid_t root,
                                         const std::string& output, const std::set<pid_t>& running,
                                         std::map<pid_t, ProcessParts>* parts);

// Stores profiles that were taken from outside, of which the first is that of the root, in the same
// way: all at `output` if `merge`. They have no paths yet.
StatusOr<RunProfiles> StoreObserved(std::vector<ProcessProfile> processes,
                                    const std::string& output, bool merge);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_COLLECT_H_
