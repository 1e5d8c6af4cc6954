// ForEachName lists a directory.
#ifndef HBBP_LIB_BASE_DIRECTORY_H_
#define HBBP_LIB_BASE_DIRECTORY_H_

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace hbbp {

// Calls visit(name) for each entry of the open directory, "." and ".." among them, until it returns
// false. Returns 0, or the errno of the failure. Allocates nothing, which opendir does.
template <typename Visit>
int ForEachName(int directory_fd, const Visit& visit) {
  alignas(dirent64) char buffer[4096];
  for (;;) {
    const long bytes = ::syscall(SYS_getdents64, directory_fd, buffer, sizeof(buffer));
    if (bytes <= 0) return bytes == 0 ? 0 : errno;
    for (long offset = 0; offset < bytes;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(buffer + offset);
      if (!visit(&entry->d_name[0])) return 0;
      offset += entry->d_reclen;
    }
  }
}

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_DIRECTORY_H_
