#include "probes/builtin_productions.h"

#include <algorithm>

namespace hbbp {
namespace {

// P1 to P6 of the paper. Boundaries are calls and backward branches, executed, whether taken or
// not: the hardware matches before it knows. A cycle has sample_freq + burst_length + 1 of them.
constexpr std::string_view kFramework = R"(
P1: proc_call && !sample_flag => null, count_sample
P2: branch && backward && !sample_flag => null, count_sample
P3: proc_call && sample_flag && !burst_flag => null, count_burst
P4: branch && backward && sample_flag && !burst_flag => null, count_burst
P5: proc_call && sample_flag && burst_flag => null, reset
P6: branch && backward && sample_flag && burst_flag => null, reset
)";

constexpr std::string_view kHotMethods = R"(use framework
back-edges: branch && backward && taken && sample_flag => count methods(function), null
invocations: proc_call && sample_flag => count methods(target), null
)";

constexpr std::string_view kCallPairs = R"(use framework
call-pairs: proc_call && sample_flag => count(function, target), null
)";

constexpr std::string_view kEdges = R"(use framework
edges: branch && sample_flag => count(pc, next), null
)";

constexpr std::string_view kIndirectTargets = R"(use framework
indirect-targets: indirect && sample_flag => count(pc, target), null
)";

constexpr std::string_view kCallContexts = R"(use framework
call-contexts: proc_call && sample_flag => count(caller, function, target), null
)";

constexpr std::string_view kStrides = R"(use framework
strides: load && addressing != stack && sample_flag => count(pc, stride), null
)";

constexpr std::string_view kReuseDistances = R"(use framework
reuse-distances: load && addressing != stack && sample_flag => count(pc, reuse), null
)";

constexpr std::string_view kTripCounts = R"(use framework
trip-counts: conditional && backward && !taken && sample_flag => count(pc, trips), null
)";

constexpr std::string_view kPathProfile = R"(use framework
paths: path_end && sample_flag => count(path_start, pc, path), null
)";

// A stub that leads to memcpy is entered before it, and its name is memcpy@plt; __memcpy_chk checks
// the size and goes on into a memcpy. Sizes of wmemcpy are not in bytes; __new_memcpy_ifunc
// chooses.
constexpr std::string_view kCopySizes = R"(use framework
copy-sizes: entry && name ~ "*memcpy*", "*memmove*"
  && !(name ~ "*@plt", "*_chk*", "*wmem*", "*_ifunc") && sample_flag => count(rdx), null
)";

constexpr std::string_view kDivisors = R"(use framework
divisors: mnemonic in (div, idiv) && sample_flag => count(pc, divisor), null
)";

constexpr std::string_view kSampleProfile = R"(use framework
instructions: sample_flag => count(pc), null
calls: proc_call && sample_flag => count(pc, target), null
)";

constexpr std::string_view kDataStreams = R"(use framework
data-streams: mem_op && sample_flag => trace(pc, address), null
)";

constexpr BuiltinProductions kBuiltins[] = {
    {"framework", "the bursts alone: P1 to P6", kFramework},
    {"hot-methods", "functions by invocations and back edges", kHotMethods},
    {"call-pairs", "caller and callee", kCallPairs},
    {"call-contexts", "caller of the caller, caller and callee", kCallContexts},
    {"edges", "branches and where they went", kEdges},
    {"indirect-targets", "indirect calls and jumps and where they went", kIndirectTargets},
    {"strides", "loads and how far each went from its last address", kStrides},
    {"reuse-distances", "loads and the cache lines since the last access to theirs",
     kReuseDistances},
    {"trip-counts", "loops and how often each iterated", kTripCounts},
    {"paths", "acyclic paths through functions", kPathProfile},
    {"copy-sizes", "sizes of memcpy and memmove", kCopySizes},
    {"divisors", "integer divisions and their divisors", kDivisors},
    {"sample-profile", "all instructions and calls, for --sample-profile", kSampleProfile},
    {"data-streams", "sequences of loads and stores that recur", kDataStreams},
};

}  // namespace

std::span<const BuiltinProductions> AllBuiltinProductions() { return kBuiltins; }

const BuiltinProductions* FindBuiltinProductions(std::string_view name) {
  const auto found = std::ranges::find(kBuiltins, name, &BuiltinProductions::name);
  return found == std::end(kBuiltins) ? nullptr : found;
}

std::vector<std::string_view> BuiltinProductionNames() {
  std::vector<std::string_view> names;
  for (const BuiltinProductions& builtin : kBuiltins) names.push_back(builtin.name);
  return names;
}

}  // namespace hbbp
