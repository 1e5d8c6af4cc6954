// ObserveBlocks first gives all evidence of the module to its BlockMap, because evidence may move
// the bounds of blocks, and then attributes each sample to its block, and each stream to the blocks
// that WalkStream crosses. What fits no block is counted by reason. The blocks collect counts,
// streams by origin, and the bias of their branches. Analyze() calls it for each module.
#include "analysis/block_observations.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "blocks/stream_walk.h"
#include "estimate/model_error.h"

namespace hbbp {
namespace {

UnexplainedReason ReasonOf(StreamFault fault) {
  switch (fault) {
    case StreamFault::kNone:
    case StreamFault::kNoCode:
      break;
    case StreamFault::kUndecodable:
      return UnexplainedReason::kUndecodable;
    case StreamFault::kBackwards:
      return UnexplainedReason::kBackwards;
    case StreamFault::kPassesBranch:
      return UnexplainedReason::kPassesBranch;
    case StreamFault::kNotABranch:
      return UnexplainedReason::kNotABranch;
    case StreamFault::kTooLong:
      return UnexplainedReason::kTooLong;
  }
  return UnexplainedReason::kNoCode;
}

// Collects the observations of one module.
class Observer {
 public:
  Observer(const ProfileData& data, const ResolvedModule& module, BlockMap* map,
           std::vector<UnexplainedCounts>* unexplained, WorkMeter* meter)
      : data_(data), module_(module), map_(map), unexplained_(unexplained), meter_(meter) {}

  BlockObservations Observe(IndexRange counts, IndexRange branches) {
    Locate(counts);
    Locate(branches, &streams_);
    // All evidence comes first, because it may move the bounds of blocks.
    for (size_t i = 0; i < samples_.size() && Advance(); ++i) {
      map_->AddInstructionEvidence(samples_[i].address);
    }
    for (size_t i = 0; i < streams_.size() && Advance(); ++i) {
      AddStreamEvidence(*module_.code, streams_[i].start, streams_[i].end, map_);
    }
    for (size_t i = 0; i < samples_.size() && Advance(); ++i) Add(samples_[i]);
    for (size_t i = 0; i < streams_.size() && Advance(); ++i) Add(streams_[i]);
    return std::move(observations_);
  }

 private:
  struct Sample {
    ModuleAddress address;
    size_t index;
  };
  bool Advance() { return meter_ == nullptr || meter_->Advance(); }

  // The branches that the same stream follows.
  struct Stream {
    ModuleAddress start;
    ModuleAddress end;
    IndexRange branches;
  };

  std::optional<ModuleAddress> AddressOf(uint64_t offset) const {
    return map_ == nullptr ? std::nullopt : module_.AddressOf(offset);
  }

  void CannotExplain(uint32_t source, UnexplainedReason reason, uint64_t number) {
    (*unexplained_)[source][static_cast<size_t>(reason)] += number;
  }

  void CannotExplain(IndexRange branches, UnexplainedReason reason) {
    for (size_t i = branches.first; i < branches.end; ++i) {
      CannotExplain(data_.branches[i].source, reason, data_.branches[i].number);
    }
  }

  void Locate(IndexRange counts) {
    for (size_t i = counts.first; i < counts.end; ++i) {
      const IpCount& count = data_.counts[i];
      if (const auto address = AddressOf(count.offset)) {
        samples_.push_back({*address, i});
      } else {
        CannotExplain(count.source, UnexplainedReason::kNoCode, count.samples);
      }
    }
  }

  void Locate(IndexRange branches, std::vector<Stream>* streams) {
    const auto same_stream = [this](size_t a, size_t b) {
      return data_.branches[a].to == data_.branches[b].to &&
             data_.branches[a].stream_end == data_.branches[b].stream_end;
    };
    for (size_t first = branches.first, end = first; first < branches.end; first = end) {
      while (end < branches.end && same_stream(first, end)) ++end;
      const BranchCount& branch = data_.branches[first];
      if (!branch.HasStream()) continue;
      const auto start = AddressOf(branch.to);
      const auto last =
          branch.stream_end != kStreamLeavesModule ? AddressOf(branch.stream_end) : std::nullopt;
      if (!start) {
        CannotExplain({first, end}, UnexplainedReason::kNoCode);
      } else if (!last) {
        CannotExplain({first, end}, UnexplainedReason::kLeavesModule);
      } else {
        streams->push_back({*start, *last, {first, end}});
      }
    }
  }

