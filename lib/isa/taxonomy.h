// Taxonomies: named groups of instructions, written by users.
//
//   # a comment
//   [latency]                              a taxonomy; before the first one it is "groups"
//   slow: category in (divide, sqrt)       a group and the expression of its members
//     or mnemonic = xchg and memory != none    goes on where lines are indented
//   other expressions: ...
//
// Every instruction belongs to one group of a taxonomy: the first that fits, or else "other".
#ifndef HBBP_LIB_ISA_TAXONOMY_H_
#define HBBP_LIB_ISA_TAXONOMY_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "isa/instruction_properties.h"
#include "isa/property_expression.h"

namespace hbbp {

inline constexpr std::string_view kDefaultTaxonomyName = "groups";
inline constexpr std::string_view kNoGroupName = "other";
inline constexpr size_t kMaxTaxonomyBytes = 64 << 10;
inline constexpr size_t kMaxTaxonomies = 32;
inline constexpr size_t kMaxGroups = 256;  // of one taxonomy
inline constexpr size_t kMaxGroupNameBytes = 64;

struct InstructionGroup {
  std::string name;
  Expression members;
};

class Taxonomy {
 public:
  Taxonomy(std::string name, std::vector<InstructionGroup> groups);

  const std::string& name() const { return name_; }
  const std::vector<InstructionGroup>& groups() const { return groups_; }

  // groups().size() if it belongs to none. Any thread; no allocation.
  size_t GroupOf(const InstructionProperties& properties) const;
  // kNoGroupName for groups().size().
  std::string_view GroupName(size_t group) const;

 private:
  std::string name_;
  std::vector<InstructionGroup> groups_;
};

// Names of taxonomies differ from each other and from those of properties, names of groups within
// a taxonomy do, and every taxonomy has a group. Errors are kInvalidArgument:
// "line 3, column 12: no key 'mnemnic'; did you mean 'mnemonic'?"
StatusOr<std::vector<Taxonomy>> ParseTaxonomies(std::string_view text);

// The installed groups.txt. It parses.
std::string_view DefaultTaxonomyText();

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_TAXONOMY_H_
