// ResolvedProfile: ProfileData with the blocks and functions that its samples fell in.
#ifndef HBBP_LIB_PROFILE_RESOLVED_PROFILE_H_
#define HBBP_LIB_PROFILE_RESOLVED_PROFILE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "blocks/block_map.h"
#include "estimate/ebs_estimator.h"
#include "isa/decoder.h"
#include "profile/module_resolver.h"
#include "profile/profile_data.h"

namespace hbbp {

inline constexpr uint32_t kNoIndex = UINT32_MAX;

struct BlockRecord {
  uint32_t module = 0;
  uint32_t function = kNoIndex;
  Block block;
  SourceKind source = SourceKind::kNone;
  CountEstimate estimate;
  uint64_t samples = 0;
};

struct FunctionRecord {
  uint32_t module = 0;
  AddressRange range;
  std::string name;
  double instructions = 0;
  double standard_error = 0;
  uint64_t samples = 0;
};

// What one thread adds to the count of a block, according to one source.
struct Contribution {
  uint32_t block = kNoIndex;  // kNoIndex: unexplained
  uint32_t thread = 0;
  uint32_t source = 0;
  uint64_t samples = 0;
  double period_sum = 0;
  double period_squares = 0;
};

// Const functions may be called from any thread. The first that needs code finds all blocks.
class ResolvedProfile {
 public:
  explicit ResolvedProfile(ProfileData data);
  ~ResolvedProfile();

  const ProfileData& data() const { return data_; }
  uint64_t SamplesOfSource(uint32_t source) const { return source_samples_[source]; }
  uint64_t SamplesOfThread(uint32_t thread) const { return thread_samples_[thread]; }
  uint64_t SamplesOfModule(uint32_t module) const { return module_samples_[module]; }

  // These resolve.
  uint64_t UnexplainedOfSource(uint32_t source) const;
  CodeState CodeStateOf(uint32_t module) const;
  const std::string& ProblemOf(uint32_t module) const;
  const std::vector<BlockRecord>& blocks() const;        // by module and address
  const std::vector<FunctionRecord>& functions() const;  // by module and address
  const std::vector<Contribution>& contributions() const;

  // kNotFound: no such module, or no code there.
  StatusOr<BlockRecord> FindBlock(uint32_t module, ModuleAddress address) const;
  StatusOr<Instruction> Decode(uint32_t module, ModuleAddress address) const;
  // The instructions of a block of blocks() or FindBlock, in order; empty if its code is gone.
  std::vector<Instruction> InstructionsOf(const BlockRecord& block) const;

 private:
  // A module as far as it was needed. Guarded by mutex_ after resolution.
  struct ModuleState {
    ResolvedModule resolved;
    std::unique_ptr<BlockMap> blocks;
  };

  void Resolve() const;
  void ResolveOnce() const;
  void ResolveModuleBlocks(uint32_t module, size_t first_count, size_t end_count) const;
  void AddToBlock(uint32_t module, const Block& block, size_t first_block,
                  Contribution* contribution) const;
  static void AddToFunction(const Contribution& contribution, FunctionRecord* function);
  void AddFunctionsOfKernel(uint32_t module, size_t first_count, size_t end_count) const;
  uint32_t FunctionFor(uint32_t module, ModuleAddress address) const;
  ModuleState* OpenModule(uint32_t module) const;
  bool DecodeAt(const ModuleState& state, ModuleAddress address, Instruction* instruction) const;

  const ProfileData data_;
  std::vector<uint64_t> source_samples_;
  std::vector<uint64_t> thread_samples_;
  std::vector<uint64_t> module_samples_;

  mutable std::once_flag resolve_once_;
  mutable std::vector<uint64_t> unexplained_;
  mutable std::vector<BlockRecord> blocks_;
  mutable std::vector<FunctionRecord> functions_;
  mutable std::vector<Contribution> contributions_;

  mutable std::mutex mutex_;  // modules_ and decoder_, which read lazily
  mutable std::vector<std::unique_ptr<ModuleState>> modules_;
  mutable std::unique_ptr<Decoder> decoder_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_RESOLVED_PROFILE_H_
