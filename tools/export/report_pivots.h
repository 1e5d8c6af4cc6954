// What a report gets from pivots (hbbp/pivot.h): properties of instructions, mixes, ratios.
#ifndef HBBP_TOOLS_EXPORT_REPORT_PIVOTS_H_
#define HBBP_TOOLS_EXPORT_REPORT_PIVOTS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile_view.h"
#include "report.h"

namespace hbbp::tools {

// The static properties of every instruction that was counted.
class InstructionTuples {
 public:
  // Puts properties and tuples into `report`, which has to live longer.
  static StatusOr<InstructionTuples> Read(const hbbp_profile* profile, Report* report);

  // The tuple of the instruction; one of nothing but "unknown" if it was not counted.
  uint32_t Find(uint32_t module, uint64_t address);

 private:
  struct Hash {
    size_t operator()(const ReportTuple& tuple) const;
  };

  explicit InstructionTuples(Report* report) : report_(report) {}
  uint32_t Intern(const std::vector<std::string>& values);

  Report* report_;
  std::vector<std::unordered_map<std::string, uint32_t>> values_;       // by property
  std::unordered_map<ReportTuple, uint32_t, Hash> tuples_;              // index
  std::vector<std::unordered_map<uint64_t, uint32_t>> of_instruction_;  // by module, by address
};

// Executed instructions by each of the report's properties.
Status ReadMixes(const hbbp_profile* profile, Report* report);

Status ReadRatios(const hbbp_profile* profile, Report* report);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_PIVOTS_H_
