// MakeSampleProfile makes a SampleProfile of an analysis, which counts as llvm-profgen does. Like
// it, this has locations of 0 for code without a count in functions that have one.
//
// probe_profile.h has the profile of modules that were compiled with pseudo-probes.
#ifndef HBBP_LIB_EXPORT_SAMPLE_PROFILE_H_
#define HBBP_LIB_EXPORT_SAMPLE_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "export/export_subject.h"
#include "export/llvm_sample_profile.h"

namespace hbbp {

// Returns the name of the symbol of the function that starts there; of a stub of the linker, that
// of what it goes on to.
std::optional<std::string> FindSymbolAtStart(const Analysis& analysis, uint32_t module,
                                             ModuleAddress address);

// Returns the profile of the modules that the subject wants. What has no debug information is left
// out, and noted. Throws WorkCancelled.
SampleProfile MakeSampleProfile(const ExportSubject& subject);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_SAMPLE_PROFILE_H_
