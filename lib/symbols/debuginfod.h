// Gets debug files from the servers that DEBUGINFOD_URLS names, by libdebuginfod of elfutils.
#ifndef HBBP_LIB_SYMBOLS_DEBUGINFOD_H_
#define HBBP_LIB_SYMBOLS_DEBUGINFOD_H_

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"
#include "base/work.h"

namespace hbbp {

struct FetchedFile {
  UniqueFd fd;
  std::string path;  // in the cache of libdebuginfod
};

// Uses the network and may take minutes. Returns kUnsupported if libdebuginfod is not installed or
// no server is named, and kNotFound if no server has the file. If `cancel` is set meanwhile,
// WorkCancelled is thrown at the next progress callback of libdebuginfod, which come about once a
// second.
StatusOr<FetchedFile> FetchDebugFile(std::span<const uint8_t> build_id, const CancelFlag* cancel);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_DEBUGINFOD_H_
