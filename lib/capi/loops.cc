#include <hbbp/loops.h>

#include <algorithm>
#include <vector>

#include "capi/boundary.h"
#include "capi/profile_handle.h"

using hbbp::LoopRecord;
using hbbp::OkStatus;
using hbbp::Status;
using hbbp::capi::CopyList;
using hbbp::capi::Guard;
using hbbp::capi::GuardCount;
using hbbp::capi::NullArgument;

static_assert(HBBP_NO_INDEX == hbbp::kNoIndex);

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

HBBP_API size_t hbbp_profile_loop_count(const hbbp_profile* profile) {
  if (profile == nullptr) return 0;
  return GuardCount([&]() -> size_t {
    const auto found = profile->FindLoops();
    return found.ok() ? (*found)->loops.size() : 0;
  });
}

HBBP_API hbbp_status hbbp_profile_copy_loops(const hbbp_profile* profile, size_t first,
                                             size_t count, size_t size, hbbp_loop* loops,
                                             size_t* copied, hbbp_error* error) {
  constexpr char kFunction[] = "hbbp_profile_copy_loops";
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    HBBP_ASSIGN_OR_RETURN(const auto found, profile->FindLoops());
    const std::vector<LoopRecord>& all = found->loops;
    return CopyList({kFunction, "hbbp_loop", "loops", "size"}, all.size(), first, count, size,
                    loops, copied, [&](size_t index) { return LoopOf(all[index]); });
  });
}

HBBP_API hbbp_status hbbp_profile_copy_loops_of_blocks(const hbbp_profile* profile, size_t first,
                                                       size_t count, uint32_t* loops,
                                                       size_t* copied, hbbp_error* error) {
  constexpr char kFunction[] = "hbbp_profile_copy_loops_of_blocks";
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    if (loops == nullptr && count > 0) return NullArgument(kFunction, "loops");
    if (copied == nullptr) return NullArgument(kFunction, "copied");
    HBBP_ASSIGN_OR_RETURN(const auto found, profile->FindLoops());
    const std::vector<uint32_t>& all = found->innermost;
    *copied = std::min(count, first < all.size() ? all.size() - first : 0);
    if (*copied != 0) std::copy_n(all.begin() + static_cast<ptrdiff_t>(first), *copied, loops);
    return OkStatus();
  });
}

}  // extern "C"
