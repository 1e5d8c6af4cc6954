// The kernel that this runs on, as profiles name it.
#ifndef HBBP_LIB_SESSION_KERNEL_NAME_H_
#define HBBP_LIB_SESSION_KERNEL_NAME_H_

#include <sys/utsname.h>

#include <string>

namespace hbbp {

// Returns a name such as "Linux 6.1.0-18-amd64 x86_64", or "" if it is not known.
inline std::string KernelName() {
  utsname name;
  if (::uname(&name) != 0) return "";
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_KERNEL_NAME_H_
