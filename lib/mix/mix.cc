#include "mix/mix.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "estimate/ebs_estimator.h"
#include "estimate/stream_estimator.h"

namespace hbbp {
namespace {

using RowKey = std::tuple<Mnemonic, uint32_t, uint32_t, uint32_t, uint32_t>;
static_assert(kNoSlice == kNoIndex);

struct RowSum {
  double instructions = 0;
  double variance = 0;       // of what IP samples gave
  ReplicateSums replicates;  // of what streams gave
};

// Which part of a block: all of it, or that of one thread, or slice, or both.
struct Part {
  uint32_t block = kNoIndex;
  uint32_t thread = kNoIndex;
  uint32_t slice = kNoIndex;

  auto operator<=>(const Part&) const = default;
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, const Part& part) {
    return Hash::combine(std::move(hash), part.block, part.thread, part.slice);
  }
};

template <typename AnyContribution>
Part PartOf(const AnyContribution& contribution, const MixKeys& keys) {
  return {contribution.block, keys.thread ? contribution.thread : kNoIndex,
          keys.slice ? contribution.slice : kNoIndex};
}

// What it was observed to do.
struct Observed {
  Part part;
  CountEstimate estimate;
  const ReplicateSums* replicates;  // null: the error in `estimate` is independent of all others
};

std::vector<Observed> StreamsByPart(const ResolvedProfile& profile, const MixKeys& keys,
                                    std::vector<StreamContribution>* sums) {
  std::map<Part, size_t> places;
  for (const StreamContribution& contribution : profile.stream_contributions()) {
    auto [place, added] = places.emplace(PartOf(contribution, keys), sums->size());
    if (added) {
      sums->push_back(contribution);
    } else {
      (*sums)[place->second].sums.Add(contribution.sums);
    }
  }
  std::vector<Observed> observed;
  for (const StreamContribution& sum : *sums) {
    observed.push_back({PartOf(sum, keys), EstimateStreams(sum.sums), &sum.sums.replicates});
  }
  return observed;
}

// `stream_sums` keeps what the result points to.
std::vector<Observed> ObservedByPart(const ResolvedProfile& profile, const MixKeys& keys,
                                     std::vector<StreamContribution>* stream_sums) {
  absl::flat_hash_map<Part, std::pair<double, double>> sums;
  for (const Contribution& contribution : profile.contributions()) {
    if (contribution.block == kNoIndex) continue;
    auto& [period_sum, period_squares] = sums[PartOf(contribution, keys)];
    period_sum += contribution.period_sum;
    period_squares += contribution.period_squares;
  }
  std::vector<Observed> observed = StreamsByPart(profile, keys, stream_sums);
  observed.reserve(observed.size() + sums.size());
  for (const auto& [part, sum] : sums) {
    const uint32_t length = profile.blocks()[part.block].block.instruction_count;
    observed.push_back({part, EstimateEbs(sum.first, sum.second, length), nullptr});
  }
  std::sort(observed.begin(), observed.end(),
            [](const Observed& a, const Observed& b) { return a.part < b.part; });
  return observed;
}

std::vector<Observed> ObservedInAll(const ResolvedProfile& profile) {
  std::vector<Observed> observed;
  observed.reserve(profile.blocks().size());
  for (uint32_t i = 0; i < profile.blocks().size(); ++i) {
    const BlockRecord& block = profile.blocks()[i];
    const bool by_streams = HasReplicates(block.source);
    observed.push_back({{i}, block.estimate, by_streams ? &block.replicates : nullptr});
  }
  return observed;
}

using MnemonicCounts = std::vector<std::pair<Mnemonic, uint32_t>>;

// How often each mnemonic stands in a block. Without mnemonics as a key all are kInvalid.
MnemonicCounts CountMnemonics(const ResolvedProfile& profile, const BlockRecord& block,
                              bool by_mnemonic) {
  if (!by_mnemonic) return {{Mnemonic::kInvalid, block.block.instruction_count}};
  std::vector<Mnemonic> mnemonics;
  for (const Instruction& instruction : profile.InstructionsOf(block)) {
    mnemonics.push_back(instruction.mnemonic);
  }
  std::sort(mnemonics.begin(), mnemonics.end());
  MnemonicCounts counts;
  for (Mnemonic mnemonic : mnemonics) {
    if (counts.empty() || counts.back().first != mnemonic) counts.emplace_back(mnemonic, 0);
    ++counts.back().second;
  }
  return counts;
}

// Samples of a kernel whose functions are known and whose code is not.
void AddSamplesWithoutBlocks(const ResolvedProfile& profile, const MixKeys& keys,
                             absl::flat_hash_map<RowKey, RowSum>* sums) {
  for (const Contribution& contribution : profile.contributions()) {
    if (contribution.function == kNoIndex) continue;
    const uint32_t module = profile.functions()[contribution.function].module;
    RowSum& sum = (*sums)[{Mnemonic::kInvalid, keys.module ? module : kNoIndex,
                           keys.function ? contribution.function : kNoIndex,
                           keys.thread ? contribution.thread : kNoIndex,
                           keys.slice ? contribution.slice : kNoIndex}];
    sum.instructions += contribution.period_sum;
    sum.variance += contribution.period_squares;
  }
}

}  // namespace

Mix ComputeMix(const ResolvedProfile& profile, const MixKeys& keys) {
  absl::flat_hash_map<RowKey, RowSum> sums;
  MnemonicCounts mnemonics;
  uint32_t decoded_block = kNoIndex;
  std::vector<StreamContribution> stream_sums;
  for (const Observed& observed : keys.thread || keys.slice
                                      ? ObservedByPart(profile, keys, &stream_sums)
                                      : ObservedInAll(profile)) {
    const BlockRecord& block = profile.blocks()[observed.part.block];
    if (observed.part.block != decoded_block) {
      mnemonics = CountMnemonics(profile, block, keys.mnemonic);
      decoded_block = observed.part.block;
    }
    for (const auto& [mnemonic, occurrences] : mnemonics) {
      RowSum& sum = sums[{mnemonic, keys.module ? block.module : kNoIndex,
                          keys.function ? block.function : kNoIndex, observed.part.thread,
                          observed.part.slice}];
      sum.instructions += occurrences * observed.estimate.count;
      if (observed.replicates != nullptr) {
        sum.replicates.Add(*observed.replicates, occurrences);
        continue;
      }
      const double error = occurrences * observed.estimate.standard_error;
      sum.variance += error * error;
    }
  }
  if (!keys.mnemonic) AddSamplesWithoutBlocks(profile, keys, &sums);
  Mix mix;
  mix.rows.reserve(sums.size());
  for (const auto& [key, sum] : sums) {
    MixRow row;
    std::tie(row.mnemonic, row.module, row.function, row.thread, row.slice) = key;
    row.instructions = sum.instructions;
    row.standard_error = std::sqrt(sum.variance + VarianceOf(sum.replicates));
    mix.rows.push_back(row);
  }
  std::sort(mix.rows.begin(), mix.rows.end(), [](const MixRow& a, const MixRow& b) {
    if (a.instructions != b.instructions) return a.instructions > b.instructions;
    const auto keys_of = [](const MixRow& row) {
      return std::tuple(MnemonicName(row.mnemonic), row.module, row.function, row.thread,
                        row.slice);
    };
    return keys_of(a) < keys_of(b);
  });
  for (const MixRow& row : mix.rows) mix.total += row.instructions;
  return mix;
}

}  // namespace hbbp
