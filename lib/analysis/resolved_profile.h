// ResolvedProfile: ProfileData with the blocks and functions that its samples fell in, and that its
// streams crossed.
#ifndef HBBP_LIB_ANALYSIS_RESOLVED_PROFILE_H_
#define HBBP_LIB_ANALYSIS_RESOLVED_PROFILE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analysis/block_observations.h"
#include "analysis/described_code.h"
#include "analysis/kernel_resolver.h"
#include "analysis/module_resolver.h"
#include "analysis/profile_loops.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "base/work.h"
#include "blocks/block_map.h"
#include "estimate/block_features.h"
#include "estimate/branch_bias.h"
#include "estimate/count_estimate.h"
#include "estimate/family_choice.h"
#include "estimate/stream_estimator.h"
#include "isa/decoder.h"
#include "profile/profile_data.h"
#include "symbols/source_lines.h"

namespace hbbp {

inline constexpr uint32_t kNoIndex = UINT32_MAX;

// What each family of sources says of a block, on one scale.
struct FamilyCounts {
  CountEstimate ebs;
  CountEstimate streams;
  double taken_ratio = 0;  // see Feature::kTakenRatio
};

struct BlockRecord {
  uint32_t module = 0;
  uint32_t function = kNoIndex;
  Block block;
  SourceKind source = SourceKind::kNone;
  CountEstimate estimate;
  // Of the source: IP samples in the block, streams across it.
  uint64_t samples = 0;
  ReplicateSums replicates;  // of the count, if HasReplicates(source); see stream_estimator.h
  StreamSums fell_through;   // streams that went on into the block behind it
  BranchBias bias;           // of the branches in it
  FamilyCounts families;
};

struct FunctionRecord {
  uint32_t module = 0;
  AddressRange range;
  std::string name;
  double instructions = 0;
  double standard_error = 0;
  uint64_t samples = 0;  // IP samples in it, streams that came into it
};

// What one thread adds to the count of a block, according to one source of IP samples.
struct Contribution {
  uint32_t block = kNoIndex;  // kNoIndex: unexplained, or another source counts the block
  uint32_t thread = 0;
  uint32_t source = 0;
  uint32_t function = kNoIndex;  // of unexplained samples, if it is known
  uint64_t samples = 0;
  double period_sum = 0;
  double period_squares = 0;
  uint32_t slice = kNoSlice;
};

// The same, according to one source of streams, or its part in a count of several sources.
struct StreamContribution {
  uint32_t block = kNoIndex;
  uint32_t thread = 0;
  uint32_t source = 0;
  StreamSums sums;
  uint32_t slice = kNoSlice;
};

// An address whose module is not known, or has no code to tell it by.
inline constexpr ModuleAddress kNoAddress = {UINT64_MAX};

// A taken branch, by all threads and sources.
struct TakenBranchRecord {
  uint32_t from_module = kNoIndex;  // kNoIndex: in no known mapping
  uint32_t to_module = kNoIndex;
  ModuleAddress from = kNoAddress;
  ModuleAddress to = kNoAddress;
  uint64_t observed = 0;
  // Executions, on the scale of block counts. The last branch of a burst adds nothing, so that each
  // burst adds as much as its streams do.
  double count = 0;
  ReplicateSums replicates;  // of the count
  BranchBias bias;
};

// What IBS samples of one instruction were by one event, by all threads and sources.
struct IbsSumRecord {
  uint32_t module = 0;
  uint32_t function = kNoIndex;
  ModuleAddress address = kNoAddress;  // run-time address in the kernel and in generated code
  uint32_t event = 0;                  // of ProfileData::ibs_names
  uint64_t sum = 0;
};

// Const functions may be called from any thread. The first that needs code finds all blocks.
class ResolvedProfile {
 public:
  explicit ResolvedProfile(ProfileData data);
  ~ResolvedProfile();

  const ProfileData& data() const { return data_; }
  // The same with what is known now, and may not be later, of the code of kernels.
  ProfileData DataToStore() const;

  // kMismatch if none of the kernels that have samples is the one that a file is of, kInvalidState
  // if code was sought before, and the errors of OpenKernelFiles. Not while another thread uses
  // this object.
  Status SetKernelFiles(const KernelFilePaths& paths);
  // Lines that were found before are gone. Not while another thread uses this object.
  void SetSourceOptions(SourceOptions options);
  // What was resolved before is resolved anew: lists, and what they point to, are gone. Not while
  // another thread uses this object.
  void SetEstimator(EstimatorOptions options);

