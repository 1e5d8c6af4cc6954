#include "backends/userfaultfd.h"

#include <dirent.h>
#include <unistd.h>

#include <memory>
#include <string_view>

namespace hbbp {

bool HasUserfaultfd() {
  constexpr std::string_view kTarget = "anon_inode:[userfaultfd]";
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
  if (directory == nullptr) return false;
  while (const dirent* entry = ::readdir(directory.get())) {
    char target[kTarget.size() + 1];
    const ssize_t size =
        ::readlinkat(::dirfd(directory.get()), entry->d_name, target, sizeof(target));
    if (size > 0 && kTarget == std::string_view(target, static_cast<size_t>(size))) return true;
  }
  return false;
}

}  // namespace hbbp
