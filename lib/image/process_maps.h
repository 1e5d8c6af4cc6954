// Reads the memory mappings of a process from /proc/PID/maps.
//
//   HBBP_ASSIGN_OR_RETURN(std::vector<Mapping> mappings, ReadProcessMaps(0));
//   for (const Mapping& mapping : mappings) {
//     if (mapping.executable && mapping.IsFile()) ...
//   }
#ifndef HBBP_LIB_IMAGE_PROCESS_MAPS_H_
#define HBBP_LIB_IMAGE_PROCESS_MAPS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/status.h"

namespace hbbp {

// The range is [start, end).
struct Mapping {
  RuntimeAddress start;
  RuntimeAddress end;
  FileOffset offset;  // of `start`; 0 if no file is mapped
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t inode = 0;  // 0: no file, or a file system that gives none
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  // The kernel's " (deleted)" is not part of `path`. A file whose name really ends like this looks
  // the same; compare the inode if that matters.
  bool deleted = false;
  // This is a file, a name in brackets such as "[vdso]" or "[anon:name]", or empty (anonymous). The
  // kernel writes a newline as \012, which is decoded, so a name that really contains the four
  // characters \012 is decoded wrongly.
  std::string path;

  uint64_t size() const { return end - start; }
  bool Contains(RuntimeAddress address) const { return start <= address && address < end; }
  // Returns whether this is a mapping of a file, which may be gone from the file system (deleted,
  // memfd).
  bool IsFile() const { return !path.empty() && path.front() == '/'; }

  bool operator==(const Mapping&) const = default;
};

// Returns the mappings of `pid`, or of the calling process if it is 0, by rising address. The
// kernel returns the list in pieces: what is mapped or unmapped meanwhile may or may not be in it.
// The list is empty for a process without memory (a kernel thread, a zombie). Errors are kNotFound,
// kPermission, kIo, and kBadFormat as below.
StatusOr<std::vector<Mapping>> ReadProcessMaps(pid_t pid);

// `text` has the format of /proc/PID/maps. Returns kBadFormat with the number of the line that has
// not.
StatusOr<std::vector<Mapping>> ParseProcessMaps(std::string_view text);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_PROCESS_MAPS_H_
