// A Taxonomy consists of named groups of instructions. Users write taxonomies:
//
//   # a comment
//   [latency]                              a taxonomy; before the first one it is "groups"
//   slow: category in (divide, sqrt)       a group and the expression of its members,
//     or mnemonic = xchg and memory != none    which continues on indented lines
//   other expressions: ...
//
// Every instruction belongs to one group of a taxonomy: the first that matches, or else "other".
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
inline constexpr size_t kMaxGroups = 256;  // in one taxonomy
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

  // Returns groups().size() if the instruction belongs to no group. Any thread may call it; it does
  // not allocate.
  size_t GroupOf(const InstructionProperties& properties) const;
  // Returns kNoGroupName for groups().size().
  std::string_view GroupName(size_t group) const;

 private:
  std::string name_;
  std::vector<InstructionGroup> groups_;
};

// Names of taxonomies must differ from each other and from those of properties, names of groups
// within a taxonomy from each other, and every taxonomy must have a group. Errors are
// kInvalidArgument, for example "line 3, column 12: no key 'mnemnic'; did you mean 'mnemonic'?"
StatusOr<std::vector<Taxonomy>> ParseTaxonomies(std::string_view text);

// Returns the content of the installed groups.txt, which parses without error.
std::string_view DefaultTaxonomyText();

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_TAXONOMY_H_
