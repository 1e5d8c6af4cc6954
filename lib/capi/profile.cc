// The functions of profile.h and slices.h that read a profile: each list is copied by one function
// for its struct (GetSource, GetThread, GetModule, GetSlice), and hbbp_profile_select keeps a part
// of a copy. profile_file.cc has load, save and merge.
#include <hbbp/profile.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "capi/boundary.h"
#include "capi/host_handle.h"
#include "capi/profile_access.h"
#include "profile/kept_bursts.h"
#include "profile/profile_merge.h"

using hbbp::MakeStatus;
using hbbp::ModuleKind;
using hbbp::OkStatus;
using hbbp::ProfileData;
using hbbp::SampleTotals;
using hbbp::SourceRecord;
using hbbp::Status;
using hbbp::StatusCode;
using hbbp::Unit;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(static_cast<int>(ModuleKind::kFile) == HBBP_MODULE_FILE);
static_assert(static_cast<int>(ModuleKind::kVdso) == HBBP_MODULE_VDSO);
static_assert(static_cast<int>(ModuleKind::kAnonymous) == HBBP_MODULE_ANONYMOUS);
static_assert(static_cast<int>(ModuleKind::kKernel) == HBBP_MODULE_KERNEL);
static_assert(static_cast<int>(Unit::kInstructions) == HBBP_UNIT_INSTRUCTIONS);
static_assert(static_cast<int>(Unit::kNanoseconds) == HBBP_UNIT_NANOSECONDS);
static_assert(static_cast<int>(Unit::kCycles) == HBBP_UNIT_CYCLES);
static_assert(static_cast<int>(Unit::kTakenBranches) == HBBP_UNIT_TAKEN_BRANCHES);
static_assert(static_cast<int>(Unit::kEvents) == HBBP_UNIT_EVENTS);
static_assert(static_cast<int>(Unit::kUops) == HBBP_UNIT_UOPS);
static_assert(HBBP_MAX_SLICES == hbbp::SliceClock::kMaxSlices);

