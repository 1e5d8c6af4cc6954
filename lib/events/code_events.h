// Events that say where code and data are, and which process has them.
#ifndef HBBP_LIB_EVENTS_CODE_EVENTS_H_
#define HBBP_LIB_EVENTS_CODE_EVENTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "symbols/code_lines.h"

namespace hbbp {

// This is the process of what the kernel has mapped.
inline constexpr uint32_t kKernelPid = UINT32_MAX;

// Executable memory appeared.
struct MappingEvent {
  uint32_t pid = 0;  // 0: the process that is profiled
  RuntimeAddress start;
  RuntimeAddress end;
  FileOffset offset;
  uint64_t device = 0;  // makedev; 0 if unknown
  uint64_t inode = 0;
  std::vector<uint8_t> build_id;  // empty if unknown
  std::string path;               // as the kernel gives it, without " (deleted)"
  uint64_t time_ns = 0;           // 0: since ever
};

// A process generated code.
struct CodeEvent {
  uint32_t pid = 0;
  RuntimeAddress address;
  uint64_t size = 0;
  std::span<const uint8_t> bytes;  // valid during the call; empty: it is counted by address only
  std::string name;                // of a function, or empty
  uint64_t time_ns = 0;            // 0: since ever
  CodeLines lines;
};

// A process reports a block of its data, or that one was freed.
struct DataEvent {
  uint32_t pid = 0;
  RuntimeAddress address;
  uint64_t size = 0;
  std::string_view name;  // valid during the call; empty: the memory was freed
  uint64_t time_ns = 0;   // 0: since ever
};

// A thread was started, in a process that may be new.
struct ForkEvent {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t parent_pid = 0;
  uint32_t parent_tid = 0;
  // The source reports the mappings of the new process as well: it does not inherit any.
  bool has_own_mappings = false;
};

}  // namespace hbbp

#endif  // HBBP_LIB_EVENTS_CODE_EVENTS_H_
