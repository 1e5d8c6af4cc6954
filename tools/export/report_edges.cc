// ReadEdges goes through the listed functions. For each, FunctionEdges finds where control may go
// from the end of every block that ran, weighs that by the branches that were observed, and lets
// CountEdges (edge_counts.h) count it. report_reader.cc calls it.
#include "report_edges.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "edge_counts.h"

namespace hbbp::tools {
namespace {

using ModuleAddress = std::pair<uint32_t, uint64_t>;

constexpr char kNext[] = "next";
constexpr char kCall[] = "call";
constexpr char kBranch[] = "branch";
constexpr char kIndirect[] = "indirect";

bool IsByStreams(const hbbp_block& block) {
  return block.source == HBBP_SOURCE_SWBT || block.source == HBBP_SOURCE_LBR;
}

// Branches by where they come from, and by where they lead.
class Branches {
 public:
  explicit Branches(std::vector<hbbp_branch> branches) : branches_(std::move(branches)) {
    for (const hbbp_branch& branch : branches_) {
      arrivals_[{branch.to_module, branch.to}].push_back(&branch);
    }
  }

  bool empty() const { return branches_.empty(); }

  std::vector<const hbbp_branch*> From(uint32_t module, uint64_t address) const {
    const auto is_before = [](const hbbp_branch& branch, const ModuleAddress& key) {
      return ModuleAddress(branch.from_module, branch.from) < key;
    };
    std::vector<const hbbp_branch*> found;
    for (auto it = std::lower_bound(branches_.begin(), branches_.end(),
                                    ModuleAddress(module, address), is_before);
         it != branches_.end() && it->from_module == module && it->from == address; ++it) {
      found.push_back(&*it);
    }
    return found;
  }

  const std::vector<const hbbp_branch*>& To(uint32_t module, uint64_t address) const {
    static const std::vector<const hbbp_branch*> kNone;
    const auto found = arrivals_.find({module, address});
    return found == arrivals_.end() ? kNone : found->second;
  }

 private:
  const std::vector<hbbp_branch> branches_;
  std::map<ModuleAddress, std::vector<const hbbp_branch*>> arrivals_;
};

class FunctionEdges {
 public:
  FunctionEdges(const hbbp::analysis& analysis, const Branches& branches,
                const ReportFunction& function, std::vector<const hbbp_block*> blocks)
      : analysis_(analysis), branches_(branches), function_(function), blocks_(std::move(blocks)) {
    for (uint32_t i = 0; i < blocks_.size(); ++i) index_.emplace(blocks_[i]->start, i);
    for (uint32_t i = 0; i < blocks_.size(); ++i) AddWaysOf(i);
    AddEntries();
    std::vector<double> counts;
    for (const hbbp_block* block : blocks_) counts.push_back(block->count);
    counts_ = CountEdges(counts, edges_);
  }

  // `listed` has the index in the report of each block, or kNotListed.
  void AppendTo(std::vector<ReportEdge>* edges, const std::vector<uint32_t>& listed) const {
    for (size_t i = 0; i < edges_.size(); ++i) {
      const auto& [from, to, weight] = edges_[i];
      if (from == kOutsideFunction || to == kOutsideFunction) continue;
      if (listed[from] == kNotListed || listed[to] == kNotListed) continue;
      edges->push_back({listed[from], listed[to], kinds_[i], counts_[i]});
    }
  }

 private:
  std::optional<hbbp_disassembly> LastInstruction(const hbbp_block& block) const {
    for (uint64_t address = block.start; address < block.end;) {
      const auto instruction = analysis_.try_decode(block.module, address);
      if (!instruction || instruction->length == 0) break;
      const uint64_t next = address + instruction->length;
      if (next >= block.end) return analysis_.try_disassemble(block.module, address);
      address = next;
    }
    return std::nullopt;
  }

  std::optional<uint32_t> BlockAt(uint64_t address) const {
    const auto found = index_.find(address);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }

  // Nothing goes to a block of the function that did not run.
  void AddWay(uint32_t from, uint64_t to, const char* kind, double weight) {
    const auto block = BlockAt(to);
    if (!block && to >= function_.start && to < function_.end) return;
    edges_.push_back({from, block.value_or(kOutsideFunction), weight});
    kinds_.emplace_back(kind);
  }

