// Finds the features of a block: of its code, of the blocks around it, and of the observations.
#ifndef HBBP_LIB_ESTIMATE_OBSERVED_FEATURES_H_
#define HBBP_LIB_ESTIMATE_OBSERVED_FEATURES_H_

#include "blocks/block_map.h"
#include "estimate/block_features.h"
#include "estimate/block_record.h"
#include "image/module_code.h"

namespace hbbp {

// `code` and `map` must be of the record's module, `mean_count` of the profile (family_counts.h).
BlockFeatures FindFeatures(const BlockRecord& record, const ModuleCode& code, BlockMap* map,
                           double mean_count);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_OBSERVED_FEATURES_H_
