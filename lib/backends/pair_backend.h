// PairBackend runs two backends at once. The sources of the second follow those of the first.
// Samples of the first that are in handlers of the second are dropped, and counted ("in-handler").
#ifndef HBBP_LIB_BACKENDS_PAIR_BACKEND_H_
#define HBBP_LIB_BACKENDS_PAIR_BACKEND_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"

namespace hbbp {

class PairBackend : public Backend {
 public:
  PairBackend(std::unique_ptr<Backend> first, std::unique_ptr<Backend> second)
      : first_(std::move(first)),
        second_(std::move(second)),
        name_(std::string(first_->name()) + "," + second_->name()) {}

  const char* name() const override { return name_.c_str(); }
  // Starts both or neither; the error is that of the one that could not be started.
  Status Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) override;
  void Drain(EventSink* sink) override;
  void Disable() override;
  void Close() override;
  Status SetPeriodFactor(double factor, EventSink* sink) override;
  uint64_t SamplingNs() const override { return first_->SamplingNs() + second_->SamplingNs(); }
  uint64_t SwitchingNs() override { return first_->SwitchingNs() + second_->SwitchingNs(); }
  uint64_t BufferBytes() const override { return first_->BufferBytes() + second_->BufferBytes(); }
  void ResetInChild() override;
  void AbandonInChild() override;
  int DrainIntervalMs() const override;
  int LongestIntervalMs() const override;
  SampleWait* sample_wait() override {
    SampleWait* const wait = first_->sample_wait();
    return wait != nullptr ? wait : second_->sample_wait();
  }
  bool SamplesNeedCpuTime() const override {
    return first_->SamplesNeedCpuTime() && second_->SamplesNeedCpuTime();
  }

 private:
  const std::unique_ptr<Backend> first_;
  const std::unique_ptr<Backend> second_;
  const std::string name_;
  std::vector<uint32_t> numbers_of_second_;  // numbers of its sources, after those of the first
  std::vector<uint64_t> in_handler_;         // by source of the first
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_PAIR_BACKEND_H_
