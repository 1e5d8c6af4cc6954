#include "kernel_options.h"

namespace hbbp::tools {
namespace {

const char* PathOrNull(const std::string& path) { return path.empty() ? nullptr : path.c_str(); }

}  // namespace

void KernelOptions::AddTo(Options* options) {
  options->Value("--vmlinux", &vmlinux_, "FILE", "the static kernel that was profiled");
  options->Value("--kcore", &kcore_, "FILE", "its memory: a copy of /proc/kcore, or a dump");
  options->Value("--kallsyms", &kallsyms_, "FILE", "its symbols: a copy of /proc/kallsyms");
}

hbbp_kernel_files KernelOptions::Files() const {
  HBBP_INIT(hbbp_kernel_files, files);
  files.vmlinux = PathOrNull(vmlinux_);
  files.kcore = PathOrNull(kcore_);
  files.kallsyms = PathOrNull(kallsyms_);
  return files;
}

}  // namespace hbbp::tools
