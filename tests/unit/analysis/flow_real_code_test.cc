// Samples random walks through functions of real programs, and compares the result of flow with the
// true counts.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/block_observations.h"
#include "estimate/flow_graph.h"
#include "estimate/stream_estimator.h"
#include "image/elf_image.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kPeriod = 200;  // instructions from sample to sample
constexpr uint64_t kGap = 100;     // taken branches from burst to burst
constexpr uint64_t kBurst = 8;     // streams

// Runs a function from its entry to a return, repeatedly. Each conditional branch has a probability
// of its own, calls return, and indirect jumps go to blocks that nothing else leads to.
class Walk {
 public:
  Walk(const std::vector<Block>& blocks, uint64_t seed) : blocks_(blocks), random_(seed) {
    std::vector<bool> is_entered(blocks.size());
    for (size_t i = 0; i < blocks.size(); ++i) {
      by_start_[blocks[i].start.value] = i;
      taken_.push_back(std::uniform_real_distribution<>(0.05, 0.95)(random_));
    }
    for (const Block& block : blocks) {
      for (const size_t next : {Behind(block), Target(block)}) {
        if (next != kNone) is_entered[next] = true;
      }
    }
    for (size_t i = 1; i < blocks.size(); ++i) {
      if (!is_entered[i]) cases_.push_back(i);
    }
    counts.resize(blocks.size());
  }

  // Returns the block that runs next, and whether a taken branch leads there.
  std::pair<size_t, bool> Next() {
    const Block& block = blocks_[at_];
    ++counts[at_];
    const size_t target = Target(block);
    const size_t behind = Behind(block);
    std::pair<size_t, bool> next = {0, true};  // the function is called again
    switch (block.terminator) {
      case BranchKind::kConditional:
        if (behind != kNone && !(target != kNone && Chance(taken_[at_]))) {
          next = {behind, false};
        } else if (target != kNone) {
          next = {target, true};
        }
        break;
      case BranchKind::kNone:
      case BranchKind::kSystem:
        if (behind != kNone) next = {behind, false};
        break;
      case BranchKind::kCall:
      case BranchKind::kIndirectCall:
        if (behind != kNone) next = {behind, true};
        break;
      case BranchKind::kJump:
        if (target != kNone) next = {target, true};
        break;
      case BranchKind::kIndirectJump:
        if (!cases_.empty()) next = {cases_[random_() % cases_.size()], true};
        break;
      case BranchKind::kReturn:
      case BranchKind::kTrap:
        break;
    }
    at_ = next.first;
    return next;
  }

  size_t at() const { return at_; }

  std::vector<double> counts;

 private:
  static constexpr size_t kNone = SIZE_MAX;

  size_t At(ModuleAddress address) const {
    const auto found = by_start_.find(address.value);
    return found == by_start_.end() ? kNone : found->second;
  }
  size_t Behind(const Block& block) const {
    return FallsThrough(block.terminator) ? At(block.end) : kNone;
  }
  size_t Target(const Block& block) const { return block.has_target ? At(block.target) : kNone; }

  bool Chance(double probability) {
    return std::uniform_real_distribution<>(0, 1)(random_) < probability;
  }

  const std::vector<Block>& blocks_;
  std::mt19937_64 random_;
  std::map<uint64_t, size_t> by_start_;
  std::vector<double> taken_;
  std::vector<size_t> cases_;
  size_t at_ = 0;
};

uint64_t LastInstruction(const ModuleCode& code, const Block& block) {
  uint64_t last = block.start.value;
  for (uint64_t address = last; address < block.end.value;) {
    ControlFlow flow;
    if (!DecodeControlFlow(code.CodeAt({address}, kMaxInstructionLength), address, &flow)) break;
    last = address;
    address += flow.length;
  }
  return last;
}

// Samples a walk.
ProfileData Sample(const ModuleCode& code, const std::vector<Block>& blocks, uint64_t seed,
                   uint64_t steps, std::vector<double>* truth) {
  ProfileData data;
  data.modules.resize(1);
  data.threads.resize(1);
  data.sources.resize(2);
  data.sources[0].kind = SourceKind::kEbs;
  data.sources[0].event = EventKind::kInstructions;
  data.sources[1].kind = SourceKind::kLbr;
  data.sources[1].event = EventKind::kTakenBranches;
  std::vector<uint64_t> last;
  for (const Block& block : blocks) last.push_back(LastInstruction(code, block));

  std::mt19937_64 random(seed);
  Walk walk(blocks, seed + 1);
  const auto draw = [&random](uint64_t mean) {
    return 1 + std::geometric_distribution<uint64_t>(1.0 / static_cast<double>(mean))(random);
  };
  uint64_t until_sample = draw(kPeriod), until_burst = draw(kGap);
  uint64_t bursts = 0, in_burst = 0;
  uint64_t from = 0, to = 0;
  for (uint64_t i = 0; i < steps; ++i) {
    const size_t block = walk.at();
    const uint64_t length = blocks[block].instruction_count;
    for (; until_sample <= length; until_sample += draw(kPeriod)) {
      IpCount count;
      count.offset = blocks[block].start.value;
      count.samples = 1;
      count.period_sum = kPeriod;
      count.period_squares = kPeriod * kPeriod;
      data.counts.push_back(count);
    }
    until_sample -= length;
    const auto [next, is_taken] = walk.Next();
    if (!is_taken) continue;
    if (in_burst == 0) {
      if (--until_burst > 0) continue;
      in_burst = kBurst + 1;
    }
    const uint64_t taken_from = last[block];
    if (in_burst <= kBurst) {
      BranchCount branch;
      branch.source = 1;
      branch.from = from;
      branch.to = to;
      branch.stream_end = taken_from;
      branch.number = 1;
      branch.weights = static_cast<double>(kGap + kBurst) / kBurst;
      branch.replicates.sums[ReplicateOf(bursts)] = static_cast<float>(branch.weights);
      data.branches.push_back(branch);
    }
    from = taken_from;
    to = blocks[next].start.value;
    if (--in_burst == 0) {
      ++bursts;
      until_burst = draw(kGap);
    }
  }
  Normalize(&data.counts);
  Normalize(&data.branches);
  *truth = walk.counts;
  return data;
}

