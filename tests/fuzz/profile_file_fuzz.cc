// Parses any bytes as a profile file; what is accepted must be the same when it is stored again,
// and must resolve.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analyze.h"
#include "analysis/profile_loops.h"
#include "profile/kept_burst_reader.h"
#include "profile/kept_bursts.h"
#include "profile/profile_file.h"
#include "support/profile_bytes.h"

namespace {

using hbbp::ModuleKind;
using hbbp::ProfileBytes;
using hbbp::ProfileData;
using hbbp::StatusOr;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Checks that bursts have branches, which are in the profile, and accesses of these in order.
void CheckBursts(const ProfileData& data) {
  const StatusOr<hbbp::KeptBursts> bursts = hbbp::ParseKeptBursts(data);
  if (!bursts.ok()) return;
  for (const hbbp::RecordedBursts& recording : bursts->recordings) {
    hbbp::KeptBurstReader reader(recording);
    hbbp::KeptBurst burst;
    while (reader.Next(&burst)) {
      Require(burst.source < data.sources.size());
      Require(burst.thread < data.threads.size());
      Require(!burst.branches.empty());
      for (const uint32_t branch : burst.branches) Require(branch < recording.branches.size());
      for (const auto* accesses : {&burst.accesses, &burst.values}) {
        uint32_t last = 0;
        for (const hbbp::RecordedAccess& access : *accesses) {
          Require(access.branch >= last && access.branch < burst.branches.size());
          last = access.branch;
        }
      }
    }
  }
}

void CheckProfile(ProfileData data) {
  CheckBursts(data);
  const std::vector<uint8_t> stored = hbbp::SerializeProfile(data);
  const StatusOr<ProfileData> again = hbbp::ParseProfile(stored);
  Require(again.ok());
  Require(hbbp::SerializeProfile(*again) == stored);
  for (hbbp::ModuleRecord& module : data.modules) {
    module.path = "/nonexistent/" + std::to_string(module.path.size());
    if (module.kind != ModuleKind::kKernel) continue;
    // The data of the running kernel would differ from machine to machine.
    module.kernel.boot_id.clear();
    module.build_id.clear();
  }
  // The analysis has the counts of one event, and totals of all.
  const ProfileData all = data;
  const StatusOr<hbbp::Analysis> analysis = hbbp::Analyze(std::move(data));
  Require(analysis.ok());
  const hbbp::Analysis& profile = *analysis;
  uint64_t samples = 0;
  for (const hbbp::BlockRecord& block : profile.blocks()) {
    Require(block.module < profile.data().modules.size());
    Require(block.function < profile.functions().size());
    Require(block.block.start < block.block.end);
    Require(block.block.instruction_count > 0);
    (void)profile.modules().DecodeBlock(block.module, block.block);
    // A kind that is not known is one of samples.
    if (!HasStreams(block.source)) samples += block.samples;
    Require(block.estimate.count >= 0);
    Require(block.estimate.standard_error >= 0);
  }
  bool has_streams = false;
  for (uint32_t i = 0; i < profile.data().sources.size(); ++i) {
    samples += profile.SupersededOfSource(i);
    samples += profile.UnexplainedOfSource(i);
  }
  // Unexplained counts are samples or streams, depending on the kind of source in the file.
  for (const hbbp::IpCount& count : profile.data().counts) {
    samples -= count.samples;
    if (HasStreams(profile.data().sources[count.source].kind)) has_streams = true;
  }
  for (const hbbp::BranchCount& branch : profile.data().branches) {
    const bool is_of_stream = branch.HasStream() && branch.to_module != hbbp::kNoModule;
    if (is_of_stream && branch.number != 0) has_streams = true;
  }
  if (!has_streams) Require(samples == 0);
  const StatusOr<ProfileData> to_store =
      hbbp::ParseProfile(hbbp::SerializeProfile(profile.modules().DataToStore()));
  Require(to_store.ok());
  uint64_t ibs = 0;
  for (const hbbp::IbsSumRecord& sum : profile.ibs_sums()) {
    Require(sum.function == hbbp::kNoIndex || sum.function < profile.functions().size());
    ibs += sum.sum;
  }
  for (const hbbp::IbsCount& count : profile.data().ibs_counts) ibs -= count.sum;
  Require(ibs == 0);
  uint64_t loads = 0;
  for (const hbbp::IbsLatencyRecord& latency : profile.ibs_latencies()) loads += latency.samples;
  for (const hbbp::IbsCount& bucket : profile.data().ibs_buckets) {
    if (bucket.module != hbbp::kNoModule) loads -= bucket.sum;
  }
  Require(loads == 0);
  const hbbp::ProfileLoops loops = FindProfileLoops(profile);
  Require(loops.innermost.size() == profile.blocks().size());
  for (const uint32_t loop : loops.innermost) {
    Require(loop == hbbp::kNoIndex || loop < loops.loops.size());
  }
  for (size_t i = 0; i < loops.loops.size(); ++i) {
    Require(loops.loops[i].parent == hbbp::kNoIndex || loops.loops[i].parent < i);
  }
  uint64_t in_slices = 0;
  for (uint32_t i = 0; i < profile.data().slices.count; ++i)
    in_slices += profile.totals().of_slice[i];
  for (const hbbp::IpCount& count : all.counts) {
    if (count.slice != hbbp::kNoSlice) in_slices -= count.samples;
  }
  for (const hbbp::BranchCount& branch : all.branches) {
    const bool is_last = branch.stream_end == hbbp::kNoStream;
    if (branch.slice != hbbp::kNoSlice && is_last) in_slices -= branch.number;
  }
  Require(in_slices == 0);
  uint64_t taken = 0;
  for (const hbbp::TakenBranchRecord& branch : profile.branches()) taken += branch.observed;
  for (const hbbp::BranchCount& branch : profile.data().branches) taken -= branch.number;
  Require(taken == 0);
}

// Adds checksums to sections, because mutations would break them: u8 type, u16 size, content.
std::vector<uint8_t> WithChecksums(const uint8_t* data, size_t size) {
  ProfileBytes bytes{ProfileData()};
  while (size >= 3) {
    const uint32_t type = data[0] % 11;
    const size_t claimed = data[1] + size_t{256} * data[2];
    const size_t length = claimed < size - 3 ? claimed : size - 3;
    bytes.SetSection(type, {data + 3, data + 3 + length});
    data += 3 + length;
    size -= 3 + length;
  }
  return bytes.Take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  StatusOr<ProfileData> raw = hbbp::ParseProfile({data, size});
  if (raw.ok()) CheckProfile(*std::move(raw));
  StatusOr<ProfileData> rebuilt = hbbp::ParseProfile(WithChecksums(data, size));
  if (rebuilt.ok()) CheckProfile(*std::move(rebuilt));
  return 0;
}
