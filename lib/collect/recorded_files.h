// RecordedFiles: which files of this machine are those of a recording.
//
// A module whose path below ImportOptions::root does not lead to its build ID is searched there by
// that ID: in the trees .build-id/xx/yyyy of perf, of distributions and of debuginfod, and then
// among all files.
#ifndef HBBP_LIB_COLLECT_RECORDED_FILES_H_
#define HBBP_LIB_COLLECT_RECORDED_FILES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/work.h"
#include "collect/importer.h"
#include "collect/session_log.h"
#include "profile/profile_data.h"

namespace hbbp {

// One thread at a time.
class RecordedFiles {
 public:
  static constexpr size_t kMaxFiles = 500'000;

  // At most `max_files` entries below the root are looked at; what they are is kept.
  explicit RecordedFiles(const ImportOptions& options, size_t max_files = kMaxFiles)
      : root_(options.root), max_files_(max_files) {
    for (const auto& [recorded, here] : options.files) named_.insert(here);
  }

  // Gives modules the paths of the files that have their build IDs, and the build IDs that these
  // files have, without the padding of older recordings. Files that were found by build ID are
  // named in the note of the first source and in the log, which may be null. With `check`, throws
  // WorkCancelled if the work is cancelled.
  void Find(ProfileData* data, SessionLog* log, CancelCheck* check);

 private:
  struct Found {
    std::string path;
    std::vector<uint8_t> build_id;
  };
  std::optional<Found> FindByBuildId(std::span<const uint8_t> build_id, CancelCheck* check);
  std::optional<Found> FirstWithCode(const std::vector<std::string>& paths,
                                     std::span<const uint8_t> build_id);
  void ReadRoot(CancelCheck* check);

  const std::string root_;
  std::set<std::string> named_;  // paths that the user gave
  const size_t max_files_;
  bool was_read_ = false;
  bool is_cut_ = false;
  std::string debug_only_;  // a file of the last search that has no code
  // By the first bytes, which padding leaves alone.
  std::map<std::string, std::vector<std::string>> paths_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RECORDED_FILES_H_
