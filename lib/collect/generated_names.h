// Names generated code that was copied out of memory, by the files that a JIT writes for perf.
//
// JITs write their files late (node's buffer for a jitdump is 2 MiB), so this is done when a
// snapshot is taken, not when samples come. A jitdump has the code itself: where code has replaced
// code, the bytes that were copied at the first sample show which of the two they belong to. A map
// has names only; the last function that it has at an address is taken.
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
  std::vector<std::string> dumps;  // jit-PID.dump, in the directory that the JIT chose
};

// Returns the path that the JIT of a running process writes its map to. `pid` 0 is the calling
// process.
std::string PathOfPerfMap(pid_t pid);

// Cuts the code that was copied around counts of `data` into functions with names. If only a part
// of a function was copied, the rest comes from the jitdump, or is read from the memory of `pid`
// (0 is the calling process). Files that do not exist, or belong to another user, are ignored.
// Returns what is wrong with one of the files; the names in the others, and in its sound part, are
// there all the same. Throws WorkCancelled if `check` is cancelled.
Status NameGeneratedCode(pid_t pid, const JitFiles& files, ProfileData* data,
                         CancelCheck* check = nullptr);

// Returns the functions of a perf map that something was counted in, by address and without
// overlaps; of several at an address the last. `module` is of ModuleKind::kAnonymous, and its code
// is unknown. Returns kNotFound if there is no such file, kPermission if it belongs to another
// user. Throws WorkCancelled if `check` is cancelled.
StatusOr<std::vector<NamedRange>> FunctionsWithCounts(const std::string& map,
                                                      const ProfileData& data, uint32_t module,
                                                      CancelCheck* check = nullptr);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_GENERATED_NAMES_H_
