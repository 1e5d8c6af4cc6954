#include "report_loops.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace hbbp::tools {
namespace {

// An unknown number is 0.
double TripsOf(const hbbp_loop& loop) {
  return loop.trip_basis == HBBP_TRIPS_UNKNOWN ? std::numeric_limits<double>::quiet_NaN()
                                               : loop.trip_count;
}

double TripsErrorOf(const hbbp_loop& loop) {
  return loop.trip_basis == HBBP_TRIPS_UNKNOWN ? std::numeric_limits<double>::quiet_NaN()
                                               : loop.trip_count_error;
}

}  // namespace

void ReadLoops(const hbbp::analysis& analysis, const std::vector<uint32_t>& listed, Report* report,
               std::vector<uint32_t>* loop_of_block) {
  const hbbp::loops found = analysis.find_loops();
  const std::vector<hbbp_loop> loops = found.list();
  report->loop_count = loops.size();
  *loop_of_block = found.of_blocks(analysis.block_count());

  std::vector<uint32_t> order(loops.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return loops[a].instructions > loops[b].instructions;
  });
  order.resize(std::min(order.size(), kReportLoops));
  std::vector<uint32_t> index(loops.size(), kNotListed);
  for (uint32_t i = 0; i < order.size(); ++i) index[order[i]] = i;
  const auto index_of = [&](uint32_t loop) {
    return loop < index.size() ? index[loop] : kNotListed;
  };
  for (const uint32_t at : order) {
    const hbbp_loop& loop = loops[at];
    report->loops.push_back(
        {loop.module, loop.function < listed.size() ? listed[loop.function] : kNotListed,
         loop.header, loop.depth, index_of(loop.parent), loop.blocks, loop.entries, loop.iterations,
         TripsOf(loop), TripsErrorOf(loop), loop.instructions, loop.instructions_error,
         (loop.flags & HBBP_LOOP_IRREDUCIBLE) != 0});
  }
  for (uint32_t& loop : *loop_of_block) {
    while (loop < loops.size() && index[loop] == kNotListed) loop = loops[loop].parent;
    loop = index_of(loop);
  }
}

}  // namespace hbbp::tools
