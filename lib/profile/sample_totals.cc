#include "profile/sample_totals.h"

namespace hbbp {
namespace {

// Adds the fewest bursts that have the streams of sources whose bursts are not known.
void AddUnknownBursts(const ProfileData& data, SampleTotals* totals) {
  std::vector<uint64_t> of_source(data.sources.size());
  std::vector<uint64_t> of_thread(data.threads.size());
  for (const BranchCount& branch : data.branches) {
    if (!branch.HasStream() || totals->of_source[branch.source] != 0) continue;
    of_source[branch.source] += branch.number;
    of_thread[branch.thread] += branch.number;
  }
  const auto add = [](const std::vector<uint64_t>& streams, std::vector<uint64_t>* bursts) {
    for (size_t i = 0; i < streams.size(); ++i) {
      if (streams[i] != 0) (*bursts)[i] += (streams[i] - 1) / kMaxStreamsOfStack + 1;
    }
  };
  add(of_source, &totals->of_source);
  add(of_thread, &totals->of_thread);
}

}  // namespace

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
  AddUnknownBursts(data, &totals);
  return totals;
}

}  // namespace hbbp
