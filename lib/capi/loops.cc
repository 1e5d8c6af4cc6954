#include <hbbp/loops.h>

#include <algorithm>
#include <vector>

#include "capi/analysis_handle.h"
#include "capi/boundary.h"
#include "capi/host_handle.h"

using hbbp::LoopRecord;
using hbbp::OkStatus;
using hbbp::Status;

static_assert(HBBP_NO_INDEX == hbbp::kNoIndex);

using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

struct hbbp_loops {
  std::shared_ptr<const hbbp::ProfileLoops> found;
};

namespace {

hbbp_trip_basis BasisOf(const LoopRecord& record) {
  if (record.trips_by_branches.value > 0) return HBBP_TRIPS_BY_BRANCHES;
  return record.trips_by_counts.value > 0 ? HBBP_TRIPS_BY_COUNTS : HBBP_TRIPS_UNKNOWN;
}

hbbp_loop LoopOf(const LoopRecord& record) {
  HBBP_INIT(hbbp_loop, loop);
  loop.module = record.module;
  loop.function = record.function;
  loop.parent = record.parent;
  loop.depth = record.depth;
  loop.flags = record.is_irreducible ? HBBP_LOOP_IRREDUCIBLE : 0;
  loop.blocks = record.blocks;
  loop.trip_basis = BasisOf(record);
  loop.header = record.header.value;
  loop.entries = record.entries.count;
  loop.entries_error = record.entries.standard_error;
  loop.iterations = record.iterations.count;
  loop.iterations_error = record.iterations.standard_error;
  loop.trip_count = record.trips().value;
  loop.trip_count_error = record.trips().standard_error;
  loop.trip_count_by_branches = record.trips_by_branches.value;
  loop.trip_count_by_branches_error = record.trips_by_branches.standard_error;
  loop.trip_count_by_counts = record.trips_by_counts.value;
  loop.trip_count_by_counts_error = record.trips_by_counts.standard_error;
  loop.instructions = record.instructions.count;
  loop.instructions_error = record.instructions.standard_error;
  loop.own_instructions = record.own_instructions.count;
  loop.own_instructions_error = record.own_instructions.standard_error;
  return loop;
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_loops_create(const hbbp_analysis* analysis, const hbbp_work_options* work,
                                       hbbp_loops** loops, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (analysis == nullptr) return NullArgument("hbbp_loops_create", "analysis");
    if (loops == nullptr) return NullArgument("hbbp_loops_create", "loops");
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    HBBP_RETURN_IF_ERROR(chosen.Check());
    HBBP_ASSIGN_OR_RETURN(auto found, analysis->FindLoops(chosen));
    *loops = new hbbp_loops{std::move(found)};
    return hbbp::OkStatus();
  });
}

HBBP_API void hbbp_loops_destroy(hbbp_loops* loops) { delete loops; }

HBBP_API size_t hbbp_loops_count(const hbbp_loops* loops) {
  return loops == nullptr ? 0 : loops->found->loops.size();
}

HBBP_API hbbp_status hbbp_loops_copy(const hbbp_loops* loops, size_t first, size_t count,
                                     size_t size, hbbp_loop* elements, size_t* copied,
                                     hbbp_error* error) {
  return CopyHandleList(
      {"hbbp_loops_copy", "hbbp_loop", "elements"}, "loops", loops, hbbp_loops_count(loops),
      {first, count, size}, elements, copied, error,
      [](const hbbp_loops& given, size_t index) { return LoopOf(given.found->loops[index]); });
}

HBBP_API hbbp_status hbbp_loops_copy_of_blocks(const hbbp_loops* loops, size_t first, size_t count,
                                               uint32_t* indices, size_t* copied,
                                               hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_loops_copy_of_blocks";
    if (loops == nullptr) return NullArgument(kFunction, "loops");
    if (indices == nullptr && count > 0) return NullArgument(kFunction, "indices");
    if (copied == nullptr) return NullArgument(kFunction, "copied");
    const std::vector<uint32_t>& all = loops->found->innermost;
    *copied = std::min(count, first < all.size() ? all.size() - first : 0);
    if (*copied != 0) std::copy_n(all.begin() + static_cast<ptrdiff_t>(first), *copied, indices);
    return hbbp::OkStatus();
  });
}

}  // extern "C"
