// FindProfileLoops goes through the functions that have counts. For each, FunctionLoops makes a
// graph of its blocks, with the indirect jumps that were observed (AddObservedJumps), and FindLoops
// (blocks/loop_nest.h) finds its loops. CountByBlocks then computes iterations and entries from the
// counts of edges that blocks determine, CountByStreams from branches and streams, and Describe
// puts both into a LoopRecord. Evidence indexes the branches of the analysis once for all
// functions. lib/capi calls it, and AddMissing for queries with the key "loop".
#include "analysis/profile_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "blocks/function_graph.h"
#include "blocks/loop_nest.h"
#include "estimate/ebs_replicates.h"
#include "estimate/family_choice.h"

namespace hbbp {
namespace {

CountEstimate EstimateOf(const ReplicatedCount& count) {
  return {count.count, count.StandardError()};
}

// Returns the mean number of branches of a burst after which another one is known. It is infinite
// where bursts begin by executions.
double StreamsByBurst(const ProfileData& data) {
  const bool are_by_executions =
      std::all_of(data.sources.begin(), data.sources.end(), [](const SourceRecord& source) {
        const bool is_by_time = source.event == EventKind::kCycles;
        return !HasStreams(source.kind) ||
               (!is_by_time &&
                CountsExecutions(SourceFamily::kStreams, source.event, source.burst_extent));
      });
  uint64_t bursts = 0, streams = 0;
  for (const BranchCount& branch : data.branches) {
    if (branch.stream_end == kNoStream) bursts += branch.number;
    if (branch.HasStream()) streams += branch.number;
  }
  if (are_by_executions || bursts == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(streams) / static_cast<double>(bursts);
}

// Evidence is from the whole analysis.
struct Evidence {
  explicit Evidence(const Analysis& of);
  // Returns indices of the branches to that address.
  std::span<const uint32_t> ArrivalsAt(uint32_t module, ModuleAddress address) const;
  // Returns the branches from there.
  std::span<const TakenBranchRecord> DeparturesFrom(uint32_t module, AddressRange range) const;

  const Analysis& analysis;
  std::vector<ReplicatedCount> counts;  // by block
  std::vector<uint32_t> arrivals;       // indices of branches, by target
  double streams_by_burst;
};

Evidence::Evidence(const Analysis& of)
    : analysis(of), counts(of.blocks().size()), streams_by_burst(StreamsByBurst(of.data())) {
  const std::vector<BlockRecord>& blocks = analysis.blocks();
  for (size_t i = 0; i < blocks.size(); ++i) {
    counts[i] = {blocks[i].estimate.count, blocks[i].replicates};
  }
  const std::vector<Contribution>& samples = analysis.contributions();
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].block == kNoIndex || HasReplicates(blocks[samples[i].block].source)) continue;
    const double length = std::max(blocks[samples[i].block].block.instruction_count, 1u);
    counts[samples[i].block].replicates.Add(AssignReplicates(
        samples[i].samples, samples[i].period_sum / length,
        samples[i].period_squares / length / length, SeedOf(analysis.data().counts[i])));
  }
  const std::vector<TakenBranchRecord>& branches = analysis.branches();
  for (uint32_t i = 0; i < branches.size(); ++i) {
    if (branches[i].to_module != kNoIndex && branches[i].count > 0) arrivals.push_back(i);
  }
  std::sort(arrivals.begin(), arrivals.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(branches[a].to_module, branches[a].to, a) <
           std::tie(branches[b].to_module, branches[b].to, b);
  });
}

std::span<const uint32_t> Evidence::ArrivalsAt(uint32_t module, ModuleAddress address) const {
  const std::vector<TakenBranchRecord>& branches = analysis.branches();
  const auto is_before = [&](uint32_t branch, const std::pair<uint32_t, ModuleAddress>& target) {
    return std::tie(branches[branch].to_module, branches[branch].to) <
           std::tie(target.first, target.second);
  };
  const auto first =
      std::lower_bound(arrivals.begin(), arrivals.end(), std::pair(module, address), is_before);
  const auto end =
      std::lower_bound(first, arrivals.end(), std::pair(module, address + 1), is_before);
  return {first, end};
}

std::span<const TakenBranchRecord> Evidence::DeparturesFrom(uint32_t module,
                                                            AddressRange range) const {
  const std::vector<TakenBranchRecord>& branches = analysis.branches();
  const auto is_before = [](const TakenBranchRecord& branch,
                            const std::pair<uint32_t, ModuleAddress>& source) {
    return std::tie(branch.from_module, branch.from) < std::tie(source.first, source.second);
  };
  const auto first =
      std::lower_bound(branches.begin(), branches.end(), std::pair(module, range.start), is_before);
  const auto end = std::lower_bound(first, branches.end(), std::pair(module, range.end), is_before);
  return {first, end};
}

