#include "report_loops.h"

#include <hbbp/loops.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace hbbp::tools {
namespace {

// What is not known is 0.
double TripsOf(const hbbp_loop& loop) {
  return loop.trip_basis == HBBP_TRIPS_UNKNOWN ? std::numeric_limits<double>::quiet_NaN()
                                               : loop.trip_count;
}

double TripsErrorOf(const hbbp_loop& loop) {
  return loop.trip_basis == HBBP_TRIPS_UNKNOWN ? std::numeric_limits<double>::quiet_NaN()
                                               : loop.trip_count_error;
}

}  // namespace

Status ReadLoops(const hbbp_profile* profile, const std::vector<uint32_t>& listed, Report* report,
                 std::vector<uint32_t>* loop_of_block) {
  HBBP_INIT(hbbp_error, error);
  std::vector<hbbp_loop> loops(hbbp_profile_loop_count(profile));
  report->loop_count = loops.size();
  loop_of_block->assign(hbbp_profile_block_count(profile), kNotListed);
  if (loops.empty()) return Status();
  size_t copied = 0;
  if (hbbp_profile_copy_loops(profile, 0, loops.size(), sizeof(hbbp_loop), loops.data(), &copied,
                              &error) != HBBP_OK) {
    return ToStatus(error);
  }
  if (hbbp_profile_copy_loops_of_blocks(profile, 0, loop_of_block->size(), loop_of_block->data(),
                                        &copied, &error) != HBBP_OK) {
    return ToStatus(error);
  }

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
  return Status();
}

}  // namespace hbbp::tools
