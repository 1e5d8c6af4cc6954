// JitPlayback merges the code in jitdumps with the events of a recording, by time.
//
// A dump is opened when its process maps it. Before an event is passed on, so is the code that the
// dump has up to the time of the event.
#ifndef HBBP_LIB_COLLECT_JIT_PLAYBACK_H_
#define HBBP_LIB_COLLECT_JIT_PLAYBACK_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "collect/recorded_locator.h"
#include "events/event_sink.h"
#include "perf_data/jit_dump.h"
#include "perf_data/perf_data_event.h"

namespace hbbp {

class JitPlayback : public ForwardingSink {
 public:
  // `events` has the clock of the recording; `files` finds its files on this machine, and if it is
  // NULL no dump is opened.
  JitPlayback(const EventTable* events, const RecordedLocator* files, EventSink* next)
      : ForwardingSink(next), events_(*events), files_(files) {}

  void OnMapping(MappingEvent mapping) override;
  void OnSample(const IpSample& sample) override {
    PlayUpTo(sample.time_ns);
    next().OnSample(sample);
  }
  void OnBurst(const BurstSample& burst) override {
    PlayUpTo(burst.time_ns);
    next().OnBurst(burst);
  }
  void OnIbsOp(const IpSample& sample, const IbsOp& op) override {
    PlayUpTo(sample.time_ns);
    next().OnIbsOp(sample, op);
  }
  void OnIbsFetch(const IpSample& sample, const IbsFetch& fetch) override {
    PlayUpTo(sample.time_ns);
    next().OnIbsFetch(sample, fetch);
  }

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Dump {
    uint32_t pid;
    bool has_clock;
    JitDumpReader reader;
    std::optional<JitCode> next;
  };

  bool HasClockOfDumps() const;
  void Open(uint32_t pid, const std::string& path);
  void PlayUpTo(uint64_t time_ns) {
    if (time_ns >= due_ns_) Play(time_ns);
  }
  void Play(uint64_t time_ns);
  void Advance(Dump* dump);

  const EventTable& events_;
  const RecordedLocator* const files_;
  std::deque<Dump> dumps_;
  std::vector<std::string> opened_;
  std::vector<std::string> problems_;
  uint64_t due_ns_ = UINT64_MAX;  // time of the earliest code that was not passed on yet
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_JIT_PLAYBACK_H_
