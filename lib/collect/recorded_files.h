// RecordedFiles finds the files of a recording on this machine.
//
// A module whose path below ImportOptions::root does not lead to its build ID is searched there by
// that ID: in the trees .build-id/xx/yyyy of perf, of distributions and of debuginfod, then among
// all files, and then in perf's cache. If its build ID is not known, and there is no file at its
// path, a file of its name directly in the root is taken.
#ifndef HBBP_LIB_COLLECT_RECORDED_FILES_H_
#define HBBP_LIB_COLLECT_RECORDED_FILES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/work.h"
#include "collect/import_options.h"
#include "collect/session_log.h"
#include "profile/profile_data.h"

namespace hbbp {

enum class RecordedFileState { kMissing, kOther, kFound };

// Returns whether the file of a module is here, or another one at its path.
RecordedFileState FindRecordedFileState(const ModuleRecord& module);

// One thread at a time may use it.
class RecordedFiles {
 public:
  static constexpr size_t kMaxFiles = 500'000;

  // At most `max_files` entries below the root are read, once. `options` must outlive it.
  explicit RecordedFiles(const ImportOptions& options, size_t max_files = kMaxFiles)
      : options_(options), max_files_(max_files) {}

  // Sets the paths of modules to the files that have their build IDs, and the build IDs to those of
  // the files, which have no padding as in older recordings. Files that were found by build ID are
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
  std::optional<Found> FindBelowRoot(std::span<const uint8_t> build_id, CancelCheck* check);
  std::optional<Found> FindByName(const std::string& path) const;
  // Returns whether the user gave the path.
  bool IsGiven(const std::string& path) const;
  void ReadRoot(CancelCheck* check);

  const ImportOptions& options_;
  const size_t max_files_;
  bool was_read_ = false;
  bool is_cut_ = false;
  std::string debug_only_;  // a file of the last search that has no code
  // The key is the first bytes of the build ID, which padding does not change.
  std::map<std::string, std::vector<std::string>> paths_;
};

// Sets the paths of modules to the files that `options` lead to, where they name one or the profile
// has none. Returns kNotFound if an option leads nowhere. With `check`, throws WorkCancelled if the
// work is cancelled.
Status MoveFiles(const ImportOptions& options, ProfileData* data, CancelCheck* check);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RECORDED_FILES_H_
