// Which source counts a block that more than one observed.
//
// Counts of different sources are never added: each is an estimate of the same number. Where
// software branch tracing saw a block, its count is taken; and in a module where it explained any
// stream it counts all blocks, so that one that only EBS saw counts 0: counts of both kinds side by
// side in one module would not be to one scale. Elsewhere, as in the kernel, EBS counts. Sources of
// one kind, as merged profiles have them, do add up.
#ifndef HBBP_LIB_ESTIMATE_SOURCE_CHOICE_H_
#define HBBP_LIB_ESTIMATE_SOURCE_CHOICE_H_

#include "samples/samples.h"

namespace hbbp {

struct BlockEvidence {
  SourceKind streams_across_block = SourceKind::kNone;
  bool module_has_streams = false;                  // explained ones
  SourceKind samples_in_block = SourceKind::kNone;  // of EBS or IBS
};

// kNone: the block has no count.
constexpr SourceKind ChooseSource(const BlockEvidence& evidence) {
  if (evidence.streams_across_block != SourceKind::kNone) return evidence.streams_across_block;
  if (evidence.module_has_streams) return SourceKind::kNone;
  return evidence.samples_in_block;
}

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_SOURCE_CHOICE_H_