namespace {

// Where software branch tracing did not weigh bursts by their instructions, counts are up to a
// factor.
Unit UnitOf(const SourceRecord& source) {
  const bool is_up_to_factor = source.kind == hbbp::SourceKind::kSwbt &&
                               source.event == hbbp::EventKind::kInstructions &&
                               source.burst_extent == hbbp::BurstExtent::kStreams;
  return is_up_to_factor ? Unit::kEvents : hbbp::UnitOf(source.event);
}

hbbp_source_info GetSource(const hbbp_profile& profile, size_t index) {
  const SourceRecord& record = DataOf(profile).sources[index];
  const SampleTotals& totals = TotalsOf(profile);
  HBBP_INIT(hbbp_source_info, source);
  source.kind = static_cast<hbbp_source_kind>(record.kind);
  source.event = static_cast<hbbp_event>(record.event);
  source.period_mode = static_cast<hbbp_period_mode>(record.period_mode);
  source.unit = static_cast<hbbp_unit>(UnitOf(record));
  source.include_kernel = record.include_kernel ? 1 : 0;
  source.period = record.period;
  source.frequency_hz = record.frequency_hz;
  source.samples = totals.of_source[index];
  source.lost = record.lost;
  source.throttled = record.throttled;
  source.unmapped = totals.unmapped_of_source[index];
  source.note = record.note.c_str();
  source.bursts = record.trace.bursts;
  source.taken_branches = record.trace.taken_branches;
  source.breakpoints = record.trace.breakpoints;
  source.lookahead_instructions = record.trace.lookahead_instructions;
  source.decoded_instructions = record.trace.decoded_instructions;
  source.handler_ns = record.trace.handler_ns;
  source.verified_branches = record.trace.verified_branches;
  source.disagreements = record.trace.disagreements;
  source.mode = record.trace.mode.c_str();
  source.method = record.trace.method.c_str();
  source.event_name = record.event_name.c_str();
  source.precise_ip = record.precise_ip;
  source.ebs_method = static_cast<hbbp_ebs_method>(record.ebs_method);
  source.smallest_period = record.smallest_period;
  source.largest_period = record.largest_period;
  source.extent_in_events = record.burst_extent == hbbp::BurstExtent::kEvents ? 1 : 0;
  return source;
}

hbbp_thread GetThread(const hbbp_profile& profile, size_t index) {
  const hbbp::ThreadRecord& record = DataOf(profile).threads[index];
  HBBP_INIT(hbbp_thread, thread);
  thread.pid = record.pid;
  thread.tid = record.tid;
  thread.name = record.name.c_str();
  thread.samples = TotalsOf(profile).of_thread[index];
  return thread;
}

hbbp_module GetModule(const hbbp_profile& profile, size_t index) {
  const hbbp::ModuleRecord& record = DataOf(profile).modules[index];
  HBBP_INIT(hbbp_module, module);
  module.kind = static_cast<hbbp_module_kind>(record.kind);
  module.samples = TotalsOf(profile).of_module[index];
  module.build_id_size = static_cast<uint32_t>(record.build_id.size());
  module.build_id = record.build_id.data();
  module.path = record.path.c_str();
  return module;
}

hbbp_slice GetSlice(const hbbp_profile& profile, size_t index) {
  const hbbp::TimeSlices& slices = DataOf(profile).slices;
  const auto slice_index = static_cast<uint32_t>(index);
  HBBP_INIT(hbbp_slice, slice);
  slice.start_ns = slices.StartOf(slice_index);
  slice.end_ns = slices.EndOf(slice_index);
  slice.samples = TotalsOf(profile).of_slice[slice_index];
  return slice;
}

Status CheckSelection(const hbbp_selection& selection) {
  constexpr uint32_t kKnown = HBBP_SELECT_THREAD | HBBP_SELECT_SLICE;
  if (selection.parts != 0 && (selection.parts & ~kKnown) == 0) return OkStatus();
  return MakeStatus(
      StatusCode::kInvalidArgument,
      "hbbp_profile_select: hbbp_selection.parts is 0x%x; combine HBBP_SELECT_ values",
      selection.parts);
}

Status KeepPart(const hbbp_selection& selection, ProfileData* data) {
  constexpr char kFunction[] = "hbbp_profile_select";
  if ((selection.parts & HBBP_SELECT_THREAD) != 0 && !hbbp::KeepThread(selection.tid, data)) {
    return MakeStatus(StatusCode::kNotFound, "%s: no sample of a thread %u", kFunction,
                      selection.tid);
  }
  if ((selection.parts & HBBP_SELECT_SLICE) != 0 && !hbbp::KeepSlice(selection.slice, data)) {
    return BadIndex(kFunction, selection.slice, data->slices.count);
  }
  return OkStatus();
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_profile_select(const hbbp_profile* profile,
                                         const hbbp_selection* selection,
                                         const hbbp_work_options* work, hbbp_profile** selected,
                                         hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_profile_select";
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    if (selection == nullptr) return NullArgument(kFunction, "selection");
    if (selected == nullptr) return NullArgument(kFunction, "selected");
    hbbp_selection full;
    HBBP_RETURN_IF_ERROR(ReadInput(selection, "hbbp_selection", &full));
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    HBBP_RETURN_IF_ERROR(CheckSelection(full));
    HBBP_RETURN_IF_ERROR(chosen.Report(0, 1));
    ProfileData part = DataOf(*profile);
    HBBP_RETURN_IF_ERROR(KeepPart(full, &part));
    HBBP_RETURN_IF_ERROR(chosen.Report(1, 1));
    *selected = NewProfile(std::move(part));
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_profile_get_info(const hbbp_profile* profile, hbbp_profile_info* info,
                                           hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument("hbbp_profile_get_info", "profile");
    if (info == nullptr) return NullArgument("hbbp_profile_get_info", "info");
    const ProfileData& data = DataOf(*profile);
    HBBP_INIT(hbbp_profile_info, full);
    full.pid = data.pid;
    full.start_time_ns = data.start_time_ns;
    full.duration_ns = data.duration_ns;
    full.command = data.command.c_str();
    full.host = data.host.c_str();
    full.recordings = std::max(data.recordings, uint64_t{1});
    const hbbp::KeptBurstTotals bursts = hbbp::ReadKeptBurstTotals(data.kept_bursts);
    full.kept_bursts = bursts.kept;
    full.bursts_not_kept = bursts.not_kept;
    for (size_t i = 0; i < data.sources.size(); ++i) {
      full.samples += TotalsOf(*profile).of_source[i];
      full.lost += data.sources[i].lost;
      full.throttled += data.sources[i].throttled;
      full.unmapped += TotalsOf(*profile).unmapped_of_source[i];
    }
    return WriteOutput(full, "hbbp_profile_info", info);
  });
}

HBBP_API size_t hbbp_profile_source_count(const hbbp_profile* profile) {
  return profile == nullptr ? 0 : DataOf(*profile).sources.size();
}

HBBP_API hbbp_status hbbp_profile_copy_sources(const hbbp_profile* profile, size_t first,
                                               size_t count, size_t size, hbbp_source_info* sources,
                                               size_t* copied, hbbp_error* error) {
  return CopyHandleList({"hbbp_profile_copy_sources", "hbbp_source_info", "sources"}, "profile",
                        profile, hbbp_profile_source_count(profile), {first, count, size}, sources,
                        copied, error, &GetSource);
}

HBBP_API size_t hbbp_profile_thread_count(const hbbp_profile* profile) {
  return profile == nullptr ? 0 : DataOf(*profile).threads.size();
}

HBBP_API hbbp_status hbbp_profile_copy_threads(const hbbp_profile* profile, size_t first,
                                               size_t count, size_t size, hbbp_thread* threads,
                                               size_t* copied, hbbp_error* error) {
  return CopyHandleList({"hbbp_profile_copy_threads", "hbbp_thread", "threads"}, "profile", profile,
                        hbbp_profile_thread_count(profile), {first, count, size}, threads, copied,
                        error, &GetThread);
}

HBBP_API size_t hbbp_profile_module_count(const hbbp_profile* profile) {
  return profile == nullptr ? 0 : DataOf(*profile).modules.size();
}

HBBP_API hbbp_status hbbp_profile_copy_modules(const hbbp_profile* profile, size_t first,
                                               size_t count, size_t size, hbbp_module* modules,
                                               size_t* copied, hbbp_error* error) {
  return CopyHandleList({"hbbp_profile_copy_modules", "hbbp_module", "modules"}, "profile", profile,
                        hbbp_profile_module_count(profile), {first, count, size}, modules, copied,
                        error, &GetModule);
}

HBBP_API size_t hbbp_profile_counter_count(const hbbp_profile* profile, size_t source) {
  const bool has_source = source < hbbp_profile_source_count(profile);
  return has_source ? DataOf(*profile).sources[source].trace.counters.size() : 0;
}

HBBP_API hbbp_status hbbp_profile_copy_counters(const hbbp_profile* profile, size_t source,
                                                size_t first, size_t count, size_t size,
                                                hbbp_counter* counters, size_t* copied,
                                                hbbp_error* error) {
  constexpr ListNames kNames = {"hbbp_profile_copy_counters", "hbbp_counter", "counters"};
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(kNames.function, "profile");
    HBBP_RETURN_IF_ERROR(CheckSource(kNames.function, source, hbbp_profile_source_count(profile)));
    const hbbp::Counters& all = DataOf(*profile).sources[source].trace.counters;
    return CopyList(kNames, all.size(), {first, count, size}, counters, copied, [&](size_t index) {
      return MakeCounter(all[index].first.c_str(), all[index].second);
    });
  });
}

HBBP_API size_t hbbp_profile_slice_count(const hbbp_profile* profile) {
  return profile == nullptr ? 0 : DataOf(*profile).slices.count;
}

HBBP_API hbbp_status hbbp_profile_copy_slices(const hbbp_profile* profile, size_t first,
                                              size_t count, size_t size, hbbp_slice* slices,
                                              size_t* copied, hbbp_error* error) {
  return CopyHandleList({"hbbp_profile_copy_slices", "hbbp_slice", "slices"}, "profile", profile,
                        hbbp_profile_slice_count(profile), {first, count, size}, slices, copied,
                        error, &GetSlice);
}

}  // extern "C"
