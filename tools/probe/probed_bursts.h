// ProbedBursts describes productions on the whole bursts of a profile for a report.
#ifndef HBBP_TOOLS_PROBE_PROBED_BURSTS_H_
#define HBBP_TOOLS_PROBE_PROBED_BURSTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "probe/probed_stream.h"
#include "probes/burst_probe.h"

namespace hbbp::tools {

class ProbedBursts : public ProbedStream {
 public:
  // The probe, which has been run, must outlive this object.
  explicit ProbedBursts(const BurstProbe* probe) : probe_(*probe) {}

  const ProductionSet& set() const override { return probe_.set(); }
  bool is_sample() const override { return true; }
  uint64_t instructions() const override { return probe_.totals().instructions; }
  CodeDescription Describe(uint64_t code) const override;
  std::vector<std::string> Notes() const override;

 private:
  const BurstProbe& probe_;
};

// Returns what --keep-values names for productions with these keys.
std::string NamesOfValues(ProbeKeySet keys);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_PROBED_BURSTS_H_
