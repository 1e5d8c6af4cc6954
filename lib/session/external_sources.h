// ExternalSources: the sources that a host has written for one session, each with its feed.
//
// It is an interface so that programs that have no such sources link nothing of feeds.
#ifndef HBBP_LIB_SESSION_EXTERNAL_SOURCES_H_
#define HBBP_LIB_SESSION_EXTERNAL_SOURCES_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/counted_memory.h"
#include "base/status.h"
#include "collect/recorder.h"
#include "collect/session_log.h"
#include "session/external_source.h"
#include "session/session_info.h"

namespace hbbp {

class ExternalSources {
 public:
  // The parts of the session, all of which must outlive this.
  struct Target {
    std::mutex* data_mutex;  // guards the recorder, and the feeds
    Recorder* recorder;
    SessionLog* log;
    CountedMemory* memory;
    pid_t pid;  // of the process that is profiled; 0: this one
  };

  virtual ~ExternalSources() = default;

  // Start, Drain and Stop are called without a lock of the session, because the sources may call
  // it.
  // Starts each source once. If one cannot be started, all are stopped, and the error is its own.
  virtual Status Start() = 0;
  virtual void Drain() = 0;
  // Does nothing if they are stopped. All are stopped; returns the first failure of one.
  virtual Status Stop() = 0;
  // Is the caller in a call of one of them?
  virtual bool IsInCall() const = 0;

  // The following are called with data_mutex locked.
  // Precondition: they are stopped.
  virtual void Add(std::string name, std::unique_ptr<ExternalSource> source) = 0;
  // The first is called before a snapshot of the recorder, and the second after it.
  virtual void ReportStatistics() = 0;
  virtual void Complete(std::span<SourceRecord> sources) = 0;
  virtual void AddTo(SessionInfo* info) const = 0;
  // Returns the numbers in the recorder of the sources of the last run.
  virtual std::vector<uint32_t> numbers() const = 0;
  // Is called in the child of a fork. They are stopped then, without a call.
  virtual void ResetInChild() = 0;
};

std::unique_ptr<ExternalSources> MakeExternalSources(const ExternalSources::Target& target);

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_EXTERNAL_SOURCES_H_
