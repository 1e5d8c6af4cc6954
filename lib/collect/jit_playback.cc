#include "collect/jit_playback.h"

#include <time.h>

#include <algorithm>
#include <utility>

namespace hbbp {
namespace {

constexpr size_t kMaxDumps = 1024;

}  // namespace

void JitPlayback::OnMapping(MappingEvent mapping) {
  if (files_ != nullptr && IsJitDumpPath(mapping.path)) {
    Open(mapping.pid, files_->LocalPath(mapping.path));
  }
  // LLVM reports code first, and then makes its memory executable, which is a mapping.
  PlayUpTo(mapping.time_ns);
  next().OnMapping(std::move(mapping));
}

bool JitPlayback::HasClockOfDumps() const {
  return !events_.events().empty() && events_.events().front().attr.use_clockid &&
         events_.events().front().attr.clockid == CLOCK_MONOTONIC;
}

// If the recording has another clock than the dump, its code is taken to exist from the beginning.
void JitPlayback::Open(uint32_t pid, const std::string& path) {
  const bool is_known = std::find(opened_.begin(), opened_.end(), path) != opened_.end();
  if (is_known || opened_.size() >= kMaxDumps) return;
  opened_.push_back(path);
  StatusOr<JitDumpReader> reader = JitDumpReader::Open(path);
  if (!reader.ok()) {
    problems_.push_back(reader.status().message() + ", and the generated code has no blocks");
    return;
  }
  const bool has_clock = HasClockOfDumps();
  if (!has_clock) {
    problems_.push_back(path +
                        ": the recording has not the clock of the dump, so the newest code at each "
                        "address is taken; record with perf record -k mono");
  }
  dumps_.push_back({pid, has_clock, *std::move(reader), std::nullopt});
  Advance(&dumps_.back());
}

void JitPlayback::Advance(Dump* dump) {
  dump->next = dump->reader.Next();
  if (!dump->next) {
    if (!dump->reader.problem().empty()) problems_.push_back(dump->reader.problem());
    return;
  }
  if (!dump->has_clock) dump->next->time_ns = 0;
  due_ns_ = std::min(due_ns_, dump->next->time_ns);
}

void JitPlayback::Play(uint64_t time_ns) {
  due_ns_ = UINT64_MAX;
  for (Dump& dump : dumps_) {
    while (dump.next && dump.next->time_ns <= time_ns) {
      JitCode& code = *dump.next;
      next().OnCode({dump.pid, RuntimeAddress{code.address}, code.bytes.size(), code.bytes,
                     std::string(code.name), code.time_ns, std::move(code.lines)});
      Advance(&dump);
    }
    if (dump.next) due_ns_ = std::min(due_ns_, dump.next->time_ns);
  }
}

}  // namespace hbbp
