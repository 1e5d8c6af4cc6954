#include "export/call_costs.h"

#include <algorithm>

namespace hbbp {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// The arcs of each function, as indices of all arcs.
class ArcsByCaller {
 public:
  ArcsByCaller(size_t functions, std::span<const CallArc> arcs)
      : first_(functions + 1), arcs_(arcs.size()) {
    for (const CallArc& arc : arcs) ++first_[arc.caller + 1];
    for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    std::vector<size_t> next(first_.begin(), first_.end() - 1);
    for (size_t i = 0; i < arcs.size(); ++i) arcs_[next[arcs[i].caller]++] = i;
  }

  std::span<const size_t> Of(uint32_t function) const {
    return std::span(arcs_).subspan(first_[function], first_[function + 1] - first_[function]);
  }

 private:
  std::vector<size_t> first_;
  std::vector<size_t> arcs_;
};

// Tarjan's algorithm, without recursion.
class CycleFinder {
 public:
  CycleFinder(size_t functions, std::span<const CallArc> arcs)
      : arcs_(arcs),
        by_caller_(functions, arcs),
        order_(functions, kNone),
        lowest_(functions),
        cycles_(functions, kNone) {}

  std::vector<uint32_t> Find() {
    for (uint32_t function = 0; function < order_.size(); ++function) {
      if (order_[function] == kNone) Visit(function);
    }
    return std::move(cycles_);
  }

 private:
  struct Step {
    uint32_t function;
    size_t next_arc;  // of the function
  };

  void Visit(uint32_t start) {
    Enter(start);
    while (!path_.empty()) {
      Step& step = path_.back();
      const uint32_t function = step.function;
      const std::span<const size_t> arcs = by_caller_.Of(function);
      if (step.next_arc < arcs.size()) {
        const uint32_t callee = arcs_[arcs[step.next_arc++]].callee;
        if (order_[callee] == kNone) {
          Enter(callee);
        } else if (cycles_[callee] == kNone) {
          lowest_[function] = std::min(lowest_[function], order_[callee]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) {
        uint32_t& of_caller = lowest_[path_.back().function];
        of_caller = std::min(of_caller, lowest_[function]);
      }
      if (lowest_[function] == order_[function]) CloseCycle(function);
    }
  }

  void Enter(uint32_t function) {
    order_[function] = lowest_[function] = entered_++;
    open_.push_back(function);
    path_.push_back({function, 0});
  }

  void CloseCycle(uint32_t first) {
    uint32_t function;
    do {
      function = open_.back();
      open_.pop_back();
      cycles_[function] = closed_;
    } while (function != first);
    ++closed_;
  }

  const std::span<const CallArc> arcs_;
  const ArcsByCaller by_caller_;
  std::vector<uint32_t> order_;   // in which functions were entered
  std::vector<uint32_t> lowest_;  // the first one in `open_` that is reached
  std::vector<uint32_t> cycles_;
  std::vector<uint32_t> open_;
  std::vector<Step> path_;
  uint32_t entered_ = 0;
  uint32_t closed_ = 0;
};

}  // namespace

std::vector<uint32_t> FindCycles(size_t functions, std::span<const CallArc> arcs) {
  return CycleFinder(functions, arcs).Find();
}

void ShareCosts(std::span<const double> own, std::span<const double> unknown_calls,
                std::span<CallArc> arcs) {
  const std::vector<uint32_t> cycles = FindCycles(own.size(), arcs);
  std::vector<double> costs(own.size());  // by cycle, as the next one
  std::vector<double> calls(own.size());
  for (size_t i = 0; i < own.size(); ++i) {
    costs[cycles[i]] += own[i];
    calls[cycles[i]] += unknown_calls[i];
  }
  std::vector<CallArc*> between;
  for (CallArc& arc : arcs) {
    arc.cost = 0;
    if (cycles[arc.caller] == cycles[arc.callee]) continue;
    calls[cycles[arc.callee]] += arc.calls;
    between.push_back(&arc);
  }
  // The cost of a callee is complete before it is shared: cycles that it calls come first.
  std::stable_sort(between.begin(), between.end(), [&](const CallArc* a, const CallArc* b) {
    return cycles[a->callee] < cycles[b->callee];
  });
  for (CallArc* const arc : between) {
    const uint32_t callee = cycles[arc->callee];
    arc->cost = costs[callee] * arc->calls / calls[callee];
    costs[cycles[arc->caller]] += arc->cost;
  }
}

}  // namespace hbbp
