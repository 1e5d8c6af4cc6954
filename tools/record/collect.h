// Gathers what the processes of a recorded program left behind.
#ifndef HBBP_TOOLS_RECORD_COLLECT_H_
#define HBBP_TOOLS_RECORD_COLLECT_H_

#include <sys/types.h>

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace hbbp::tools {

// A directory for the parts, next to `output` so that they can be moved there; removed with all
// that is in it at the end. Programs that change their user write there too, so everybody may: who
// knows its name, which is a random one in a directory that only its owner can list.
class PartsFolder {
 public:
  // Where that for `output` would be, which is to be a regular file.
  static StatusOr<std::string> PathFor(const std::string& output);
  // Also removes what runs with the same output left that were killed with all their processes.
  static StatusOr<PartsFolder> Create(const std::string& path);
  explicit PartsFolder(std::string path) : path_(std::move(path)) {}
  PartsFolder(PartsFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ~PartsFolder();

  const std::string& path() const { return path_; }

  // Why nothing can be written there.
  Status TryToWrite() const;

  // Profiles that could not be put where they belong stay there. What to do about them, for the end
  // of a message; empty if there are none.
  std::string KeepIfAnyProfile();

 private:
  std::string Outer() const;

  std::string path_;
};

// The images of one process, in the order that it ran them (exec).
struct ProcessParts {
  struct Profile {
    std::string path;
    bool is_partial = false;  // the image ended without saving what came later
    uint64_t begin_ns = 0;    // of CLOCK_MONOTONIC
  };
  std::vector<Profile> profiles;
  std::vector<std::string> errors;  // texts
  // Of the root only: did it come so far that it could be profiled, and that it was run?
  bool was_starting = false;
  bool was_started = false;
};

struct ProcessProfile {
  pid_t pid = 0;
  std::string path;
  hbbp::profile profile;
  // When it was saved, of CLOCK_MONOTONIC, if its process ended without saving what came later,
  // else 0.
  uint64_t partial_since_ns = 0;
};

// Puts the profile of `root` at `output` and those of other processes with samples at
// output.PID, after removing such files of an earlier run. The root's comes first, if it has one.
// The keeper goes on where a killed process stopped. `parts` gets what there was in `folder`.
StatusOr<std::vector<ProcessProfile>> StoreProfiles(const PartsFolder& folder, pid_t root,
                                                    const std::string& output,
                                                    std::map<pid_t, ProcessParts>* parts);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_COLLECT_H_
