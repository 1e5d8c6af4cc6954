// The profile by pseudo-probes, for code that clang compiled with -fpseudo-probe-for-profiling: a
// SampleProfile whose locations are probes instead of lines, and whose functions have checksums, so
// that clang refuses what is of another control-flow graph.
//
// The compiler may have copied the code of a probe: its count is the sum of those of its addresses.
// Functions have totals and entries as llvm-profgen counts them: the sum of their probes, and the
// count of the first one.
#ifndef HBBP_LIB_EXPORT_PROBE_PROFILE_H_
#define HBBP_LIB_EXPORT_PROBE_PROFILE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "export/export_subject.h"
#include "export/sample_profile.h"
#include "symbols/pseudo_probes.h"

namespace hbbp {

struct ProbedModule {
  uint32_t module = 0;
  std::optional<PseudoProbes> probes;  // nothing if they are damaged
};

// Returns those of the modules that the subject wants, and that have counts, that have probes.
// Notes damaged ones. Throws WorkCancelled.
std::vector<ProbedModule> OpenProbedModules(const ExportSubject& subject);

// Returns the profile of these modules. Notes what is left out, and the other modules: LLVM reads
// no file that has both lines and probes. Throws WorkCancelled.
SampleProfile MakeProbeProfile(const ExportSubject& subject,
                               const std::vector<ProbedModule>& modules);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_PROBE_PROFILE_H_
