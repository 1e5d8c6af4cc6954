// Profiles and analyses of hbbp.hpp, as the sub-commands look at them.
#ifndef HBBP_TOOLS_PROFILE_VIEW_H_
#define HBBP_TOOLS_PROFILE_VIEW_H_

#include <hbbp/hbbp.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "table.h"

namespace hbbp::tools {

Status ToStatus(const hbbp::error& error);

// What the library throws in `body` as a Status, where the command goes on after a failure.
template <typename Body>
Status CatchError(Body&& body) {
  try {
    body();
  } catch (const hbbp::error& error) {
    return ToStatus(error);
  }
  return OkStatus();
}

// The message of a failure has the path.
hbbp::profile LoadProfile(const std::string& path);
// One profile as it is, several merged.
hbbp::profile LoadProfiles(const std::vector<std::string>& paths);

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

// A module, with what was found of its code.
struct ModuleView : hbbp_module {
  hbbp_code_state code = HBBP_CODE_NOT_SOUGHT;
  const char* problem = "";
  uint64_t patched_bytes = 0;
};

// Are its samples consecutive taken branches?
bool HasStreams(hbbp_source_kind source);

std::vector<SourceView> Sources(const hbbp::analysis& analysis);
// Needs no analysis: what is unexplained or superseded stays 0, how blocks are counted open.
std::vector<SourceView> SourcesAsRecorded(const hbbp::profile_view& profile);
std::vector<ModuleView> Modules(const hbbp::analysis& analysis);
// What shares are of (docs/guide/mix.md): all that was counted, code that is missing included.
double TotalInstructions(const std::vector<hbbp_function>& functions);

const char* SourceName(hbbp_source_kind source);  // "ebs"
const char* EventName(hbbp_event event);
// As its recording spells it, if it was imported.
const char* EventNameOf(const SourceView& source);  // "task-clock"
const char* UnitName(hbbp_unit unit);               // "instructions"
const char* PeriodModeName(hbbp_period_mode mode);  // "prime"
const char* EbsMethodName(hbbp_ebs_method method);  // "ip+1"
const char* CodeName(hbbp_code_state code);         // "file"
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
std::vector<std::string> CodeProblems(const hbbp::analysis& analysis);
void AddCodeProblems(const hbbp::analysis& analysis, Table* table);

// Caveats() and CodeProblems(): all that has to be known of a profile.
std::vector<std::string> NotesOf(const hbbp::analysis& analysis,
                                 const std::vector<SourceView>& sources);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROFILE_VIEW_H_
