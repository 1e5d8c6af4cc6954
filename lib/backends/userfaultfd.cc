#include "backends/userfaultfd.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "base/directory.h"
#include "base/unique_fd.h"

namespace hbbp {

bool HasUserfaultfd() {
  constexpr std::string_view kTarget = "anon_inode:[userfaultfd]";
  const UniqueFd directory(::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return false;
  bool is_found = false;
  ForEachName(directory.get(), [&](const char* name) {
    char target[kTarget.size() + 1];
    const ssize_t size = ::readlinkat(directory.get(), name, target, sizeof(target));
    is_found = size > 0 && kTarget == std::string_view(target, static_cast<size_t>(size));
    return !is_found;
  });
  return is_found;
}

}  // namespace hbbp
