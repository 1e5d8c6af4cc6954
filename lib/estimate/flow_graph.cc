// CombineByFlow handles one module. FindUnits and FindArrivals prepare it: the count that one
// observation stands for, and branches by target. Then, for each function with observed blocks,
// FindNodes makes its blocks nodes, Solve calls MakeGraph, which adds an edge for each block and
// each way to continue, with the measurements of samples and streams and the expectation of small
// flows where nothing was measured, and InferFlow, and appends the blocks that ran. If InferFlow
// fails, CountAsObserved appends the measured counts. CountBlocks calls it.
#include "estimate/flow_graph.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "blocks/function_graph.h"
#include "estimate/ebs_replicates.h"
#include "estimate/family_choice.h"
#include "estimate/flow_inference.h"
#include "estimate/model_error.h"
#include "estimate/stream_estimator.h"

namespace hbbp {
namespace {

// This is the error of a clock's samples, because time is not instructions.
constexpr double kClockError = 3.0;
// The module's estimate of a unit has the weight of so many observations in that of a function.
constexpr double kPriorObservations = 100;
// All unobserved blocks of a function together are dropped if they ran less than this fraction of
// one observation, which is below what can be measured.
constexpr double kNegligible = 0.1;
// If a call returns at all, the code after it has at least this share of the executions before it.
constexpr double kComesBack = 0.1;

double Bounded(double value) { return std::isfinite(value) ? std::clamp(value, 0.0, kMaxFlow) : 0; }

// A unit is the count that one observation stands for: variance / count.
struct Unit {
  double count = 0;
  double variance = 0;

  void Add(double more_count, double more_variance) {
    count += Bounded(more_count);
    variance += Bounded(more_variance);
  }
  double Of(double otherwise) const {
    const double unit = variance / count;
    return unit > 0 && unit <= kMaxFlow ? unit : otherwise;
  }
};

// A branch to a block of the module, by all threads and sources together.
struct Arrival {
  bool is_from_module = false;
  ModuleAddress from;
  StreamSums sums;
};

using Arrivals = std::map<ModuleAddress, std::vector<Arrival>>;  // by target

class ModuleFlow {
 public:
  ModuleFlow(const FlowEvidence& evidence, BlockMap* map, const FlowErrors& errors)
      : evidence_(evidence), map_(map), errors_(errors) {}

  std::vector<CombinedBlock> Combine();

 private:
  struct Node {
    Block block;
    const ObservedBlock* observed = nullptr;
    uint32_t edge = 0;  // of the block
    bool is_entered = false;
    bool is_behind_call = false;
    bool is_in_unseen_run = false;  // no stream fell into it
  };

  static uint32_t In(size_t node) { return static_cast<uint32_t>(2 * node + 1); }
  static uint32_t Out(size_t node) { return static_cast<uint32_t>(2 * node + 2); }

  void FindUnits();
  void FindArrivals();
  // Returns observed blocks in its range that the function does not have.
  std::vector<const ObservedBlock*> FindNodes(ModuleAddress address);
  void SetNode(const ObservedBlock& observed);
  void FindFunctionUnit();
  void FindMinSampled();
  void FindDisagreement();
  void AddStreams(const ObservedBlock& observed, Unit* unit) const;
  std::optional<size_t> NodeAt(ModuleAddress start) const;
  std::optional<size_t> NodeAround(ModuleAddress address) const;
  void MakeGraph();
  void AddFallThrough(size_t from);
  void AddTaken(size_t from);
  void AddFallenIn(size_t to);
  void AddEntries(size_t to);
  uint32_t AddEdge(uint32_t from, uint32_t to);
  void MeasureSamples(size_t index);
  void MeasureStreams(uint32_t edge, const StreamSums& sums, const Node* from, const Node* to);
  void ExpectLittle(uint32_t edge, const Node& node, double error);
  void AddLeak(size_t call, const Node& behind);
  double SampledCount(const Node& node) const;
  double SureCount(const Node& node) const;
  double CountOf(const Node& node) const;
  // Returns the count that one observation of the block stands for.
  double UnitOf(const Node& node) const;
  ReplicateSums SampleReplicates(const Node& node) const;
  void Solve();
  void CountAsObserved();

  const FlowEvidence& evidence_;
  BlockMap* const map_;
  const FlowErrors& errors_;
  Arrivals arrivals_;
  Unit period_;       // of IP samples of the module
  Unit stream_unit_;  // of the module
  double crossed_by_stream_ = 1;

