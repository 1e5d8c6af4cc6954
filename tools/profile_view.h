// Wraps profiles and analyses of hbbp.hpp for the sub-commands.
#ifndef HBBP_TOOLS_PROFILE_VIEW_H_
#define HBBP_TOOLS_PROFILE_VIEW_H_

#include <array>
#include <hbbp/hbbp.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "table.h"

namespace hbbp::tools {

Status ToStatus(const hbbp::error& error);

// Turns exceptions of the library in `body` into a Status, where the command continues after a
// failure.
template <typename Body>
Status CatchError(Body&& body) {
  try {
    body();
  } catch (const hbbp::error& error) {
    return ToStatus(error);
  }
  return OkStatus();
}

// The message of a failure contains the path.
hbbp::profile LoadProfile(const std::string& path);
// Writes it to a file, or to stdout if the path is kStandardOutput.
void SaveProfile(const hbbp::profile_view& profile, const std::string& path);
// CommonUnits checks that counts can be added: of profiles that have no unit in common, one would
// count, and the others would add nothing.
class CommonUnits {
 public:
  // Returns an error, and leaves the profile out, if it has no unit of those before. The message
  // calls it `name`.
  Status Add(const std::string& name, const hbbp::profile& profile);

 private:
  struct Family {
    std::string first;  // name of the first profile with samples
    std::set<std::string> units;
  };
  std::array<Family, 2> families_;  // samples, and streams
};

// Loads one profile as it is, or several merged. Throws hbbp::error if their counts cannot be
// added, because they sampled events of different units.
hbbp::profile LoadProfiles(const std::vector<std::string>& paths);
// Merges the parts of what one process did, whatever they sampled.
hbbp::profile LoadParts(const std::vector<std::string>& paths);

// SourceView is a source, with its samples outside of blocks, or its streams that no path explains.
struct SourceView : hbbp_source_info {
  uint64_t unexplained = 0;
  uint64_t superseded = 0;
  bool is_other_event = false;  // blocks are counted by another event
  std::vector<hbbp_counter> counters;
  std::vector<hbbp_counter> unexplained_reasons;  // those that are not 0
  // Blocks that sources of both families observed have this estimator, and this factor of counts.
  hbbp_estimator estimator = HBBP_ESTIMATOR_AUTO;
  double scale = 1;
  bool is_one_scale = true;  // same scale as the sources of the other family
};

// ModuleView is a module, with the state of its code.
struct ModuleView : hbbp_module {
  hbbp_code_state code = HBBP_CODE_NOT_SOUGHT;
  const char* problem = "";
  uint64_t patched_bytes = 0;
};

// Returns whether its samples are consecutive taken branches.
bool HasStreams(hbbp_source_kind source);
// Returns for instance "1 sample" or "1,741 bursts".
std::string DescribeSamples(const hbbp_source_info& source);

std::vector<SourceView> Sources(const hbbp::analysis& analysis);
// Returns what the counters of that name have in all sources.
uint64_t SumOfCounters(const std::vector<SourceView>& sources, std::string_view name);
// It needs no analysis: unexplained and superseded stay 0, and the estimator stays open.
std::vector<SourceView> SourcesAsRecorded(const hbbp::profile_view& profile);
std::vector<ModuleView> Modules(const hbbp::analysis& analysis);
// Returns the base of shares (docs/guide/mix.md): everything that was counted, including missing
// code.
double TotalInstructions(const std::vector<hbbp_function>& functions);

const char* SourceName(hbbp_source_kind source);  // "ebs"
const char* EventName(hbbp_event event);
// Returns the name in the recording, if it was imported.
const char* EventNameOf(const SourceView& source);  // "task-clock"
const char* UnitName(hbbp_unit unit);               // "instructions"
const char* PeriodModeName(hbbp_period_mode mode);  // "prime"
const char* EbsMethodName(hbbp_ebs_method method);  // "ip+1"
const char* CodeName(hbbp_code_state code);         // "file"
const char* ModuleKindName(hbbp_module_kind kind);  // "vdso"

// Returns the sources that have samples of an event that counts; if none has, all sources.
std::vector<SourceView> CountedSources(const std::vector<SourceView>& sources);
// Returns for instance "instructions"; "mixed" if the sources that count differ.
std::string UnitOf(const std::vector<SourceView>& sources);
// Returns true if neither family of sources counts executions: counts are then up to a factor.
bool IsUpToFactor(const std::vector<SourceView>& sources);
// Returns true if counts are executions as far as bursts of a clock were weighed by the right time.
// Their sum is then up to a factor as well.
bool IsByModelOfTime(const std::vector<SourceView>& sources);

// Adds what a reader of any listing must know, as notes and as the fields unit, lost, throttled,
// unmapped, unexplained: what was lost, what could not be explained, in which unit counts are.
void AddCaveats(const std::vector<SourceView>& sources, Table* table);
// Returns the notes alone.
std::vector<std::string> Caveats(const std::vector<SourceView>& sources);

// Returns what Nowak et al., "Establishing a Base of Trust with Performance Counters for Enterprise
// Workloads", recommend against what is wrong with the samples of a source: periods that resonate
// with loops, skid, and the shadow of slow instructions.
std::vector<std::string> SamplingAdvice(const SourceView& source);

// Returns notes about why code of modules with samples could not be read: for the three busiest,
// and how many more there are.
std::vector<std::string> CodeProblems(const hbbp::analysis& analysis);
void AddCodeProblems(const hbbp::analysis& analysis, Table* table);

// Returns Caveats() and CodeProblems(): everything that a reader of a profile must know.
std::vector<std::string> CollectNotes(const hbbp::analysis& analysis,
                                      const std::vector<SourceView>& sources);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROFILE_VIEW_H_
