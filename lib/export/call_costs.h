// ShareCosts estimates what calls cost, from what functions execute themselves and from who calls
// whom how often.
//
// It does what gprof does (Graham, Kessler and McKusick: "gprof: a call graph execution profiler",
// 1982): a function costs what it executes itself, and what its calls cost. All calls of a function
// are taken to cost the same, so that its cost is shared among its callers in proportion to their
// calls.
//
//   f executes 1000 instructions itself, and calls h, which costs 200 then; 30 calls of f are from
//   g, 10 from main: f costs 1200, and the calls 900 and 300
//
// Functions that call each other in a circle are a cycle, which costs what its members execute
// themselves and what they call outside of it. The calls from outside share all of that, in
// proportion to their number, whichever member they call. Calls inside of a cycle, such as those of
// a function by itself, cost nothing: they are a part of those from outside.
#ifndef HBBP_LIB_EXPORT_CALL_COSTS_H_
#define HBBP_LIB_EXPORT_CALL_COSTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hbbp {

struct CallArc {
  uint32_t caller = 0;  // functions are numbered from 0 on
  uint32_t callee = 0;
  double calls = 0;
  double cost = 0;
};

// Returns the number of its cycle for each function: functions have the same one if they call each
// other, directly or not. Callees have lower ones than their callers.
std::vector<uint32_t> FindCycles(size_t functions, std::span<const CallArc> arcs);

// Sets the costs of the arcs, of which there may be several from one function to another. `own` is
// what functions execute themselves; `unknown_calls` are those calls of each that no arc is for,
// which have their share of the cost.
void ShareCosts(std::span<const double> own, std::span<const double> unknown_calls,
                std::span<CallArc> arcs);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_CALL_COSTS_H_