  void AddWaysOf(uint32_t index) {
    const hbbp_block& block = *blocks_[index];
    const auto last = LastInstruction(block);
    if (!last) return;
    switch (last->flow) {
      case HBBP_FLOW_CONDITIONAL: {
        const double next = WeightOfNext(block, *last);
        AddWay(index, last->target, kBranch, block.count - next);
        AddWay(index, block.end, kNext, next);
        break;
      }
      case HBBP_FLOW_JUMP:
        AddWay(index, last->target, kBranch, kUnknownCount);
        break;
      case HBBP_FLOW_INDIRECT_JUMP:
        for (const hbbp_branch* branch : branches_.From(block.module, last->address)) {
          if (branch->to_module == block.module) {
            AddWay(index, branch->to, kIndirect, branch->count);
          } else {
            edges_.push_back({index, kOutsideFunction, branch->count});
            kinds_.emplace_back(kIndirect);
          }
        }
        break;
      case HBBP_FLOW_CALL:
      case HBBP_FLOW_INDIRECT_CALL:
        after_calls_.push_back(block.end);
        AddWay(index, block.end, kCall, kUnknownCount);
        break;
      case HBBP_FLOW_RETURN:
      case HBBP_FLOW_TRAP:
        break;
      default:
        AddWay(index, block.end, kNext, kUnknownCount);
    }
  }

  // Returns how often the block was left without its branch, kUnknownCount if only samples of
  // addresses know of it. Streams that cross the end of the block are what comes to the next one
  // and does not begin there; the last branch of a burst is not followed by a stream, so that
  // counts of taken branches are a little too low.
  double WeightOfNext(const hbbp_block& block, const hbbp_disassembly& last) const {
    if (branches_.empty() || !IsByStreams(block)) return kUnknownCount;
    const auto next = BlockAt(block.end);
    if (!next && block.end >= function_.start && block.end < function_.end) return 0;
    double crossed = block.count;
    if (next && IsByStreams(*blocks_[*next])) {
      crossed = blocks_[*next]->count;
      for (const hbbp_branch* branch : branches_.To(block.module, block.end)) {
        crossed -= branch->count;
      }
    } else {
      for (const hbbp_branch* branch : branches_.From(block.module, last.address)) {
        crossed -= branch->count;
      }
    }
    return std::clamp(crossed, 0.0, block.count);
  }

  // Control comes from elsewhere to the start, to what nothing else leads to, and to targets of
  // branches that were observed to come from elsewhere, unless they return.
  void AddEntries() {
    std::vector<bool> is_reached(blocks_.size());
    for (const WeightedEdge& edge : edges_) {
      if (edge.to != kOutsideFunction) is_reached[edge.to] = true;
    }
    for (uint32_t i = 0; i < blocks_.size(); ++i) {
      const uint64_t start = blocks_[i]->start;
      if (start == function_.start || !is_reached[i] || IsEnteredAt(start)) {
        edges_.push_back({kOutsideFunction, i, kUnknownCount});
        kinds_.emplace_back();
      }
    }
  }

  bool IsEnteredAt(uint64_t start) const {
    if (std::find(after_calls_.begin(), after_calls_.end(), start) != after_calls_.end()) {
      return false;
    }
    const auto& arrivals = branches_.To(function_.module, start);
    return std::any_of(arrivals.begin(), arrivals.end(), [&](const hbbp_branch* branch) {
      return branch->from_module != function_.module || branch->from < function_.start ||
             branch->from >= function_.end;
    });
  }

  const hbbp::analysis& analysis_;
  const Branches& branches_;
  const ReportFunction& function_;
  const std::vector<const hbbp_block*> blocks_;
  std::unordered_map<uint64_t, uint32_t> index_;  // by start
  std::vector<uint64_t> after_calls_;             // ends of blocks that call
  std::vector<WeightedEdge> edges_;
  std::vector<std::string> kinds_;  // by edge
  std::vector<double> counts_;      // by edge
};

}  // namespace

void ReadEdges(const hbbp::analysis& analysis, const std::vector<uint32_t>& listed_functions,
               const std::vector<uint32_t>& listed_blocks, Report* report) {
  const std::vector<hbbp_block> blocks = analysis.blocks();
  const Branches branches(analysis.branches());
  struct Function {
    std::vector<const hbbp_block*> blocks;
    std::vector<uint32_t> listed;
  };
  std::vector<Function> functions(report->functions.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].function >= listed_functions.size()) continue;
    const uint32_t function = listed_functions[blocks[i].function];
    if (function == kNotListed) continue;
    functions[function].blocks.push_back(&blocks[i]);
    functions[function].listed.push_back(listed_blocks[i]);
  }
  for (size_t i = 0; i < functions.size(); ++i) {
    auto& [blocks_of_function, listed] = functions[i];
    FunctionEdges(analysis, branches, report->functions[i], std::move(blocks_of_function))
        .AppendTo(&report->edges, listed);
  }
}

}  // namespace hbbp::tools
