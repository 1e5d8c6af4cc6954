// Adds the results of pivots (hbbp/pivot.h) to a report: properties of instructions, mixes, ratios.
#ifndef HBBP_TOOLS_EXPORT_REPORT_PIVOTS_H_
#define HBBP_TOOLS_EXPORT_REPORT_PIVOTS_H_

#include <cstdint>
#include <functional>
#include <hbbp/hbbp.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pivot_view.h"
#include "report.h"

namespace hbbp::tools {

// The static properties of every counted instruction.
class InstructionTuples {
 public:
  struct Instruction {
    uint64_t address = 0;
    uint32_t tuple = 0;
  };

  // Puts properties and tuples into `report`, which must outlive this object.
  static InstructionTuples Read(const hbbp::analysis& analysis, Report* report);

  // Returns the counted instructions of a block, by address.
  std::span<const Instruction> Of(uint32_t block) const;

  // Return the tuples in which every value is "unknown", or "no-code".
  uint32_t Unknown() { return InternAll(kUnknown); }
  uint32_t NoCode() { return InternAll(kNoCode); }

 private:
  struct TupleHash {
    size_t operator()(const ReportTuple& tuple) const;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  static constexpr char kUnknown[] = "unknown";
  using Values = std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>>;

  explicit InstructionTuples(Report* report) : report_(report) {}
  void ReadInstructions(const hbbp::analysis& analysis, const PivotRequest& request);
  uint32_t InternValue(size_t property, std::string_view value);
  uint32_t Intern(const ReportTuple& tuple);
  uint32_t InternAll(std::string_view value);

  Report* report_;
  std::vector<Values> values_;                                   // index, by property
  std::unordered_map<ReportTuple, uint32_t, TupleHash> tuples_;  // index
  std::vector<Instruction> instructions_;                        // by block and address
  std::vector<size_t> first_of_block_;                           // one more than blocks
};

// Reads executed instructions by each of the report's properties.
void ReadMixes(const hbbp::analysis& analysis, Report* report);

void ReadRatios(const hbbp::analysis& analysis, Report* report);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_PIVOTS_H_
