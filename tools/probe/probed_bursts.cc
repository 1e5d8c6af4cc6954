#include "probe/probed_bursts.h"

#include "format.h"
#include "probes/recorded_keys.h"

namespace hbbp::tools {
namespace {

// Returns "1,234 bursts of task-clock, period 9,999,991".
std::string DescribeSource(const BurstSource& source) {
  const std::string text = FormatCount(source.bursts) + " bursts of " + Printable(source.event);
  if (source.frequency_hz != 0) return text + ", " + FormatCount(source.frequency_hz) + " Hz";
  return text + ", period " + FormatCount(source.period);
}

}  // namespace

std::string NamesOfValues(ProbeKeySet keys) {
  std::string names;
  for (const RecordedKey& recorded : kRecordedKeys) {
    if ((keys & SetOf(recorded.key)) == 0) continue;
    if (!names.empty()) names += ",";
    names += NameOf(recorded.key);
  }
  return names;
}

CodeDescription ProbedBursts::Describe(uint64_t code) const {
  const BurstCodeLocation location = probe_.code().Locate(code);
  CodeDescription description;
  if (!location.is_known) return description;
  description.is_in_module = true;
  description.module = location.path;
  description.function = location.function_name;
  description.address = location.address.value;
  description.function_start = location.function.value;
  return description;
}

std::vector<std::string> ProbedBursts::Notes() const {
  const BurstProbeTotals& totals = probe_.totals();
  std::vector<std::string> notes;
  std::string sources;
  bool are_executions = true;
  for (const BurstSource& source : probe_.sources()) {
    if (!sources.empty()) sources += "; ";
    sources += DescribeSource(source);
    are_executions &= source.counts_executions;
  }
  notes.push_back("counts are estimated from " + sources +
                  (are_executions ? "" : "; their sum is right up to a factor only"));
  if (totals.faults != 0) {
    const double share = static_cast<double>(totals.faults) / static_cast<double>(totals.streams);
    notes.push_back(FormatCount(totals.faults) + " of " + FormatCount(totals.streams) +
                    " streams between branches (" + FormatShare(share) +
                    ") were skipped: the code of " + FormatCount(totals.without_code) +
                    " is missing, and that of the others does not lead to the next branch");
  }
  if (totals.other_sources != 0) {
    notes.push_back(FormatCount(totals.other_sources) +
                    " bursts are left out: blocks are counted by another event");
  }
  if (totals.not_kept != 0) {
    notes.push_back(FormatCount(totals.not_kept) +
                    " bursts are not in the profile, the later ones: there was no room for them "
                    "(--keep-bursts)");
  }
  return notes;
}

}  // namespace hbbp::tools
