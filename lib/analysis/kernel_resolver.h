// Finds the code and the functions of a profile's kernel again. docs/reference/kernel.md has the
// order in which files are tried.
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

// The paths of files; where one is empty, the usual paths are searched for a file of the kernel
// that ran.
struct KernelFilePaths {
  std::string vmlinux;
  std::string core;
  std::string symbols;
  std::string root;  // the directory of /proc/kcore and of the usual paths of a vmlinux; empty: "/"
};

// The files that the user named.
struct KernelFiles {
  std::shared_ptr<const ElfImage> vmlinux;
  std::shared_ptr<const KernelCore> core;
  std::shared_ptr<const KernelSymbols> symbols;
  KernelFilePaths paths;
};

StatusOr<KernelFiles> OpenKernelFiles(const KernelFilePaths& paths);

// Returns kMismatch, with the reason, if a named file is of another kernel than `record`.
Status CheckKernelFiles(const KernelFiles& files, const ModuleRecord& record);

// Opens files that are named for a profile. Returns kMismatch if none of the kernels with samples
// is that of a file, unless the profile has no kernel samples, and the errors of OpenKernelFiles.
StatusOr<KernelFiles> OpenKernelFilesFor(const ProfileData& data, const KernelFilePaths& paths);

// Ignores named files that are of another kernel.
ResolvedModule ResolveKernel(const ModuleRecord& record, const KernelFiles& files);

// Stores in `record` what `module`, which must be resolved from it, knows about the code at
// `offsets` (as IpCount::offset, by rising offset): names of functions, and code that is in memory
// only.
void CaptureKernel(const ResolvedModule& module, const std::vector<uint64_t>& offsets,
                   ModuleRecord* record);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_KERNEL_RESOLVER_H_
