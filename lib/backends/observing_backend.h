// ObservingBackend takes no samples. It reports mappings and names of threads, if the kernel
// permits that, for samples of external sources.
#ifndef HBBP_LIB_BACKENDS_OBSERVING_BACKEND_H_
#define HBBP_LIB_BACKENDS_OBSERVING_BACKEND_H_

#include "backends/backend.h"
#include "backends/perf_backend.h"

namespace hbbp {

class ObservingBackend : public Backend {
 public:
  const char* name() const override { return "none"; }
  // Without permission, only the mappings of the start are known, which the session reads.
  Status Start(const BackendConfig& config, pid_t excluded, BackendChoice*) override {
    BackendConfig observed;
    observed.pid = config.pid;
    observed.max_buffer_bytes = config.max_buffer_bytes;
    BackendChoice ignored;
    is_observing_ = observer_.Start(observed, excluded, &ignored).ok();
    return OkStatus();
  }
  void Drain(EventSink* sink) override {
    if (is_observing_) observer_.Drain(sink);
  }
  void Disable() override {
    if (is_observing_) observer_.Disable();
  }
  void Close() override {
    if (is_observing_) observer_.Close();
    is_observing_ = false;
  }
  Status SetPeriodFactor(double, EventSink*) override {
    return MakeStatus(StatusCode::kUnsupported, "the host's own");
  }
  uint64_t SamplingNs() const override { return 0; }
  uint64_t BufferBytes() const override { return is_observing_ ? observer_.BufferBytes() : 0; }
  void ResetInChild() override {
    observer_.ResetInChild();
    is_observing_ = false;
  }
  int DrainIntervalMs() const override { return 100; }

 private:
  PerfBackend observer_{SourceKind::kNone};
  bool is_observing_ = false;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_OBSERVING_BACKEND_H_
