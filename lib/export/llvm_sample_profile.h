// SampleProfile is a profile by lines, as LLVM reads it: for each function, and each call that was
// inlined into it, how often its lines executed and which functions they called.
//
// A location in a function is a line, counted from that of the function's declaration, and what the
// compiler calls the base discriminator, by which blocks of one line differ. Of several
// instructions of a location the most frequent one counts: the compiler may have moved the others.
// An instruction that the compiler has made several copies of (by unrolling, say) counts as often,
// and its discriminator says so.
#ifndef HBBP_LIB_EXPORT_LLVM_SAMPLE_PROFILE_H_
#define HBBP_LIB_EXPORT_LLVM_SAMPLE_PROFILE_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "export/export_sink.h"
#include "symbols/line_range.h"

namespace hbbp {

struct SampleLocation {
  uint32_t line = 0;  // from the function's own; of a profile by probes: the index of the probe
  uint32_t discriminator = 0;

  auto operator<=>(const SampleLocation&) const = default;
};

struct SampledLine {
  double count = 0;
  std::map<std::string, double> calls;  // by function
};

struct SampledFunction {
  // Instructions executed in it, with those of inlined calls; of a profile by probes: probes.
  double total = 0;
  double entries = 0;  // of functions, not of inlined calls
  std::map<SampleLocation, SampledLine> lines;
  std::map<SampleLocation, std::map<std::string, SampledFunction>> inlined;
  std::optional<uint64_t> checksum;  // of its control-flow graph, in a profile by probes
};

struct SampleProfile {
  std::map<std::string, SampledFunction> functions;  // by linkage name
};

// Splits a discriminator as LLVM encodes it.
struct SplitDiscriminator {
  uint32_t base = 0;
  uint32_t copies = 1;
};
SplitDiscriminator Split(uint32_t discriminator);

// Returns whether a location in the innermost function is known.
bool IsUsable(const std::vector<LineFrame>& frames);

// Returns the line of an instruction in its innermost function. Adds `instructions` to the totals
// of that function and of those that it was inlined into. The frames must be usable.
SampledLine* SampledLineAt(const std::vector<LineFrame>& frames, double instructions,
                           SampleProfile* profile);

// Adds an instruction that was executed `count` times. The frames must be usable.
void AddInstruction(const std::vector<LineFrame>& frames, double count, SampleProfile* profile);

// Writes the text that clang and llvm-profdata read.
void WriteSampleProfile(const SampleProfile& profile, ExportSink* sink);

// The error of a profile without functions.
Status NoLinesToWrite();

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_LLVM_SAMPLE_PROFILE_H_
