// What a pivot adds up: blocks with their instructions, and how often each was observed to run.
//
// Nothing here is a string. What is here is true of the profile and not of a query.
#ifndef HBBP_LIB_MIX_PIVOT_INPUT_H_
#define HBBP_LIB_MIX_PIVOT_INPUT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/described_code.h"
#include "base/address.h"
#include "estimate/count_estimate.h"
#include "estimate/stream_estimator.h"
#include "events/samples.h"
#include "isa/instruction_properties.h"

namespace hbbp {

struct PivotBlock {
  uint32_t module = kNoIndex;
  uint32_t function = kNoIndex;
  uint32_t block = kNoIndex;  // of Analysis::blocks(); kNoIndex: the code is missing
  SourceKind source = SourceKind::kNone;
  ModuleAddress start;
  uint32_t bytes = 0;
  uint32_t instruction_count = 0;
  // Of PivotInput::code, if it is there.
  size_t first_instruction = 0;
};

// How often a block ran, in one thread or in all, in one slice of time or in all.
struct PivotObservation {
  uint32_t block = 0;  // of PivotInput::blocks
  uint32_t thread = kNoIndex;
  CountEstimate estimate;
  // Of PivotInput::replicates. kNoIndex: the error in `estimate` is independent of all others.
  uint32_t replicates = kNoIndex;
  uint32_t slice = kNoSlice;  // of time
};

struct PivotInput {
  std::shared_ptr<const DescribedCode> code;  // null: instructions are numbered only
  std::vector<PivotBlock> blocks;
  std::vector<PivotObservation> observations;  // by block
  std::vector<ReplicateSums> replicates;
};

struct PivotDetail {
  bool threads = false;       // else observations are of all threads
  bool slices = false;        // else they are of all times
  bool missing_code = false;  // a function without code, by its samples
};

// `code` is of the analysis, or null.
PivotInput MakePivotInput(const Analysis& analysis, std::shared_ptr<const DescribedCode> code,
                          const PivotDetail& detail);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_INPUT_H_
