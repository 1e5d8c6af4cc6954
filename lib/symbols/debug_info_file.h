// Finds the file that has the DWARF of a module: the module itself, a separate debug file, or a
// file from debuginfod; and the file that several packages share, into which dwz moved parts of it.
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
  // Separate debug files are searched for here; if it is empty, nowhere.
  std::string debug_root = "/usr/lib/debug";
  // Allows requests to the servers that DEBUGINFOD_URLS names.
  bool use_debuginfod = false;
  // If it is set during a search, WorkCancelled is thrown.
  const CancelFlag* cancel = nullptr;
};

struct DebugTarget {
  std::string path;  // of the module, for .gnu_debuglink and messages
  int fd = -1;       // the module itself, borrowed; -1: it is gone
  std::span<const uint8_t> build_id;
  // The message ends with this advice if there is no debug information.
  std::string advice = "compile with -g, or install the debug package of it (Debian: NAME-dbgsym)";
};

struct DebugInfoFile {
  UniqueFd fd;
  std::string path;
  UniqueFd shared_fd;  // the file that .gnu_debugaltlink names, if any
  std::string shared_path;
  uint64_t info_bytes = 0;  // of .debug_info
  bool is_packed = false;   // UnpackDebugSections pays off before it is read
  std::string problem;      // what is missing all the same, on one line; may be empty
};

// Returns kNotFound if there is none, and kMismatch if all that were found are of other builds. The
// message begins with the path of the module and lists the paths that were tried.
StatusOr<DebugInfoFile> FindDebugInfo(const DebugTarget& target, const DebugSearch& search);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_DEBUG_INFO_FILE_H_
