#include "estimate/model_error.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>

#include "base/random_bits.h"

namespace hbbp {
namespace {

constexpr int kPageBits = 12;

// Identifies a module by what it is, since its index depends on the order in which profiles were
// added up. This is called for each branch, so it reads a few bytes only.
uint64_t SeedOfModule(const ProfileData& data, uint32_t module) {
  if (module >= data.modules.size()) return module;
  const ModuleRecord& record = data.modules[module];
  uint64_t seed = 0;
  if (record.build_id.size() >= sizeof(seed)) {
    std::memcpy(&seed, record.build_id.data(), sizeof(seed));
    return seed;
  }
  return std::hash<std::string>()(record.path);
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
  RandomBits module(SeedOfModule(data, branch.to_module));
  RandomBits page(module.Next() + (branch.to >> kPageBits));
  const uint64_t row = 1 + page.Next() % (kReplicates - 1);
  const bool is_negated = page.Next() % 2 != 0;
  const double error = kModelError * branch.weights * std::sqrt(kReplicates - 1.0) / kReplicates;
  for (size_t i = 0; i < kReplicates; ++i) {
    const bool is_odd = std::popcount(row & i) % 2 != 0;
    replicates.sums[i] += static_cast<float>(is_odd != is_negated ? error : -error);
  }
  return replicates;
}

}  // namespace hbbp