  // An instruction that ends at the start of a block is in the block before, if control can have
  // come from there without a taken branch.
  std::optional<Block> FindBlock(ModuleAddress address, IpPosition position) const {
    const std::optional<Block> block = map_->Find(address);
    const bool is_inside = block && block->start < address;
    if (position == IpPosition::kAt || is_inside || address.value == 0) return block;
    const std::optional<Block> before = map_->Find(address - 1);
    return before && before->end == address && RunsOn(before->terminator) ? before : block;
  }

  void Add(const Sample& sample) {
    const IpCount& count = data_.counts[sample.index];
    const std::optional<Block> block = FindBlock(sample.address, count.position);
    if (!block || block->instruction_count == 0) {
      const bool has_code = !module_.code->CodeAt(sample.address, 1).empty();
      CannotExplain(count.source,
                    has_code ? UnexplainedReason::kUndecodable : UnexplainedReason::kNoCode,
                    count.samples);
      return;
    }
    ObservedBlock& observed = observations_.blocks[block->start];
    observed.block = *block;
    observed.counts.push_back(sample.index);
    observations_.has_samples = true;
  }

  void Add(const Stream& stream) {
    crossed_.clear();
    const StreamFault fault = WalkStream(*module_.code, stream.start, stream.end, map_, &crossed_);
    if (fault != StreamFault::kNone) {
      CannotExplain(stream.branches, ReasonOf(fault));
      return;
    }
    observations_.has_streams = true;
    observations_.explained_branches.push_back(stream.branches);
    std::map<StreamOrigin, StreamSums> sums;
    StreamSums all;
    for (size_t i = stream.branches.first; i < stream.branches.end; ++i) {
      const BranchCount& branch = data_.branches[i];
      const StreamSums sum{branch.number, branch.weights, ModeledReplicates(data_, branch)};
      sums[{branch.source, branch.thread, branch.slice}].Add(sum);
      all.Add(sum);
    }
    AddressRange function;
    for (const Block& block : crossed_) {
      ObservedBlock& observed = observations_.blocks[block.start];
      observed.block = block;
      for (const auto& [key, sum] : sums) observed.streams[key].Add(sum);
      observed.all_streams.Add(all);
      if (block.start != crossed_.back().start) observed.fell_through.Add(all);
      if (function.Contains(block.start)) continue;
      observed.streams_into_function += all.streams;
      function = module_.code->FunctionAround(block.start).value_or(function);
    }
  }

  const ProfileData& data_;
  const ResolvedModule& module_;
  BlockMap* const map_;
  std::vector<UnexplainedCounts>* const unexplained_;
  WorkMeter* const meter_;
  std::vector<Sample> samples_;
  std::vector<Stream> streams_;
  std::vector<Block> crossed_;
  BlockObservations observations_;
};

}  // namespace

bool RunsOn(BranchKind kind) {
  return FallsThrough(kind) && kind != BranchKind::kCall && kind != BranchKind::kIndirectCall;
}

const char* NameOf(UnexplainedReason reason) {
  constexpr const char* kNames[] = {"no-code",       "undecodable",  "leaves-module", "backwards",
                                    "passes-branch", "not-a-branch", "too-long"};
  static_assert(std::size(kNames) == static_cast<size_t>(UnexplainedReason::kCount));
  return reason < UnexplainedReason::kCount ? kNames[static_cast<size_t>(reason)] : "unknown";
}

BlockObservations ObserveBlocks(const ProfileData& data, IndexRange counts, IndexRange branches,
                                const ResolvedModule& module, BlockMap* map,
                                std::vector<UnexplainedCounts>* unexplained, WorkMeter* meter) {
  return Observer(data, module, map, unexplained, meter).Observe(counts, branches);
}

}  // namespace hbbp
