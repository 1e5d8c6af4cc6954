// Makes keys of the static properties of instructions, and of groups of them.
#ifndef HBBP_LIB_MIX_PROPERTY_KEYS_H_
#define HBBP_LIB_MIX_PROPERTY_KEYS_H_

#include <memory>

#include "isa/property_names.h"
#include "isa/taxonomy.h"
#include "mix/pivot_key.h"

namespace hbbp {

// If a label is a name, its number is that of PropertyValue.
std::unique_ptr<PivotKey> MakePropertyKey(Property property);

// The taxonomy must outlive the key.
std::unique_ptr<PivotKey> MakeTaxonomyKey(const Taxonomy& taxonomy);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PROPERTY_KEYS_H_
