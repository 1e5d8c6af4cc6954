// Finds the same module in several profiles.
#ifndef HBBP_LIB_PROFILE_MODULE_KEY_H_
#define HBBP_LIB_PROFILE_MODULE_KEY_H_

#include <cstdint>
#include <string>

#include "profile/profile_data.h"

namespace hbbp {

// Returns a number of the process of a profile. Process ids are the same on many hosts, in
// containers most are 1, so the time belongs to it.
uint64_t ProcessKey(const ProfileData& profile);

// Returns a number of the process that generated the code of a module; 0 for all other modules.
// Profiles of one process have the same.
uint64_t GeneratingProcess(const ProfileData& profile, const ModuleRecord& module);

// Returns a text that is the same for the same module: of a file by build ID, or else by path and
// inode; of a kernel also by boot, from which to which its addresses differ. Build IDs that
// SameBuildId finds equal are the same. `process` is from GeneratingProcess.
std::string ModuleKey(const ModuleRecord& module, uint64_t process);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_MODULE_KEY_H_
