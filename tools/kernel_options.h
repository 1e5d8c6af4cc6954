// The options that name files of the kernel that was profiled.
#ifndef HBBP_TOOLS_KERNEL_OPTIONS_H_
#define HBBP_TOOLS_KERNEL_OPTIONS_H_

#include <string>

#include "base/status.h"
#include "options.h"
#include "profile_view.h"

namespace hbbp::tools {

class KernelOptions {
 public:
  // The options are valid as long as this object.
  void AddTo(Options* options);
  Status Apply(hbbp_profile* profile) const;

 private:
  std::string vmlinux_;
  std::string kcore_;
  std::string kallsyms_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_KERNEL_OPTIONS_H_
