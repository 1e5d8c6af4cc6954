// Profiles of the C ABI, as the sub-commands look at them.
#ifndef HBBP_TOOLS_PROFILE_VIEW_H_
#define HBBP_TOOLS_PROFILE_VIEW_H_

#include <hbbp/hbbp.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "table.h"

namespace hbbp::tools {

template <auto destroy>
struct HandleDeleter {
  template <typename Handle>
  void operator()(Handle* handle) const {
    destroy(handle);
  }
};

using ProfileHandle = std::unique_ptr<hbbp_profile, HandleDeleter<hbbp_profile_destroy>>;
using MixHandle = std::unique_ptr<hbbp_mix, HandleDeleter<hbbp_mix_destroy>>;
using CapabilitiesHandle =
    std::unique_ptr<hbbp_capabilities, HandleDeleter<hbbp_capabilities_destroy>>;

// What a failed call of the C ABI says.
Status ToStatus(const hbbp_error& error);

StatusOr<ProfileHandle> LoadProfile(const std::string& path);
// One profile as it is, several merged.
StatusOr<ProfileHandle> LoadProfiles(const std::vector<std::string>& paths);

// A list of the C ABI that is copied at once.
template <typename Struct>
StatusOr<std::vector<Struct>> CopyAll(const hbbp_profile* profile, size_t count,
                                      hbbp_status (*copy)(const hbbp_profile*, size_t, size_t,
                                                          size_t, Struct*, size_t*, hbbp_error*)) {
  std::vector<Struct> all(count);
  size_t copied = 0;
  HBBP_INIT(hbbp_error, error);
  const hbbp_status status =
      copy(profile, 0, all.size(), sizeof(Struct), all.data(), &copied, &error);
  if (status != HBBP_OK) return ToStatus(error);
  all.resize(copied);
  return all;
}

// A source, with its samples that are in no block, or its streams that no path explains.
struct SourceView : hbbp_source_info {
  uint64_t unexplained = 0;
  uint64_t superseded = 0;
  std::vector<hbbp_counter> counters;
  std::vector<hbbp_counter> unexplained_reasons;  // those that are not 0
  // What counts blocks that sources of both families saw, and what its counts were multiplied by.
  hbbp_estimator estimator = HBBP_ESTIMATOR_AUTO;
  double scale = 1;
  bool is_one_scale = true;  // with sources of the other family
};

// Are its samples consecutive taken branches?
bool HasStreams(hbbp_source source);

// Finds the blocks of the profile, if that was not done before.
StatusOr<std::vector<SourceView>> Sources(const hbbp_profile* profile);
// Finds no blocks: what is unexplained or superseded stays 0, how blocks are counted open.
StatusOr<std::vector<SourceView>> SourcesAsRecorded(const hbbp_profile* profile);
StatusOr<std::vector<hbbp_thread>> Threads(const hbbp_profile* profile);
StatusOr<std::vector<hbbp_module>> Modules(const hbbp_profile* profile);
StatusOr<std::vector<hbbp_block>> Blocks(const hbbp_profile* profile);
StatusOr<std::vector<hbbp_function>> Functions(const hbbp_profile* profile);
// What shares are of (docs/guide/mix.md): all that was counted, code that is missing included.
double TotalInstructions(const std::vector<hbbp_function>& functions);
StatusOr<std::vector<hbbp_slice>> Slices(const hbbp_profile* profile);
StatusOr<std::vector<hbbp_mix_row>> MixRows(const hbbp_profile* profile, hbbp_mix_keys keys);

const char* SourceName(hbbp_source source);  // "ebs"
const char* EventName(hbbp_event event);
// As its recording spells it, if it was imported.
const char* EventNameOf(const SourceView& source);  // "task-clock"
const char* UnitName(hbbp_unit unit);               // "instructions"
const char* PeriodModeName(hbbp_period_mode mode);  // "prime"
const char* EbsMethodName(hbbp_ebs_method method);  // "ip+1"
const char* CodeName(hbbp_module_code code);        // "file"
const char* ModuleKindName(hbbp_module_kind kind);  // "vdso"

// "instructions"; "mixed" if the sources do not agree.
std::string UnitOf(const std::vector<SourceView>& sources);
// True if neither family of sources counts executions: counts are then up to a factor.
bool IsUpToFactor(const std::vector<SourceView>& sources);

// Whatever a reader of any listing has to know: what was lost, what could not be explained, in
// which unit counts are. As notes, and as the fields unit, lost, throttled, unmapped, unexplained.
void AddCaveats(const std::vector<SourceView>& sources, Table* table);
// The notes alone.
std::vector<std::string> Caveats(const std::vector<SourceView>& sources);

// Why code of modules with samples could not be read: of the three busiest, and how many more there
// are. As notes.
StatusOr<std::vector<std::string>> CodeProblems(const hbbp_profile* profile);
Status AddCodeProblems(const hbbp_profile* profile, Table* table);

// Caveats() and CodeProblems(): all that has to be known of a profile.
StatusOr<std::vector<std::string>> NotesOf(const hbbp_profile* profile,
                                           const std::vector<SourceView>& sources);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROFILE_VIEW_H_
