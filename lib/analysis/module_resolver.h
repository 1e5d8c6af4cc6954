// Finds the code of a profile's module again: in its file, in the profile, or not at all.
#ifndef HBBP_LIB_ANALYSIS_MODULE_RESOLVER_H_
#define HBBP_LIB_ANALYSIS_MODULE_RESOLVER_H_

#include "analysis/resolved_module.h"
#include "profile/profile_data.h"

namespace hbbp {

struct KernelFiles;

ResolvedModule ResolveModule(const ModuleRecord& record);
ResolvedModule ResolveModule(const ModuleRecord& record, const KernelFiles& kernel_files);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_MODULE_RESOLVER_H_
