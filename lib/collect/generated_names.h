// Names of generated code that was copied out of memory, from what the JIT tells perf.
//
// JITs write their files late (node's buffer for a jitdump is 2 MiB), so this is done when counts
// are taken, not when samples come. A jitdump has the code itself: where code has replaced code,
// the bytes that were copied at the first sample tell which of the two they are of. A map has names
// only; the last function that it has at an address is taken.
#ifndef HBBP_LIB_COLLECT_GENERATED_NAMES_H_
#define HBBP_LIB_COLLECT_GENERATED_NAMES_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/work.h"
#include "image/named_range.h"
#include "profile/profile_data.h"

namespace hbbp {

struct JitFiles {
  std::string map;                 // /tmp/perf-PID.map; empty: none
  std::vector<std::string> dumps;  // jit-PID.dump, wherever the JIT has put it
};

// Where the JIT of a process that runs writes its map. `pid` 0: the calling process.
std::string PathOfPerfMap(pid_t pid);

// Cuts what was copied around counts of `data` into functions with names; of a function of which a
// part was copied only, the rest comes from the jitdump, or is read out of the memory of `pid`
// (0: the calling process). Files that are not there, or not of this user, are left out. Returns
// what is wrong with one of them; empty: nothing. Throws WorkCancelled if `check` is called off.
std::string NameGeneratedCode(pid_t pid, const JitFiles& files, ProfileData* data,
                              CancelCheck* check = nullptr);

// The functions of a perf map that something was counted in, by address and without overlaps; of
// several at an address the last. For a module of ModuleKind::kAnonymous whose code is not known.
// kNotFound if there is no such file, kPermission if it is somebody else's. Throws WorkCancelled
// if `check` is called off.
StatusOr<std::vector<NamedRange>> FunctionsWithCounts(const std::string& map,
                                                      const ProfileData& data, uint32_t module,
                                                      CancelCheck* check = nullptr);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_GENERATED_NAMES_H_