  // The three of `whole`, of which this is a part, but neither progress nor flag of its source
  // options: the host keeps those for the whole. Before anything that resolves.
  void SetOptionsOf(const ResolvedProfile& whole);

  // IP samples and bursts.
  uint64_t SamplesOfSource(uint32_t source) const { return source_samples_[source]; }
  uint64_t SamplesOfThread(uint32_t thread) const { return thread_samples_[thread]; }
  // The same; below data().slices.count.
  uint64_t SamplesOfSlice(uint32_t slice) const { return slice_samples_[slice]; }
  // IP samples in it, taken branches into it.
  uint64_t SamplesOfModule(uint32_t module) const { return module_samples_[module]; }
  // IP samples and targets of taken branches that were in no known mapping.
  uint64_t UnmappedOfSource(uint32_t source) const { return unmapped_[source]; }

  // Finds all blocks, if that is not done. kCancelled if it is called off; nothing is kept then.
  Status Resolve(const Work& work) const;

  // These resolve.
  // IP samples in no block, streams that no path through the code explains.
  uint64_t UnexplainedOfSource(uint32_t source) const;
  const UnexplainedCounts& UnexplainedByReason(uint32_t source) const;
  // IP samples in code that another source counts.
  uint64_t SupersededOfSource(uint32_t source) const;
  // What SetEstimator's kAuto has become.
  EstimatorKind estimator() const;
  const FamilyScales& family_scales() const;
  CodeState CodeStateOf(uint32_t module) const;
  const std::string& ProblemOf(uint32_t module) const;
  // Of a kernel: bytes of the functions with samples in which memory differed from vmlinux.
  uint64_t PatchedBytesOf(uint32_t module) const;
  const std::vector<BlockRecord>& blocks() const;        // by module and address
  const std::vector<FunctionRecord>& functions() const;  // by module and address
  const std::vector<Contribution>& contributions() const;
  const std::vector<StreamContribution>& stream_contributions() const;
  const std::vector<TakenBranchRecord>& branches() const;  // by source, then by target
  // By module, address and event.
  const std::vector<IbsSumRecord>& ibs_sums() const;
  const ProfileLoops& loops() const;

  // kNotFound: no such module, or no code there.
  StatusOr<BlockRecord> FindBlock(uint32_t module, ModuleAddress address) const;
  StatusOr<Instruction> Decode(uint32_t module, ModuleAddress address) const;
  // The bytes of code at an address: `size` of them, fewer where it ends.
  std::vector<uint8_t> CodeAt(uint32_t module, ModuleAddress address, size_t size) const;
  // The instructions of blocks(), described at the first call and kept as long as this object if
  // they are kMaxKeptInstructions at most. Any thread.
  std::shared_ptr<const DescribedCode> code() const;
  static constexpr size_t kMaxKeptInstructions = 4 << 20;  // 32 MiB, and some for kinds
  // The source lines of a module, opened at the first call for it. They live as long as this object
  // and may be asked by any thread. Errors: kNotFound (no module, no debug information), kMismatch,
  // kUnsupported (no libdw; generated code), kBadFormat, kIo.
  StatusOr<const SourceLines*> LinesOf(uint32_t module) const;
  // All blocks of the function (or part) around an address, and the jump tables that it uses; empty
  // where there is no code.
  std::vector<Block> FunctionBlocks(uint32_t module, ModuleAddress address) const;
  std::vector<ReadJumpTable> JumpTables(uint32_t module, ModuleAddress address) const;
  // Of a block of blocks().
  BlockFeatures FeaturesOf(const BlockRecord& record) const;
  // The instructions of a block of blocks() or FindBlock, in order; empty if its code is gone.
  std::vector<Instruction> InstructionsOf(const BlockRecord& record) const;

 private:
  // A module as far as it was needed. Guarded by mutex_ after resolution.
  struct ModuleState {
    ResolvedModule resolved;
    std::unique_ptr<BlockMap> blocks;
  };

  // A module with samples, and what they say of its blocks.
  struct ObservedModule {
    uint32_t module = 0;
    IndexRange counts;
    BlockObservations observations;
  };
  using FunctionReplicates = std::map<uint32_t, ReplicateSums>;  // by index
  using OriginWeights = std::map<StreamOrigin, double>;

