// The taxonomies behind the handle.
#ifndef HBBP_LIB_CAPI_TAXONOMY_HANDLE_H_
#define HBBP_LIB_CAPI_TAXONOMY_HANDLE_H_

#include <hbbp/pivot.h>

#include <vector>

#include "base/status.h"
#include "isa/taxonomy.h"

struct hbbp_taxonomy {
  std::vector<hbbp::Taxonomy> taxonomies;
};

namespace hbbp::capi {

// Returns those of the library itself for NULL.
StatusOr<std::vector<Taxonomy>> TaxonomiesOf(const hbbp_taxonomy* taxonomy);

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_TAXONOMY_HANDLE_H_