  // These describe the current function.
  std::vector<Node> nodes_;
  double function_stream_unit_ = 1;
  // The expectation of a count by samples is at least this, for any block: the function's mean, or
  // that of one sample if it has none.
  double min_sampled_ = 1;
  // The disagreement of samples with streams beyond chance, as a fraction of counts.
  double disagreement_ = 0;
  bool has_indirect_jumps_ = false;
  bool has_streams_ = false;
  // Branches within the function, by their ends; the rest of arrivals_ comes from outside.
  std::map<std::pair<size_t, size_t>, StreamSums> taken_;
  std::map<size_t, StreamSums> entered_;
  FlowProblem problem_;

  std::vector<CombinedBlock> combined_;
};

void ModuleFlow::FindUnits() {
  double streams = 0, crossings = 0;
  for (const auto& [start, observed] : evidence_.observations.blocks) {
    for (const size_t i : observed.counts) {
      const Contribution& contribution = evidence_.contributions[i];
      period_.Add(contribution.period_sum, contribution.period_squares);
    }
    AddStreams(observed, &stream_unit_);
    const auto crossing = static_cast<double>(observed.all_streams.streams);
    crossings += crossing;
    streams += crossing - static_cast<double>(observed.fell_through.streams);
  }
  // A stream that crosses many blocks is one observation, like one that crosses few.
  if (streams > 0) crossed_by_stream_ = crossings / streams;
}

void ModuleFlow::FindArrivals() {
  for (const IndexRange& branches : evidence_.observations.explained_branches) {
    for (size_t i = branches.first; i < branches.end; ++i) {
      const BranchCount& branch = evidence_.data.branches[i];
      const auto to = evidence_.address_of(branch.to);
      if (!to) continue;
      Arrival arrival;
      if (branch.from_module == evidence_.module_index) {
        const auto from = evidence_.address_of(branch.from);
        arrival.is_from_module = from.has_value();
        arrival.from = from.value_or(ModuleAddress{});
      }
      arrival.sums = {branch.number, branch.weights, ModeledReplicates(evidence_.data, branch)};
      arrivals_[*to].push_back(arrival);
    }
  }
}

std::vector<const ObservedBlock*> ModuleFlow::FindNodes(ModuleAddress address) {
  nodes_.clear();
  for (const Block& block : map_->FunctionBlocks(address)) nodes_.push_back({.block = block});
  std::vector<const ObservedBlock*> strays;
  const auto& blocks = evidence_.observations.blocks;
  if (!NodeAt(address)) {
    // This happens at the end of the last instruction of the previous window.
    SetNode(blocks.at(address));
    return strays;
  }
  for (auto next = blocks.lower_bound(nodes_.front().block.start);
       next != blocks.end() && next->first < nodes_.back().block.end; ++next) {
    if (const std::optional<size_t> node = NodeAt(next->first)) {
      nodes_[*node].observed = &next->second;
    } else {
      strays.push_back(&next->second);
    }
  }
  return strays;
}

void ModuleFlow::SetNode(const ObservedBlock& observed) {
  nodes_ = {{.block = observed.block, .observed = &observed}};
}

void ModuleFlow::FindFunctionUnit() {
  const double otherwise = stream_unit_.Of(1);
  Unit unit{kPriorObservations * otherwise, kPriorObservations * otherwise * otherwise};
  for (const Node& node : nodes_) {
    if (node.observed != nullptr) AddStreams(*node.observed, &unit);
  }
  function_stream_unit_ = unit.Of(otherwise) * crossed_by_stream_;
}

void ModuleFlow::FindMinSampled() {
  double instructions = 0, executed = 0;
  for (const Node& node : nodes_) {
    instructions += node.block.instruction_count;
    executed += SampledCount(node) * node.block.instruction_count;
  }
  const double one_sample = period_.Of(1);
  min_sampled_ = std::max(executed, one_sample) / std::max(instructions, 1.0);
}

// Whether samples measure what they claim depends on the processor, the event and the code, and is
// unknown. But streams do not skid, so where samples disagree with them by more than chance, the
// samples get less weight.
void ModuleFlow::FindDisagreement() {
  double squares = 0, by_chance = 0, counts = 0;
  for (const Node& node : nodes_) {
    if (node.observed == nullptr || node.block.instruction_count == 0) continue;
    const double length = node.block.instruction_count;
    const StreamSums& streams = node.observed->all_streams;
    const double by_streams = Bounded(evidence_.streams_scale * streams.weights);
    double variance = 0;
    for (const size_t i : node.observed->counts) {
      variance += Bounded(evidence_.contributions[i].period_squares / length / length);
    }
    variance +=
        Bounded(evidence_.streams_scale * evidence_.streams_scale * VarianceOf(streams.replicates));
    const double difference = SampledCount(node) - by_streams;
    squares += length * difference * difference;
    by_chance += length * variance;
    counts += length * by_streams * by_streams;
  }
  disagreement_ = counts > 0 ? Bounded(std::sqrt(std::max(squares - by_chance, 0.0) / counts)) : 0;
}

void ModuleFlow::AddStreams(const ObservedBlock& observed, Unit* unit) const {
  const StreamSums& sum = observed.all_streams;
  const double scale = evidence_.streams_scale;
  unit->Add(scale * sum.weights, scale * scale * VarianceOf(sum.replicates));
}

std::optional<size_t> ModuleFlow::NodeAround(ModuleAddress address) const {
  const auto next =
      std::upper_bound(nodes_.begin(), nodes_.end(), address,
                       [](ModuleAddress a, const Node& node) { return a < node.block.start; });
  if (next == nodes_.begin()) return std::nullopt;
  const auto node = std::prev(next);
  if (!node->block.Contains(address)) return std::nullopt;
  return static_cast<size_t>(node - nodes_.begin());
}

std::optional<size_t> ModuleFlow::NodeAt(ModuleAddress start) const {
  const std::optional<size_t> node = NodeAround(start);
  return node && nodes_[*node].block.start == start ? node : std::nullopt;
}

uint32_t ModuleFlow::AddEdge(uint32_t from, uint32_t to) {
  problem_.edges.push_back({from, to});
  return static_cast<uint32_t>(problem_.edges.size() - 1);
}

void ModuleFlow::MeasureSamples(size_t index) {
  const Node& node = nodes_[index];
  if (!evidence_.observations.has_samples || node.block.instruction_count == 0) return;
  const double length = node.block.instruction_count;
  FlowMeasurement measurement;
  measurement.edge = node.edge;
  measurement.unit = period_.Of(1) / length;
  measurement.min_expected = min_sampled_;
  measurement.relative_error = std::hypot(errors_.ebs + errors_.ebs_skid / length, disagreement_);
  double neighbour = 0;
  if (index > 0) neighbour = SureCount(nodes_[index - 1]);
  if (index + 1 < nodes_.size()) neighbour = std::max(neighbour, SureCount(nodes_[index + 1]));
  measurement.error = errors_.ebs_skid / length * neighbour;
  measurement.value = SampledCount(node);
  measurement.replicates = SampleReplicates(node);
  problem_.measurements.push_back(measurement);
}

ReplicateSums ModuleFlow::SampleReplicates(const Node& node) const {
  ReplicateSums replicates;
  if (node.observed == nullptr) return replicates;
  const double length = std::max(node.block.instruction_count, 1u);
  for (const size_t i : node.observed->counts) {
    const Contribution& contribution = evidence_.contributions[i];
    replicates.Add(AssignReplicates(contribution.samples, Bounded(contribution.period_sum / length),
                                    Bounded(contribution.period_squares / length / length),
                                    SeedOf(evidence_.data.counts[i])));
  }
  return replicates;
}

void ModuleFlow::MeasureStreams(uint32_t edge, const StreamSums& sums, const Node* from,
                                const Node* to) {
  if (!has_streams_) return;
  const auto is_biased = [](const Node* node) {
    return node != nullptr && node->observed != nullptr && IsSuspect(node->observed->bias);
  };
  FlowMeasurement measurement;
  measurement.edge = edge;
  measurement.value = Bounded(evidence_.streams_scale * sums.weights);
  measurement.unit = function_stream_unit_;
  measurement.relative_error =
      is_biased(from) || is_biased(to) ? errors_.biased_streams : errors_.streams;
  measurement.replicates.Add(sums.replicates, evidence_.streams_scale);
  problem_.measurements.push_back(measurement);
}

double ModuleFlow::SampledCount(const Node& node) const {
  if (node.observed == nullptr) return 0;
  double period_sum = 0;
  for (const size_t i : node.observed->counts) {
    period_sum += evidence_.contributions[i].period_sum;
  }
  return Bounded(period_sum / std::max(node.block.instruction_count, 1u));
}

// One sample may be chance.
double ModuleFlow::SureCount(const Node& node) const {
  const double by_one = period_.Of(1) / std::max(node.block.instruction_count, 1u);
  return std::max(SampledCount(node) - by_one, 0.0);
}

double ModuleFlow::CountOf(const Node& node) const {
  if (node.observed == nullptr) return 0;
  return std::max(SampledCount(node),
                  Bounded(evidence_.streams_scale * node.observed->all_streams.weights));
}

// Adds a measurement of 0 with that error.
void ModuleFlow::ExpectLittle(uint32_t edge, const Node& node, double error) {
  FlowMeasurement measurement;
  measurement.edge = edge;
  measurement.unit = UnitOf(node);
  measurement.error = error;
  problem_.measurements.push_back(measurement);
}

// A callee may not return; if it is observed not to, no measurement is added.
void ModuleFlow::AddLeak(size_t call, const Node& behind) {
  const uint32_t edge = AddEdge(Out(call), kGround);
  const double before = CountOf(nodes_[call]);
  if (CountOf(behind) < kComesBack * before) return;
  ExpectLittle(edge, nodes_[call], errors_.leak * before);
}

void ModuleFlow::AddFallThrough(size_t from) {
  const Node& node = nodes_[from];
  const std::optional<ModuleAddress> end = FallThroughOf(node.block);
  if (!end) return;
  const std::optional<size_t> next = NodeAt(*end);
  if (!next) {
    AddEdge(Out(from), kGround);
    return;
  }
  Node& behind = nodes_[*next];
  const uint32_t edge = AddEdge(Out(from), In(*next));
  behind.is_entered = true;
  switch (node.block.terminator) {
    case BranchKind::kCall:
    case BranchKind::kIndirectCall:
      // Branches from elsewhere to the code after a call are returns of the callee.
      MeasureStreams(edge, entered_[*next], &node, &behind);
      entered_.erase(*next);
      AddLeak(from, behind);
      behind.is_behind_call = true;
      break;
    case BranchKind::kSystem:
      MeasureStreams(edge, node.observed ? node.observed->fell_through : StreamSums{}, &node,
                     &behind);
      AddLeak(from, behind);
      behind.is_behind_call = true;
      break;
    default: {
      const StreamSums fell = node.observed ? node.observed->fell_through : StreamSums{};
      behind.is_in_unseen_run = fell.streams == 0;
      // A run whose streams are missing is measured once, however many blocks it has.
      if (behind.is_in_unseen_run && node.is_in_unseen_run) break;
      MeasureStreams(edge, fell, &node, &behind);
    }
  }
}

void ModuleFlow::AddTaken(size_t from) {
  const Node& node = nodes_[from];
  const BranchKind kind = node.block.terminator;
  if (!node.block.falls_through() && kind != BranchKind::kJump) AddEdge(Out(from), kGround);
  if (kind != BranchKind::kConditional && kind != BranchKind::kJump) return;
  std::optional<size_t> target;
  if (const auto address = BranchTargetOf(node.block)) target = NodeAt(*address);
  if (!target) {
    AddEdge(Out(from), kGround);
    return;
  }
  const uint32_t edge = AddEdge(Out(from), In(*target));
  nodes_[*target].is_entered = true;
  MeasureStreams(edge, taken_[{from, *target}], &node, &nodes_[*target]);
  taken_.erase({from, *target});
}

void ModuleFlow::AddEntries(size_t to) {
  const Node& node = nodes_[to];
  const auto observed = entered_.find(to);
  const bool is_expected = to == 0 || !node.is_entered || observed != entered_.end();
  if (is_expected) {
    MeasureStreams(AddEdge(kGround, In(to)),
                   observed != entered_.end() ? observed->second : StreamSums{}, nullptr, &node);
  } else if (node.is_behind_call || has_indirect_jumps_) {
    ExpectLittle(AddEdge(kGround, In(to)), node, errors_.leak * CountOf(node));
  }
}

// Adds streams that fell in from the previous function, or from a block that the function does not
// have.
void ModuleFlow::AddFallenIn(size_t to) {
  const ModuleAddress start = nodes_[to].block.start;
  const auto& blocks = evidence_.observations.blocks;
  auto before = blocks.lower_bound(start);
  if (before == blocks.begin()) return;
  const ObservedBlock& observed = (--before)->second;
  if (observed.block.end != start || NodeAt(observed.block.start)) return;
  if (observed.fell_through.streams != 0) entered_[to].Add(observed.fell_through);
}

void ModuleFlow::MakeGraph() {
  problem_ = {};
  problem_.nodes = static_cast<uint32_t>(2 * nodes_.size() + 1);
  taken_.clear();
  entered_.clear();
  // Streams elsewhere in the module are not evidence about this function.
  has_streams_ = std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.observed != nullptr && !node.observed->streams.empty();
  });
  for (size_t to = 0; to < nodes_.size(); ++to) {
    Node& node = nodes_[to];
    node.edge = AddEdge(In(to), Out(to));
    MeasureSamples(to);
    AddFallenIn(to);
    const auto arrivals = arrivals_.find(node.block.start);
    if (arrivals == arrivals_.end()) continue;
    for (const Arrival& arrival : arrivals->second) {
      std::optional<size_t> from;
      if (arrival.is_from_module) from = NodeAround(arrival.from);
      const bool is_direct = from && BranchTargetOf(nodes_[*from].block) == node.block.start;
      const bool is_indirect = from && nodes_[*from].block.terminator == BranchKind::kIndirectJump;
      if (is_direct || is_indirect) {
        taken_[{*from, to}].Add(arrival.sums);
      } else {
        entered_[to].Add(arrival.sums);
      }
    }
  }
  for (size_t from = 0; from < nodes_.size(); ++from) {
    AddFallThrough(from);
    AddTaken(from);
  }
  // The remaining branches are indirect jumps.
  for (const auto& [ends, sums] : taken_) {
    const auto [from, to] = ends;
    MeasureStreams(AddEdge(Out(from), In(to)), sums, &nodes_[from], &nodes_[to]);
    nodes_[to].is_entered = true;
  }
  for (size_t to = 0; to < nodes_.size(); ++to) AddEntries(to);
}