// A view does not own its image.
class View : public ModuleCode {
 public:
  explicit View(const ElfImage* image) : image_(image) {}
  std::span<const uint8_t> CodeAt(ModuleAddress address, size_t size) const override {
    return image_->CodeAt(address, size);
  }
  std::span<const uint8_t> DataAt(ModuleAddress address, size_t size) const override {
    return image_->DataAt(address, size);
  }
  std::optional<AddressRange> FunctionAround(ModuleAddress address) const override {
    return image_->FunctionAround(address);
  }
  std::string FunctionName(ModuleAddress address) const override {
    return image_->FunctionName(address);
  }

 private:
  const ElfImage* image_;
};

struct Result {
  // Sums of squares of errors, as fractions of all executions.
  double ebs = 0, streams = 0, flow = 0;
  // blocks that ran often, and those of them within a standard error
  double covered = 0, often = 0;
  double found = 0;  // blocks that ran, that no source observed, and that flow has
};

Result Compare(const ElfImage& image, const std::vector<Block>& blocks, uint64_t seed) {
  std::vector<double> truth;
  const ProfileData data = Sample(image, blocks, seed, 400'000, &truth);
  BlockMap map(&image);
  ResolvedModule module;
  module.code = std::make_unique<View>(&image);
  std::vector<UnexplainedCounts> unexplained(2);
  const BlockObservations observations = ObserveBlocks(
      data, {0, data.counts.size()}, {0, data.branches.size()}, module, &map, &unexplained);
  CHECK(unexplained == std::vector<UnexplainedCounts>(2));
  std::vector<Contribution> contributions;
  for (const IpCount& count : data.counts) {
    contributions.push_back({kNoIndex, count.thread, count.source, kNoIndex, count.samples,
                             count.period_sum, count.period_squares});
  }
  FlowErrors errors;
  errors.ebs = errors.ebs_skid = errors.streams = 0;  // errors here are only by chance
  const auto combined =
      CombineByFlow({.data = data,
                     .observations = observations,
                     .address_of = [&](uint64_t offset) { return module.AddressOf(offset); },
                     .module_index = 0,
                     .contributions = contributions,
                     .streams_scale = 1},
                    &map, errors);
  std::map<uint64_t, double> ebs, streams, flow;
  for (const auto& [start, observed] : observations.blocks) {
    for (const size_t i : observed.counts) {
      ebs[start.value] += data.counts[i].period_sum / observed.block.instruction_count;
    }
    for (const auto& [key, sums] : observed.streams) streams[start.value] += sums.weights;
  }
  std::map<uint64_t, double> standard_errors;
  for (const CombinedBlock& block : combined) {
    flow[block.block.start.value] = block.count;
    standard_errors[block.block.start.value] = std::sqrt(VarianceOf(block.replicates));
  }
  double sum = 0;
  for (const double count : truth) sum += count;
  Result result;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const uint64_t start = blocks[i].start.value;
    const auto square = [&](double count) { return std::pow((count - truth[i]) / sum, 2); };
    result.ebs += square(ebs[start]);
    result.streams += square(streams[start]);
    result.flow += square(flow[start]);
    if (truth[i] > 20 * kGap) {
      ++result.often;
      result.covered += std::abs(flow[start] - truth[i]) < standard_errors[start];
    }
    result.found += truth[i] > 0 && ebs[start] == 0 && streams[start] == 0 && flow[start] > 0;
  }
  return result;
}

TEST_CASE("flow is nearer to the truth than each source, in functions of real programs") {
  Result all;
  int functions = 0, better = 0;
  for (const std::string path : {"/lib/x86_64-linux-gnu/libc.so.6",
                                 "/lib/x86_64-linux-gnu/libbz2.so.1.0", "/usr/bin/lua5.4"}) {
    const auto image = ElfImage::Open(path);
    if (!image.ok()) continue;
    BlockMap map(image->get());
    int taken = 0;
    for (const AddressRange& function : (*image)->AllFunctions()) {
      const std::vector<Block> blocks = map.FunctionBlocks(function.start);
      if (blocks.size() < 60 || blocks.size() > 400 || taken == 8) continue;
      ++taken;
      ++functions;
      const Result result = Compare(**image, blocks, function.start.value);
      CAPTURE(path, function.start.value, result.ebs, result.streams, result.flow);
      CHECK(result.flow < 2 * std::min(result.ebs, result.streams));
      better += result.flow < std::min(result.ebs, result.streams);
      all.ebs += result.ebs;
      all.streams += result.streams;
      all.flow += result.flow;
      all.found += result.found;
      all.covered += result.covered;
      all.often += result.often;
    }
  }
  if (functions == 0) HBBP_SKIP("none of the programs is here");
  CAPTURE(functions, better, all.ebs, all.streams, all.flow, all.found);
  CHECK(all.flow < 0.8 * std::min(all.ebs, all.streams));
  CHECK(better >= functions * 2 / 3);
  CHECK(all.found > 0);
  CHECK(all.covered / all.often == Approx(0.667).margin(0.08));
}

}  // namespace
}  // namespace hbbp
