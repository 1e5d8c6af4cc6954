#include "record/temporary_recording.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "commands/record.h"

namespace hbbp::tools {

StatusOr<TemporaryRecording> TemporaryRecording::Create() {
  const char* const parent = ::getenv("TMPDIR");
  std::string directory = std::string(parent != nullptr ? parent : "/tmp") + "/hbbp-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return ErrnoStatus(errno, directory);
  return TemporaryRecording(std::move(directory));
}

TemporaryRecording::~TemporaryRecording() {
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

int TemporaryRecording::Run(RecordOptions request) {
  request.output = profile();
  request.merge = true;
  request.is_temporary = true;
  return Record(std::move(request));
}

bool TemporaryRecording::has_profile() const { return ::access(profile().c_str(), F_OK) == 0; }

}  // namespace hbbp::tools