double ModuleFlow::UnitOf(const Node& node) const {
  if (has_streams_) return function_stream_unit_;
  return period_.Of(1) / std::max(node.block.instruction_count, 1u);
}

void ModuleFlow::Solve() {
  FindFunctionUnit();
  FindMinSampled();
  FindDisagreement();
  MakeGraph();
  const StatusOr<FlowSolution> solution = InferFlow(problem_);
  if (!solution.ok()) {
    CountAsObserved();
    return;
  }
  double unobserved = 0;
  for (const Node& node : nodes_) {
    if (node.observed == nullptr) unobserved += solution->flows[node.edge].count / UnitOf(node);
  }
  for (const Node& node : nodes_) {
    const Flow& flow = solution->flows[node.edge];
    if (node.observed == nullptr && (unobserved < kNegligible || flow.count == 0)) continue;
    combined_.push_back({node.block, flow.count, flow.replicates});
  }
}

// Is used where a graph is too large to solve, or numbers are absurd.
void ModuleFlow::CountAsObserved() {
  for (const Node& node : nodes_) {
    if (node.observed == nullptr) continue;
    CombinedBlock block{node.block, 0, {}};
    if (has_streams_) {
      const StreamSums& streams = node.observed->all_streams;
      block.count = Bounded(evidence_.streams_scale * streams.weights);
      block.replicates.Add(streams.replicates, evidence_.streams_scale);
    } else {
      block.count = SampledCount(node);
      block.replicates = SampleReplicates(node);
    }
    combined_.push_back(block);
  }
}

