// Keeps the code of a sampled module available after the process has unmapped it or has ended.
// `pid` 0 is the calling process.
#ifndef HBBP_LIB_COLLECT_MODULE_CAPTURE_H_
#define HBBP_LIB_COLLECT_MODULE_CAPTURE_H_

#include <sys/types.h>

#include "base/address.h"
#include "profile/profile_data.h"

namespace hbbp {

// Is called at the first sample of a module of kFile. Finds its build ID, then pins its file if
// `path` still leads to it, or else copies its mappings out of memory. `header` is the address that
// file offset 0 was mapped at.
void PinOrCopyModule(pid_t pid, RuntimeAddress header, ModuleRecord* module);

// Copies the whole mapping that starts at `start`, as an image.
void CopyMapping(pid_t pid, RuntimeAddress start, ModuleRecord* module);

// Returns true if the file at module.path is the one that was mapped.
bool PathLeadsToModule(const ModuleRecord& module);

// Is called before a module is stored. If its path no longer leads to it, puts the content of the
// pinned file into its chunks, so that the profile can be read without it.
void EmbedIfUnreachable(ModuleRecord* module);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_MODULE_CAPTURE_H_
