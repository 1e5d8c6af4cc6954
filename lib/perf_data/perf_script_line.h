// Parses lines of `perf script` text with branch stacks, as other tools ask for it:
//
//   perf script -F ip,brstack --show-mmap-events        (llvm-profgen; also with call chains)
//   perf script -F pid,brstack                          (BOLT)
//   perf script -F comm,pid,tid,time,event,ip,brstack
//   perf script -F comm,pid,tid,time,period,event,ip,brstack
//   perf script -F pid,period,ip,brstack
//
// Text gives no types to its fields, so they are recognized by their looks.
#ifndef HBBP_LIB_PERF_DATA_PERF_SCRIPT_LINE_H_
#define HBBP_LIB_PERF_DATA_PERF_SCRIPT_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perf/records.h"

namespace hbbp {

// Parses "PERF_RECORD_MMAP2 7/7: [0x400000(0x1000) @ 0 08:01 77 5]: r-xp /opt/server"; also
// PERF_RECORD_MMAP, and with a build ID in place of the inode. Returns nothing for other lines.
std::optional<MmapRecord> ParseMmapLine(std::string_view line);

// BranchWord is an entry of a branch stack: "0x40062f/0x4005b0/P/-/-/9" and the same with fewer or
// more fields.
// A position in a file ("0x62f(/opt/server)/...") has no run-time address, so it is none.
struct BranchWord {
  uint64_t from = 0;
  uint64_t to = 0;
  bool is_speculative = false;  // on a path that was not taken after all
  uint16_t cycles = 0;          // since the branch before; 0: not known
};
inline bool IsSpeculative(const BranchWord& entry) { return entry.is_speculative; }
inline bool IsAbort(const BranchWord&) { return false; }
inline uint16_t CyclesOf(const BranchWord& entry) { return entry.cycles; }
std::optional<BranchWord> ParseBranchWord(std::string_view word);

// SampleLine is what a line says of a sample, which may have several: with a call chain there is
// one for its process and event, one for each address, and one for its branches.
struct SampleLine {
  std::optional<uint32_t> pid;
  std::optional<uint32_t> tid;
  std::optional<uint64_t> ip;
  // This is a number by itself, which is an address for llvm-profgen and a process for BOLT.
  std::optional<uint32_t> ip_or_pid;
  // `pid` is a number in front of an address, which may be a period instead.
  bool may_be_period = false;
  std::string event;
  std::optional<uint64_t> period;    // the number in front of the event, or of the address
  std::vector<BranchWord> branches;  // newest first
};

// Returns nothing for an empty line, a comment, and what is not a sample.
std::optional<SampleLine> ParseSampleLine(std::string_view line);

// Parses a number alone at the start of a line: how often the sample behind it was seen.
std::optional<uint32_t> ParseCountLine(std::string_view line);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_PERF_SCRIPT_LINE_H_
