// The keys of one query, by name: those of the profile, properties of instructions, taxonomies.
#ifndef HBBP_LIB_MIX_QUERY_KEYS_H_
#define HBBP_LIB_MIX_QUERY_KEYS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "isa/taxonomy.h"
#include "mix/pivot_key.h"
#include "mix/pivot_subject.h"

namespace hbbp {

// All keys that a profile has, without taxonomies.
const std::vector<std::string_view>& PivotKeyNames();

// An error if one of them is called as a key that every profile has: it could not be asked for.
Status CheckTaxonomyNames(const std::vector<Taxonomy>& taxonomies);

class QueryKeys {
 public:
  // What it is given must outlive it.
  QueryKeys(const PivotSubject& subject, const std::vector<Taxonomy>& taxonomies);

  // nullptr: no such key. It belongs to this object, and is made when it is first asked for.
  PivotKey* Find(std::string_view name);
  // For "did you mean".
  std::vector<std::string_view> Names() const;

  // Of the keys that were found.
  bool Use(KeyLevel level) const;
  bool Use(std::string_view name) const;
  QueryNeeds Needs() const;

 private:
  const PivotSubject& subject_;
  const std::vector<Taxonomy>& taxonomies_;
  std::vector<std::unique_ptr<PivotKey>> keys_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_QUERY_KEYS_H_