  void Resolve() const { (void)Resolve(Work()); }
  Status ResolveAll(const Work& work) const;
  void ForgetResolution() const;
  std::vector<ObservedModule> Observe(WorkMeter* meter) const;
  void CountInInstructions(const ObservedModule& observed) const;
  void AddBias(std::vector<ObservedModule>* all) const;
  void FindScales(const std::vector<ObservedModule>& all) const;
  double InstructionsBy(SourceFamily family, const ObservedBlock& observed) const;
  FamilyCounts CountFamilies(const ObservedBlock& observed) const;
  void EstimateModule(const ObservedModule& observed, WorkMeter* meter) const;
  SourceFamily FamilyFor(const ObservedModule& observed, const BlockRecord& record) const;
  BlockFeatures FindFeatures(const BlockRecord& record) const;
  void ChooseByBlock(const ObservedModule& observed, FunctionReplicates* replicates,
                     WorkMeter* meter) const;
  void EstimateByFlow(const ObservedModule& observed, BlockMap* map, FunctionReplicates* replicates,
                      WorkMeter* meter) const;
  OriginWeights WeightsByOrigin(const ObservedBlock& observed) const;
  void AddCombined(BlockRecord record, const OriginWeights& origins,
                   FunctionReplicates* replicates) const;
  void AddBlock(const ObservedBlock& observed, BlockRecord record,
                FunctionReplicates* replicates) const;
  void CountSamples(const ObservedBlock& observed, BlockRecord* record) const;
  void CountStreams(const ObservedBlock& observed, BlockRecord* record) const;
  static void AddToFunction(const Contribution& contribution, FunctionRecord* function);
  void AddFunctionsWithoutCode(uint32_t module, IndexRange counts, IndexRange blocks,
                               size_t first_function) const;
  std::vector<uint64_t> SampledOffsets(uint32_t module) const;
  void ResolveBranches() const;
  void ResolveIbs() const;
  uint32_t FunctionAround(uint32_t module, ModuleAddress address) const;
  double InstructionsPerUop(uint32_t module, const Block& block) const;
  ModuleAddress AddressIn(uint32_t module, uint64_t offset) const;
  uint32_t FunctionFor(uint32_t module, ModuleAddress address) const;
  ModuleState* OpenModule(uint32_t module) const;
  bool DecodeAt(const ModuleState& state, ModuleAddress address, Instruction* instruction) const;

  // What has the lines of a module, with what it refers to.
  struct LineTarget {
    DebugTarget target;
    UniqueFd fd;
    std::vector<uint8_t> build_id;
    uint64_t slide = 0;
  };
  StatusOr<std::unique_ptr<SourceLines>> OpenLines(uint32_t module) const;
  Status FindLineTarget(uint32_t module, LineTarget* target) const;

  const ProfileData data_;
  KernelFiles kernel_files_;
  std::vector<uint64_t> source_samples_;
  std::vector<uint64_t> thread_samples_;
  std::vector<uint64_t> slice_samples_;
  std::vector<uint64_t> module_samples_;
  std::vector<uint64_t> unmapped_;

  EstimatorOptions estimator_options_;

  mutable std::mutex resolve_mutex_;  // taken before mutex_
  mutable std::atomic<bool> is_resolved_{false};
  mutable std::unique_ptr<std::once_flag> find_loops_once_ = std::make_unique<std::once_flag>();
  mutable EstimatorKind estimator_ = EstimatorKind::kAuto;
  mutable FamilyScales scales_;
  mutable double mean_count_ = 0;  // of the blocks that were observed
  mutable std::vector<UnexplainedCounts> unexplained_;
  mutable std::vector<uint64_t> superseded_;
  mutable std::vector<BlockRecord> blocks_;
  mutable std::vector<FunctionRecord> functions_;
  mutable std::vector<Contribution> contributions_;
  mutable std::vector<StreamContribution> stream_contributions_;
  mutable std::vector<TakenBranchRecord> branches_;
  mutable std::vector<IbsSumRecord> ibs_sums_;
  mutable ProfileLoops loops_;

  mutable std::mutex mutex_;  // modules_, which read lazily
  mutable std::vector<std::unique_ptr<ModuleState>> modules_;

  mutable std::mutex code_mutex_;  // code_; taken before mutex_
  mutable std::shared_ptr<const DescribedCode> code_;

  // Opened once, without a lock that other modules need.
  struct ModuleLines {
    std::mutex mutex;
    bool was_opened = false;  // not if it was called off
    StatusOr<std::unique_ptr<SourceLines>> lines{std::unique_ptr<SourceLines>()};
  };
  SourceOptions source_options_;
  std::shared_ptr<LineMemory> line_memory_ =
      std::make_shared<LineMemory>(source_options_.memory_limit);
  mutable std::mutex lines_mutex_;  // which modules lines_ has
  mutable std::map<uint32_t, ModuleLines> lines_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_RESOLVED_PROFILE_H_
