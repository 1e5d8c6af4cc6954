#include "preload/unprofiled.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

#include "preload/options.h"
#include "preload/seccomp_filter.h"

namespace hbbp::preload {

void RecordUnprofiled(ExecTarget target, const char* path) {
  const char* const directory = ::getenv(kDirectoryVariable);
  if (target == ExecTarget::kOrdinary || directory == nullptr || HasFilter()) return;
  const int saved_errno = errno;
  char file[PATH_MAX], line[PATH_MAX];
  const int file_length = ::snprintf(file, sizeof(file), "%s/%s", directory, kUnprofiledFile);
  const int line_length = ::snprintf(line, sizeof(line), "%d %s\n", static_cast<int>(target),
                                     path == nullptr ? "" : path);
  const bool fits = file_length < PATH_MAX && line_length < PATH_MAX;
  const int fd =
      fits ? ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
  if (fd >= 0) {
    if (::lseek(fd, 0, SEEK_END) < kMaxUnprofiledBytes) {
      (void)!::write(fd, line, static_cast<size_t>(line_length));
    }
    ::close(fd);
  }
  errno = saved_errno;
}

}  // namespace hbbp::preload
