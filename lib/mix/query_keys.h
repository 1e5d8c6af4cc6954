// QueryKeys finds the keys of one query by name: those of the profile, properties of instructions,
// taxonomies.
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

// Returns the names of all keys that a profile has, without taxonomies.
const std::vector<std::string_view>& PivotKeyNames();

// Returns an error if a taxonomy has the name of a key that every profile has, because queries
// could not refer to it.
Status CheckTaxonomyNames(const std::vector<Taxonomy>& taxonomies);

class QueryKeys {
 public:
  // The subject and the taxonomies must outlive it.
  QueryKeys(const PivotSubject& subject, const std::vector<Taxonomy>& taxonomies);

  // Returns null if there is no such key. The key is made at the first call and belongs to this
  // object.
  PivotKey* Find(std::string_view name);
  // Returns the names for "did you mean".
  std::vector<std::string_view> Names() const;

  // Both refer to the keys that were found.
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
