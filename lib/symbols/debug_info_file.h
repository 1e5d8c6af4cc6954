// Finds the file that has the DWARF of a module: the module itself, a separate debug file, or what
// debuginfod has; and what dwz moved out of that into a file that several packages share.
#ifndef HBBP_LIB_SYMBOLS_DEBUG_INFO_FILE_H_
#define HBBP_LIB_SYMBOLS_DEBUG_INFO_FILE_H_

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"
#include "base/work.h"

namespace hbbp {

struct DebugSearch {
  // Where separate debug files are looked for; empty: nowhere.
  std::string debug_root = "/usr/lib/debug";
  // May servers be asked? They are named by DEBUGINFOD_URLS.
  bool use_debuginfod = false;
  // If it is set meanwhile, WorkCancelled is thrown.
  const CancelFlag* cancel = nullptr;
};

struct DebugTarget {
  std::string path;  // of the module, for .gnu_debuglink and messages
  int fd = -1;       // the module itself, borrowed; -1: it is gone
  std::span<const uint8_t> build_id;
  // Where a message says that there is none.
  std::string advice = "compile with -g, or install the debug package of it (Debian: NAME-dbgsym)";
};

struct DebugInfoFile {
  UniqueFd fd;
  std::string path;
  UniqueFd shared_fd;  // what .gnu_debugaltlink names, if anything
  std::string shared_path;
  uint64_t info_bytes = 0;  // of .debug_info
  bool is_packed = false;   // better read by way of UnpackDebugSections
  std::string problem;      // what is missing all the same; one line, may be empty
};

// kNotFound if there is none, kMismatch if all that were found are of other builds. The message
// begins with the path of the module and says where was looked.
StatusOr<DebugInfoFile> FindDebugInfo(const DebugTarget& target, const DebugSearch& search);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_DEBUG_INFO_FILE_H_
