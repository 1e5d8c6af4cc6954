// A ProductionSet is a parsed file of productions:
//
//   # hot call pairs, one call in ten or so
//   sample_freq = 1000
//   burst_length = 100
//   use framework
//   pairs: proc_call && sample_flag => count(function, target), null
//
//   file = { SETTING "=" NUMBER | "use" BUILT-IN | production }
//   production = NAME ":" condition "=>" replacement "," control
//   replacement = "null" | action { ";" action }
//   action = ( "count" | "trace" ) [ TABLE ] fields | "call" [ TABLE ] [ fields ]
//   fields = "(" FIELD { "," FIELD } ")"
//   control = "null" | step { ";" step }
//   step = "count_sample" | "count_burst" | "reset" | "stop_burst" | "extend_burst" NUMBER
//
// A condition is an Expression (isa/property_expression.h) over the keys of production_keys.h; an
// indented line continues the one before it. docs/guide/productions.md is the manual.
#ifndef HBBP_LIB_PROBES_PRODUCTION_SET_H_
#define HBBP_LIB_PROBES_PRODUCTION_SET_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "isa/property_expression.h"
#include "isa/taxonomy.h"
#include "probes/instruction_event.h"
#include "probes/production_keys.h"

namespace hbbp {

inline constexpr size_t kMaxProductionBytes = 256 << 10;
inline constexpr size_t kMaxProductionNameBytes = 64;
// ProbedInstruction has a bit for each production.
inline constexpr uint64_t kMaxPatterns = 64;
inline constexpr uint64_t kMaxReplacements = 1 << 16;
inline constexpr size_t kMaxFields = 4;
inline constexpr uint64_t kMaxCounter = uint64_t{1} << 62;

struct ProductionSettings {
  uint64_t sample_freq = 1000;  // boundaries from the end of a burst to the start of the next
  uint64_t burst_length = 100;  // boundaries
  // The tables of the hardware that the paper proposes.
  uint64_t max_patterns = 32;        // productions
  uint64_t max_replacements = 2048;  // actions of all productions
};

enum class TableKind : uint8_t { kCount, kTrace, kCall };

// What actions write to; kCall passes it on to a handler and keeps only how often. Actions of
// several productions can share one.
struct ProbeTable {
  std::string name;
  TableKind kind = TableKind::kCount;
  std::vector<ProbeKey> fields;  // of the first action
};

struct ProbeAction {
  uint32_t table = 0;
  std::vector<ProbeKey> fields;  // as many as the table has
};

struct Production {
  std::string name;
  Expression condition;
  std::vector<ProbeAction> actions;
  bool counts_sample = false;
  bool counts_burst = false;
  bool resets = false;
  bool stops_burst = false;
  uint64_t burst_extension = 0;
};

// It is immutable: any thread may use it.
class ProductionSet {
 public:
  // Settings of the text overwrite `settings`. Errors are kInvalidArgument: "line 3, column 12: no
  // key 'proc_cal'; did you mean 'proc_call'?" Also an error is a condition that no instruction can
  // fulfil, sample_flag where nothing sets it, and more than the tables hold.
  static StatusOr<ProductionSet> Parse(std::string_view text, std::vector<Taxonomy> taxonomies,
                                       const ProductionSettings& settings = {});

  const ProductionSettings& settings() const { return settings_; }
  const std::vector<Production>& productions() const { return productions_; }
  const std::vector<ProbeTable>& tables() const { return tables_; }
  const std::vector<Taxonomy>& taxonomies() const { return *taxonomies_; }
  // Returns the keys that conditions and fields use.
  ProbeKeySet keys() const { return keys_; }

  // Prepares the instruction at the start of `code`. Returns false if there is none.
  bool Prepare(std::span<const uint8_t> code, const InstructionSite& site,
               ProbedInstruction* instruction) const;

 private:
  friend class ProductionParser;

  ProductionSettings settings_;
  std::vector<Production> productions_;
  std::vector<ProbeTable> tables_;
  std::unique_ptr<const std::vector<Taxonomy>> taxonomies_;
  ProbeKeySet keys_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_PRODUCTION_SET_H_
