// Finds the code and the functions of a profile's kernel again. docs/reference/kernel.md says in
// which order.
#ifndef HBBP_LIB_ANALYSIS_KERNEL_RESOLVER_H_
#define HBBP_LIB_ANALYSIS_KERNEL_RESOLVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/resolved_module.h"
#include "base/status.h"
#include "image/elf_image.h"
#include "image/kernel_core.h"
#include "image/kernel_symbols.h"
#include "profile/profile_data.h"

namespace hbbp {

// Where to look; empty: where such files usually are, if they are of the kernel that ran.
struct KernelFilePaths {
  std::string vmlinux;
  std::string core;
  std::string symbols;
  std::string root;  // below it are /proc/kcore and the usual places of a vmlinux; empty: "/"
};

// Files that somebody named.
struct KernelFiles {
  std::shared_ptr<const ElfImage> vmlinux;
  std::shared_ptr<const KernelCore> core;
  std::shared_ptr<const KernelSymbols> symbols;
  KernelFilePaths paths;
};

StatusOr<KernelFiles> OpenKernelFiles(const KernelFilePaths& paths);

// kMismatch, with the reason, if a named file is of another kernel than `record`.
Status CheckKernelFiles(const KernelFiles& files, const ModuleRecord& record);

// Files that are named for a profile. kMismatch if none of the kernels that have samples is the one
// that a file is of; a profile without kernel samples takes any. And the errors of OpenKernelFiles.
StatusOr<KernelFiles> OpenKernelFilesFor(const ProfileData& data, const KernelFilePaths& paths);

// Named files that are of another kernel are left out.
ResolvedModule ResolveKernel(const ModuleRecord& record, const KernelFiles& files);

// Notes in `record` what `module`, of that record, knows about the code at `offsets` (as
// IpCount::offset, by rising offset): names of functions, and code that is in memory only.
void CaptureKernel(const ResolvedModule& module, const std::vector<uint64_t>& offsets,
                   ModuleRecord* record);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_KERNEL_RESOLVER_H_
