// ImportOptions says where the files of a recorded machine are here, and what is kept of a
// recording.
#ifndef HBBP_LIB_COLLECT_IMPORT_OPTIONS_H_
#define HBBP_LIB_COLLECT_IMPORT_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>

#include "collect/kept_detail.h"

namespace hbbp {

struct ImportOptions : KeptDetail {
  // Directory here with the files of the recorded machine; empty: their paths are the same.
  std::string root;
  // Maps the recorded path of a file, or its last part, to the file here.
  std::map<std::string, std::string> files;
  // perf's cache of files by build ID, such as ~/.debug; empty: none.
  std::string perf_cache;
  // This machine made the recording, with the kernel that runs now.
  bool is_this_machine = false;
};

// Returns the entry of `options.files` for a recorded path, or their end.
std::map<std::string, std::string>::const_iterator FindMovedFile(const ImportOptions& options,
                                                                 const std::string& path);

// Returns the path here of a file of the recorded machine. A recording may be hostile: its "/../"
// does not lead out of the root.
std::string LocalPath(const ImportOptions& options, const std::string& path);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_IMPORT_OPTIONS_H_
