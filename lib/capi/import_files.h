// Reads from what hosts say where the files of a recorded machine are here.
#ifndef HBBP_LIB_CAPI_IMPORT_FILES_H_
#define HBBP_LIB_CAPI_IMPORT_FILES_H_

#include <hbbp/import.h>

#include <cstddef>

#include "base/files.h"
#include "capi/boundary.h"
#include "collect/import_options.h"

namespace hbbp::capi {

// `root` may be NULL. Paths become absolute, since the profile may be used from any directory.
inline Status ReadFiles(const char* function, const char* root, const hbbp_moved_file* moved_files,
                        size_t count, ImportOptions* files) {
  if (root != nullptr) files->root = AbsolutePath(root);
  if (moved_files == nullptr && count != 0) return NullArgument(function, "moved_files");
  for (size_t i = 0; i < count; ++i) {
    const hbbp_moved_file& file = moved_files[i];
    if (file.recorded == nullptr || file.here == nullptr) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s: moved_files[%zu] has a NULL path",
                        function, i);
    }
    files->files[file.recorded] = AbsolutePath(file.here);
  }
  return OkStatus();
}

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_IMPORT_FILES_H_
