#include "estimate/model_error.h"

#include <bit>
#include <cmath>
#include <cstddef>

namespace hbbp {
namespace {

constexpr int kPageBits = 12;

// Mixes all bits of a number into all others (the finalizer of SplitMix64).
uint64_t Mix(uint64_t bits) {
  bits += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

}  // namespace

bool IsWeighedByModel(const SourceRecord& source) {
  const bool is_clock =
      source.event == EventKind::kTaskClock || source.event == EventKind::kCpuClock;
  return source.kind == SourceKind::kSwbt && is_clock &&
         source.burst_extent == BurstExtent::kEvents;
}

ReplicateSums ModeledReplicates(const ProfileData& data, const BranchCount& branch) {
  ReplicateSums replicates = branch.replicates;
  if (!IsWeighedByModel(data.sources[branch.source])) return replicates;
  const uint64_t page = Mix(Mix(branch.to_module) + (branch.to >> kPageBits));
  const uint64_t row = 1 + page % (kReplicates - 1);
  const bool is_negated = (page >> 63) != 0;
  const double error = kModelError * branch.weights * std::sqrt(kReplicates - 1.0) / kReplicates;
  for (size_t i = 0; i < kReplicates; ++i) {
    const bool is_odd = std::popcount(row & i) % 2 != 0;
    replicates.sums[i] += static_cast<float>(is_odd != is_negated ? error : -error);
  }
  return replicates;
}

}  // namespace hbbp
