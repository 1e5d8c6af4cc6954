#include "profile/sample_totals.h"

namespace hbbp {

SampleTotals CountSamples(const ProfileData& data) {
  SampleTotals totals;
  totals.of_source.resize(data.sources.size());
  totals.of_thread.resize(data.threads.size());
  totals.of_slice.resize(data.slices.count);
  totals.of_module.resize(data.modules.size());
  totals.unmapped_of_source.resize(data.sources.size());
  for (const IpCount& count : data.counts) {
    totals.of_source[count.source] += count.samples;
    totals.of_thread[count.thread] += count.samples;
    if (count.slice != kNoSlice) totals.of_slice[count.slice] += count.samples;
    totals.of_module[count.module] += count.samples;
  }
  for (size_t i = 0; i < data.sources.size(); ++i) {
    // A sample at an unknown address counts as a sample too.
    totals.of_source[i] += data.sources[i].unmapped;
    totals.unmapped_of_source[i] += data.sources[i].unmapped;
  }
  for (const BranchCount& branch : data.branches) {
    if (branch.stream_end == kNoStream) {
      totals.of_source[branch.source] += branch.number;
      totals.of_thread[branch.thread] += branch.number;
      if (branch.slice != kNoSlice) totals.of_slice[branch.slice] += branch.number;
    }
    if (branch.to_module == kNoModule) {
      totals.unmapped_of_source[branch.source] += branch.number;
    } else {
      totals.of_module[branch.to_module] += branch.number;
    }
  }
  return totals;
}

}  // namespace hbbp
