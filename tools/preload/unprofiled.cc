#include "preload/unprofiled.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include "preload/options.h"
#include "preload/seccomp_filter.h"

namespace hbbp::preload {

void RecordUnprofiled(ExecTarget target, const char* path) {
  if (target == ExecTarget::kOrdinary || HasFilter()) return;
  const char* const name = ::getenv(kDirectoryVariable);
  const int saved_errno = errno;
  const int directory =
      name == nullptr ? -1 : ::open(name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const int fd =
      directory < 0
          ? -1
          : ::openat(directory, kUnprofiledFile,
                     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (fd >= 0 && ::lseek(fd, 0, SEEK_END) < kMaxUnprofiledBytes) {
    char number[] = {static_cast<char>('0' + static_cast<int>(target)), ' '};
    char end[] = {'\n'};
    const iovec line[] = {{number, sizeof(number)},
                          {const_cast<char*>(path), path == nullptr ? 0 : ::strlen(path)},
                          {end, sizeof(end)}};
    (void)!::writev(fd, line, std::size(line));
  }
  if (fd >= 0) ::close(fd);
  if (directory >= 0) ::close(directory);
  errno = saved_errno;
}

}  // namespace hbbp::preload