std::vector<CombinedBlock> ModuleFlow::Combine() {
  FindUnits();
  FindArrivals();
  const auto& blocks = evidence_.observations.blocks;
  for (auto next = blocks.begin(); next != blocks.end();) {
    const auto strays = FindNodes(next->first);
    const ModuleAddress end = std::max(nodes_.back().block.end, next->first + 1);
    Solve();
    for (const ObservedBlock* stray : strays) {
      SetNode(*stray);
      Solve();
    }
    next = blocks.lower_bound(end);
  }
  std::sort(combined_.begin(), combined_.end(), [](const CombinedBlock& a, const CombinedBlock& b) {
    return a.block.start < b.block.start;
  });
  return std::move(combined_);
}

}  // namespace

FlowErrors FlowErrorsOf(const ProfileData& data) {
  FlowErrors errors;
  const bool counts_executions =
      std::all_of(data.counts.begin(), data.counts.end(), [&data](const IpCount& count) {
        return CountsExecutions(SourceFamily::kEbs, data.sources[count.source].event);
      });
  if (!counts_executions) errors.ebs = kClockError;
  return errors;
}

std::vector<CombinedBlock> CombineByFlow(const FlowEvidence& evidence, BlockMap* map,
                                         const FlowErrors& errors) {
  return ModuleFlow(evidence, map, errors).Combine();
}

}  // namespace hbbp
