// AutoBackend starts the first of several backends that works on this machine.
#ifndef HBBP_LIB_BACKENDS_AUTO_BACKEND_H_
#define HBBP_LIB_BACKENDS_AUTO_BACKEND_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"

namespace hbbp {

// The note of the first source says why no better backend was taken.
class AutoBackend : public Backend {
 public:
  // Returns the name of a source that would start with these options, or nullptr.
  using FindAlternative = const char* (*)(const BackendConfig& config, pid_t excluded);

  // `candidates` has at least one backend, the best first. `refusals` says why a better one is not
  // a candidate. `find_alternative` is asked if none works.
  AutoBackend(std::vector<std::unique_ptr<Backend>> candidates, std::string refusals,
              FindAlternative find_alternative)
      : candidates_(std::move(candidates)),
        refusals_(std::move(refusals)),
        find_alternative_(find_alternative),
        chosen_(candidates_.front().get()) {}

  const char* name() const override { return chosen_->name(); }
  // If none works, returns the error of the last candidate, with the alternative if there is one.
  Status Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) override;
  void Drain(EventSink* sink) override { chosen_->Drain(sink); }
  void Disable() override { chosen_->Disable(); }
  void Close() override { chosen_->Close(); }
  Status SetPeriodFactor(double factor, EventSink* sink) override {
    return chosen_->SetPeriodFactor(factor, sink);
  }
  uint64_t SamplingNs() const override { return chosen_->SamplingNs(); }
  uint64_t SwitchingNs() override { return chosen_->SwitchingNs(); }
  uint64_t BufferBytes() const override { return chosen_->BufferBytes(); }
  void ResetInChild() override { chosen_->ResetInChild(); }
  void AbandonInChild() override { chosen_->AbandonInChild(); }
  int DrainIntervalMs() const override { return chosen_->DrainIntervalMs(); }
  int LongestIntervalMs() const override { return chosen_->LongestIntervalMs(); }
  SampleWait* sample_wait() override { return chosen_->sample_wait(); }
  bool SamplesNeedCpuTime() const override { return chosen_->SamplesNeedCpuTime(); }

 private:
  const std::vector<std::unique_ptr<Backend>> candidates_;
  const std::string refusals_;
  const FindAlternative find_alternative_;
  Backend* chosen_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_AUTO_BACKEND_H_
