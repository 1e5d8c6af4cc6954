// TemporaryRecording records a program into a profile that is removed afterwards.
#ifndef HBBP_TOOLS_RECORD_TEMPORARY_RECORDING_H_
#define HBBP_TOOLS_RECORD_TEMPORARY_RECORDING_H_

#include <string>
#include <utility>

#include "base/status.h"
#include "record/record_options.h"

namespace hbbp::tools {

class TemporaryRecording {
 public:
  // The directory of the profile is in $TMPDIR, or in /tmp.
  static StatusOr<TemporaryRecording> Create();
  TemporaryRecording(TemporaryRecording&& other) noexcept
      : directory_(std::move(other.directory_)) {
    other.directory_.clear();
  }
  ~TemporaryRecording();

  // Records the command of the request, with all processes that it starts, and returns the exit
  // status of hbbp record.
  int Run(RecordOptions request);

  std::string profile() const { return directory_ + "/hbbp.data"; }
  // Returns whether the program left a profile.
  bool has_profile() const;

 private:
  explicit TemporaryRecording(std::string directory) : directory_(std::move(directory)) {}

  std::string directory_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_TEMPORARY_RECORDING_H_
