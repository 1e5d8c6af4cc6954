// Reads the configuration of perf: files in the format of git's, with sections, names and values.
#ifndef HBBP_LIB_COLLECT_PERF_CONFIG_H_
#define HBBP_LIB_COLLECT_PERF_CONFIG_H_

#include <optional>
#include <string>
#include <string_view>

namespace hbbp {

// Returns the last value of `name` in `section`; both are in lower case.
//
//   [buildid]
//   dir = /var/cache/perf  # a comment
std::optional<std::string> FindPerfSetting(std::string_view text, std::string_view section,
                                           std::string_view name);

// Returns where perf keeps files by build ID: what buildid.dir says in /etc/perfconfig or, before
// that, in ~/.perfconfig, or in the one file that $PERF_CONFIG names; else ~/.debug. Empty if there
// is none. Files of other users are not believed.
std::string PerfBuildIdDirectory();

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_PERF_CONFIG_H_