// Finds the loops of the function (or part) around a block that has a count.
class FunctionLoops {
 public:
  FunctionLoops(const Evidence& evidence, size_t block)
      : evidence_(evidence),
        module_(evidence.analysis.blocks()[block].module),
        function_(evidence.analysis.blocks()[block].function) {
    const ModuleAddress address = evidence.analysis.blocks()[block].block.start;
    blocks_ = evidence.analysis.FunctionBlocks(module_, address);
    if (!FindBlockAt(blocks_, address)) {
      // This happens at the end of the last instruction of the previous window.
      blocks_.clear();
      next_ = block + 1;
      return;
    }
    FindRecords(block);
    graph_ = MakeFunctionGraph(blocks_, evidence.analysis.JumpTables(module_, address));
    AddObservedJumps();
  }

  // Returns the index of the first block with a count that is after the function.
  size_t next() const { return next_; }

  void AppendTo(ProfileLoops* all) {
    if (blocks_.empty()) return;
    const uint32_t first_block = 0;
    nest_ = FindLoops(graph_.nodes, graph_.edges, std::span(&first_block, 1));
    if (nest_.loops.empty()) return;
    CountInstructions();
    if (std::all_of(is_executed_.begin(), is_executed_.end(), [](bool is) { return !is; })) return;
    CountByBlocks();
    CountByStreams();
    std::vector<uint32_t> indices(nest_.loops.size(), kNoIndex);
    for (uint32_t i = 0; i < nest_.loops.size(); ++i) {
      if (!is_executed_[i]) continue;
      indices[i] = static_cast<uint32_t>(all->loops.size());
      LoopRecord record = Describe(i);
      if (nest_.loops[i].parent != kNoLoop) record.parent = indices[nest_.loops[i].parent];
      all->loops.push_back(record);
    }
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (records_[i] == kNoIndex || nest_.innermost[i] == kNoLoop) continue;
      all->innermost[records_[i]] = indices[nest_.innermost[i]];
    }
  }

 private:
  void FindRecords(size_t block) {
    const std::vector<BlockRecord>& counted = evidence_.analysis.blocks();
    records_.assign(blocks_.size(), kNoIndex);
    for (; block > 0; --block) {
      const BlockRecord& before = counted[block - 1];
      if (before.module != module_ || before.block.start < blocks_.front().start) break;
    }
    for (next_ = block; next_ < counted.size(); ++next_) {
      const BlockRecord& record = counted[next_];
      if (record.module != module_ || record.block.start >= blocks_.back().end) break;
      if (const auto node = FindBlockAt(blocks_, record.block.start)) {
        records_[*node] = static_cast<uint32_t>(next_);
      }
    }
  }

  // Returns the block of the function that a branch to `to` came from, or nothing if it came from
  // outside. A branch from elsewhere to the code after a call is the return of the callee.
  std::optional<uint32_t> FindOrigin(const TakenBranchRecord& branch, uint32_t to) const {
    const ModuleAddress target = blocks_[to].start;
    std::optional<uint32_t> from;
    if (branch.from_module == module_) from = FindBlockAround(blocks_, branch.from);
    if (from) {
      const Block& block = blocks_[*from];
      if (block.terminator == BranchKind::kIndirectJump || BranchTargetOf(block) == target) {
        return from;
      }
    }
    if (to == 0 || blocks_[to - 1].end != target) return std::nullopt;
    const BranchKind before = blocks_[to - 1].terminator;
    const bool is_call = before == BranchKind::kCall || before == BranchKind::kIndirectCall;
    return is_call ? std::optional(to - 1) : std::nullopt;
  }

  // Adds jumps through pointers, and what is missing of tables: those that could not be read, or
  // not to their end.
  void AddObservedJumps() {
    std::set<std::pair<uint32_t, uint32_t>> edges;
    std::vector<std::vector<uint32_t>> tables(blocks_.size());
    for (const GraphEdge& edge : graph_.edges) {
      edges.emplace(edge.from, edge.to);
      const bool is_of_jump = edge.from < blocks_.size() && edge.to >= blocks_.size();
      if (is_of_jump) tables[edge.from].push_back(edge.to);
    }
    const auto is_known = [&](uint32_t from, uint32_t to) {
      return edges.contains({from, to}) ||
             std::any_of(tables[from].begin(), tables[from].end(), [&](uint32_t table) {
               return edges.contains({table, to});
             });
    };
    is_entered_.assign(blocks_.size(), false);
    for (uint32_t to = 0; to < blocks_.size(); ++to) {
      std::vector<uint32_t> sources;
      for (const uint32_t i : evidence_.ArrivalsAt(module_, blocks_[to].start)) {
        const auto from = FindOrigin(evidence_.analysis.branches()[i], to);
        if (!from) {
          is_entered_[to] = true;
        } else if (blocks_[*from].terminator == BranchKind::kIndirectJump && !is_known(*from, to)) {
          sources.push_back(*from);
        }
      }
      std::sort(sources.begin(), sources.end());
      sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
      for (const uint32_t from : sources) graph_.edges.push_back({from, to});
    }
  }

  void CountInstructions() {
    own_.resize(nest_.loops.size());
    blocks_in_.resize(nest_.loops.size());
    is_executed_.resize(nest_.loops.size());
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const uint32_t loop = nest_.innermost[i];
      if (loop == kNoLoop) continue;
      ++blocks_in_[loop];
      if (records_[i] == kNoIndex) continue;
      own_[loop].Add(evidence_.counts[records_[i]], blocks_[i].instruction_count);
      is_executed_[loop] = true;
    }
    all_ = own_;
    for (size_t i = nest_.loops.size(); i-- > 0;) {
      const uint32_t parent = nest_.loops[i].parent;
      if (parent == kNoLoop) continue;
      all_[parent].Add(all_[i]);
      blocks_in_[parent] += blocks_in_[i];
      if (is_executed_[i]) is_executed_[parent] = true;
    }
  }

  // Computes what the counts of blocks determine about edges.
  void CountByBlocks() {
    std::vector<bool> has_predecessor(graph_.nodes);
    for (const GraphEdge& edge : graph_.edges) {
      edges_.push_back({edge.from, edge.to});
      has_predecessor[edge.to] = true;
    }
    for (uint32_t node = 0; node < graph_.nodes; ++node) {
      const bool is_block = node < blocks_.size();
      const bool is_entered = is_block && (node == 0 || is_entered_[node]);
      if (is_entered || !has_predecessor[node]) edges_.push_back({kNoNode, node});
      if (graph_.leaves[node]) edges_.push_back({node, kNoNode});
    }
    std::vector<std::optional<ReplicatedCount>> counts(graph_.nodes);
    for (size_t i = 0; i < blocks_.size(); ++i) {
      counts[i] = records_[i] == kNoIndex ? ReplicatedCount{} : evidence_.counts[records_[i]];
    }
    const auto edge_counts = CountEdges(counts, edges_);
    into_header_.resize(nest_.loops.size());
    exits_.resize(nest_.loops.size());
    std::vector<uint32_t> natural_at(graph_.nodes, kNoLoop);
    for (uint32_t i = 0; i < nest_.loops.size(); ++i) {
      if (!nest_.loops[i].is_irreducible) natural_at[nest_.loops[i].header] = i;
    }
    const auto loop_of = [this](uint32_t node) {
      return node == kNoNode ? kNoLoop : nest_.innermost[node];
    };
    for (size_t i = 0; i < edges_.size(); ++i) {
      const auto [from, to] = edges_[i];
      const uint32_t loop = to == kNoNode ? kNoLoop : natural_at[to];
      if (loop != kNoLoop) {
        const bool is_back = nest_.IsWithin(loop_of(from), loop);
        (is_back ? into_header_[loop].back : into_header_[loop].entries).Add(edge_counts[i], 1);
      }
      // The edge leaves all loops from here outward up to the one that it stays in.
      const uint32_t common = nest_.Common(loop_of(from), loop_of(to));
      if (loop_of(from) != kNoLoop) exits_[loop_of(from)].Add(edge_counts[i], 1);
      if (common != kNoLoop) exits_[common].Add(edge_counts[i], -1);
    }
    for (size_t i = nest_.loops.size(); i-- > 0;) {
      const uint32_t parent = nest_.loops[i].parent;
      if (parent != kNoLoop) exits_[parent].Add(exits_[i]);
    }
  }

  // Counts the streams that leave loops, and those that begin in each.
  void CountByStreams() {
    seen_.resize(nest_.loops.size());
    for (uint32_t i = 0; i < blocks_.size(); ++i) {
      if (nest_.innermost[i] == kNoLoop) continue;
      SeenOfLoop& seen = seen_[nest_.innermost[i]];
      for (const uint32_t arrival : evidence_.ArrivalsAt(module_, blocks_[i].start)) {
        seen.streams += evidence_.analysis.branches()[arrival].count;
      }
      if (records_[i] == kNoIndex) continue;
      const BlockRecord& record = evidence_.analysis.blocks()[records_[i]];
      const BranchKind last = blocks_[i].terminator;
      seen.has_calls |= record.estimate.count > 0 &&
                        (last == BranchKind::kCall || last == BranchKind::kIndirectCall);
      if (i + 1 < blocks_.size() && FallThroughOf(blocks_[i]) == blocks_[i + 1].start) {
        AddExit(i, i + 1, {record.fell_through.weights, record.fell_through.replicates});
      }
    }
    const AddressRange code = {blocks_.front().start, blocks_.back().end};
    for (const TakenBranchRecord& branch : evidence_.DeparturesFrom(module_, code)) {
      const auto from = FindBlockAround(blocks_, branch.from);
      if (from && branch.count > 0) AddTaken(*from, branch);
    }
    for (size_t i = nest_.loops.size(); i-- > 0;) {
      const uint32_t parent = nest_.loops[i].parent;
      if (parent == kNoLoop) continue;
      seen_[parent].exits.Add(seen_[i].exits);
      seen_[parent].streams += seen_[i].streams;
      seen_[parent].has_calls |= seen_[i].has_calls;
    }
  }

  void AddTaken(uint32_t from, const TakenBranchRecord& branch) {
    const Block& block = blocks_[from];
    std::optional<uint32_t> to;
    if (branch.to_module == module_) to = FindBlockAt(blocks_, branch.to);
    switch (block.terminator) {
      case BranchKind::kReturn:
        to.reset();
        break;
      case BranchKind::kIndirectJump:
        break;
      default:
        // Callees return, and so do interrupts.
        if (branch.to_module != module_ || BranchTargetOf(block) != branch.to) return;
    }
    AddExit(from, to.value_or(kNoNode), {branch.count, branch.replicates});
  }

  // Adds an exit from all loops around `from` up to the one that it stays in.
  void AddExit(uint32_t from, uint32_t to, const ReplicatedCount& count) {
    const uint32_t innermost = nest_.innermost[from];
    if (innermost == kNoLoop) return;
    const uint32_t common = nest_.Common(innermost, to == kNoNode ? kNoLoop : nest_.innermost[to]);
    seen_[innermost].exits.Add(count);
    if (common != kNoLoop) seen_[common].exits.Add(count, -1);
  }

  LoopRecord Describe(uint32_t index) const {
    const NestedLoop& loop = nest_.loops[index];
    LoopRecord record;
    record.module = module_;
    record.function = function_;
    record.depth = loop.depth;
    record.blocks = blocks_in_[index];
    // The header may be a jump table that several jumps share, none of whose targets is special.
    record.is_irreducible = loop.is_irreducible || loop.header >= blocks_.size();
    record.instructions = EstimateOf(all_[index]);
    record.own_instructions = EstimateOf(own_[index]);
    if (record.is_irreducible) {
      record.header = blocks_[FirstBlockOf(index)].start;
      return record;
    }
    record.header = blocks_[loop.header].start;
    const uint32_t header = records_[loop.header];
    if (header == kNoIndex) return record;
    const ReplicatedCount& iterations = evidence_.counts[header];
    record.iterations = EstimateOf(iterations);
    const TripCount by_branches = FindTripsByBranches(index);
    record.trips_by_branches = by_branches.trips;
    const ReplicatedCount by_counts = FindTripsByCounts(index, iterations, &record);
    if (!(record.trips().value > 0)) return record;
    const bool is_by_branches = record.trips_by_branches.value > 0;
    const ReplicatedCount& entries = is_by_branches ? by_branches.divisor : by_counts;
    record.entries.count = iterations.count / record.trips().value;
    record.entries.standard_error = entries.StandardError() * record.entries.count / entries.count;
    return record;
  }

  uint32_t FirstBlockOf(uint32_t loop) const {
    const uint32_t header = nest_.loops[loop].header;
    if (header < blocks_.size()) return header;
    for (const GraphEdge& edge : graph_.edges) {
      if (edge.from == header && nest_.IsWithin(nest_.innermost[edge.to], loop)) return edge.to;
    }
    return 0;
  }

  TripCount FindTripsByBranches(uint32_t loop) const {
    const uint32_t header = nest_.loops[loop].header;
    LoopFlow flow;
    const auto add = [&](std::optional<uint32_t> from, const ReplicatedCount& count) {
      const bool is_back = from && nest_.IsWithin(nest_.innermost[*from], loop);
      flow.iterations.Add(count);
      if (!is_back) flow.entries.Add(count);
    };
    for (const uint32_t i : evidence_.ArrivalsAt(module_, blocks_[header].start)) {
      const TakenBranchRecord& branch = evidence_.analysis.branches()[i];
      add(FindOrigin(branch, header), {branch.count, branch.replicates});
    }
    if (header > 0 && FallThroughOf(blocks_[header - 1]) == blocks_[header].start &&
        records_[header - 1] != kNoIndex) {
      const BlockRecord& before = evidence_.analysis.blocks()[records_[header - 1]];
      add(header - 1, {before.fell_through.weights, before.fell_through.replicates});
    }
    const SeenOfLoop& seen = seen_[loop];
    flow.exits = seen.exits;
    flow.has_calls = seen.has_calls;
    flow.iterations_by_burst =
        seen.streams > 0 ? evidence_.streams_by_burst * flow.iterations.count / seen.streams : 0;
    return CountTrips(flow);
  }

  ReplicatedCount FindTripsByCounts(uint32_t loop, const ReplicatedCount& iterations,
                                    LoopRecord* record) const {
    const IntoHeader& into = into_header_[loop];
    ReplicatedCount entries;
    if (into.entries.unknown == 0) {
      entries = into.entries.sum;
    } else if (into.back.unknown == 0) {
      entries = iterations;
      entries.Add(into.back.sum, -1);
    } else if (exits_[loop].unknown == 0) {
      entries = exits_[loop].sum;
    }
    record->trips_by_counts = WithImbalance(ComputeRatio(iterations, entries), loop, entries);
    return entries;
  }

  // A loop is left as often as it is entered. If counts differ beyond chance, the trip count is
  // wrong by about as much, because of bursts that begin in a slow loop and end before it does.
  Ratio WithImbalance(Ratio trips, uint32_t loop, const ReplicatedCount& entries) const {
    if (exits_[loop].unknown != 0 || !(entries.count > 0)) return trips;
    ReplicatedCount difference = exits_[loop].sum;
    difference.Add(entries, -1);
    const double bias = std::max(std::abs(difference.count) - difference.StandardError(), 0.0);
    trips.standard_error = std::hypot(trips.standard_error, trips.value * bias / entries.count);
    return trips;
  }

  struct PartlyKnown {
    ReplicatedCount sum;
    int64_t unknown = 0;  // number of edges

    void Add(const std::optional<ReplicatedCount>& count, int sign) {
      if (count) {
        sum.Add(*count, sign);
      } else {
        unknown += sign;
      }
    }
    void Add(const PartlyKnown& more) {
      sum.Add(more.sum);
      unknown += more.unknown;
    }
  };
  struct IntoHeader {
    PartlyKnown entries;
    PartlyKnown back;
  };
  struct SeenOfLoop {
    ReplicatedCount exits;
    double streams = 0;
    bool has_calls = false;
  };

  const Evidence& evidence_;
  const uint32_t module_;
  const uint32_t function_;
  size_t next_ = 0;
  std::vector<Block> blocks_;
  std::vector<uint32_t> records_;  // by block: its index in the profile
  std::vector<bool> is_entered_;   // by block: was observed to be entered from outside
  FunctionGraph graph_;
  LoopNest nest_;
  std::vector<CountedEdge> edges_;
  // These are by loop.
  std::vector<ReplicatedCount> own_, all_;  // instructions
  std::vector<uint32_t> blocks_in_;
  std::vector<bool> is_executed_;
  std::vector<IntoHeader> into_header_;
  std::vector<PartlyKnown> exits_;
  std::vector<SeenOfLoop> seen_;
};

}  // namespace

ProfileLoops FindProfileLoops(const Analysis& analysis, const Work& work) {
  WorkMeter meter(work, analysis.blocks().size());
  const Evidence evidence(analysis);
  ProfileLoops all;
  all.innermost.assign(analysis.blocks().size(), kNoIndex);
  for (size_t next = 0; next < analysis.blocks().size();) {
    FunctionLoops function(evidence, next);
    function.AppendTo(&all);
    const size_t end = std::max(next + 1, function.next());
    meter.AdvanceOrThrow(end - next);
    next = end;
  }
  return all;
}

}  // namespace hbbp
