// Declares the options for files of the profiled kernel.
#ifndef HBBP_TOOLS_KERNEL_OPTIONS_H_
#define HBBP_TOOLS_KERNEL_OPTIONS_H_

#include <hbbp/analysis.h>

#include <string>

#include "options.h"

namespace hbbp::tools {

class KernelOptions {
 public:
  // The options are valid as long as this object.
  void AddTo(Options* options);
  bool HasFiles() const { return !vmlinux_.empty() || !kcore_.empty() || !kallsyms_.empty(); }
  // Returns the files, valid as long as this object.
  hbbp_kernel_files Files() const;

 private:
  std::string vmlinux_;
  std::string kcore_;
  std::string kallsyms_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_KERNEL_OPTIONS_H_
