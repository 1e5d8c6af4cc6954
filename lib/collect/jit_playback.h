// JitPlayback: tells an importer of the code in jitdumps when its time in the recording has come.
#ifndef HBBP_LIB_COLLECT_JIT_PLAYBACK_H_
#define HBBP_LIB_COLLECT_JIT_PLAYBACK_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "collect/importer.h"
#include "perf_data/jit_dump.h"

namespace hbbp {

class JitPlayback {
 public:
  explicit JitPlayback(Importer* importer) : importer_(*importer) {}

  // The process has mapped its jitdump. Where the times of the recording are not those of the dump
  // (has_clock_of_dump), its code is there from the beginning on.
  void Open(uint32_t pid, const std::string& path, bool has_clock_of_dump);

  // Everything that happened up to then was told, but code.
  void PlayUpTo(uint64_t time_ns) {
    if (time_ns >= due_ns_) Play(time_ns);
  }

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Dump {
    uint32_t pid;
    bool has_clock;
    JitDumpReader reader;
    std::optional<JitCode> next;
  };

  void Play(uint64_t time_ns);
  void Advance(Dump* dump);

  Importer& importer_;
  std::deque<Dump> dumps_;
  std::vector<std::string> opened_;
  std::vector<std::string> problems_;
  uint64_t due_ns_ = UINT64_MAX;  // of the earliest code that is to come
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_JIT_PLAYBACK_H_
