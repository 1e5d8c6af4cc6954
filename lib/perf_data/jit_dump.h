// JitDumpReader reads the code that a JIT has generated, as it writes it for perf: the file
// jit-PID.dump of node --perf-prof, of Java agents, .NET, LLVM, ...
//
//   HBBP_ASSIGN_OR_RETURN(JitDumpReader reader, JitDumpReader::Open("jit-4711.dump"));
//   while (const std::optional<JitCode> code = reader.Next()) ...
//   if (!reader.problem().empty()) ...
//
// The format is that of tools/perf/Documentation/jitdump-specification.txt of Linux.
#ifndef HBBP_LIB_PERF_DATA_JIT_DUMP_H_
#define HBBP_LIB_PERF_DATA_JIT_DUMP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "symbols/code_lines.h"

namespace hbbp {

// JitCode is a function, from this time on. Its views are good until the next is read.
struct JitCode {
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC; 0 if the JIT has used a clock of its own
  uint32_t pid = 0;
  uint64_t address = 0;
  std::string_view name;
  std::span<const uint8_t> bytes;
  CodeLines lines = {};
};

class JitDumpReader {
 public:
  // A longer record is taken for damage.
  static constexpr uint32_t kMaxRecordBytes = 64 << 20;
  // Code that was moved is read again, which a short record may ask for; beyond, the file is taken
  // for damaged.
  static constexpr uint64_t kMaxMovedBytes = 1 << 30;

  // Returns kBadFormat if it is not a jitdump, or one of another processor.
  static StatusOr<JitDumpReader> Open(const std::string& path);
  // `name` is for messages.
  static StatusOr<JitDumpReader> FromFd(UniqueFd fd, std::string name);

  // Returns the next function that was generated or moved, in the order of the file, or nothing if
  // there is no more yet: the JIT may be writing, and a later call finds what it has written.
  std::optional<JitCode> Next();

  // Says where the file is damaged; nothing behind that offset can be read.
  const std::string& problem() const { return problem_; }

 private:
  struct RecordRange {
    uint64_t offset = 0;
    uint32_t size = 0;
  };

  JitDumpReader(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  Status ReadHeader();
  // Returns fewer than `size` bytes if the file ends before.
  std::span<const uint8_t> BytesAt(uint64_t offset, size_t size);
  void RecordDebugInfo(RecordRange record);
  std::optional<JitCode> LoadAt(RecordRange record);
  std::optional<JitCode> MoveAt(RecordRange record);
  CodeLines FindLines(uint64_t index, uint64_t code_bytes);
  std::optional<JitCode> ReadCode(RecordRange load_record, uint64_t time_ns, uint32_t pid,
                                  uint64_t address);
  // Fills `bytes` from `offset` of the file on, and shortens it if the file ends before.
  void Fill(uint64_t offset, std::vector<uint8_t>* bytes) const;
  std::nullopt_t Damaged(uint64_t offset, const char* what);

  UniqueFd fd_;
  std::string name_;
  bool has_clock_ = true;
  uint64_t next_ = 0;  // offset of the next record
  std::string problem_;
  // These are kept by the index that the JIT gives to code, because it may move the code.
  std::map<uint64_t, RecordRange> loads_;
  std::map<uint64_t, RecordRange> lines_;
  // These are kept by the address of code that is to be loaded there.
  std::map<uint64_t, RecordRange> lines_to_come_;
  // This is a part of the file, from window_start_ on.
  std::vector<uint8_t> window_;
  uint64_t window_start_ = 0;
  std::vector<uint8_t> moved_;  // the record of what was moved last
  uint64_t moved_offset_ = 0;
  uint64_t moved_bytes_ = 0;  // by all moves
};

// Returns whether this is the name that a JIT gives to its dump, and maps for perf to notice:
// jit-4711.dump.
bool IsJitDumpPath(std::string_view path);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_JIT_DUMP_H_
