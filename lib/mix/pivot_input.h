// PivotInput is what a pivot sums: blocks with their instructions, and how often each was observed
// to run.
//
// It has no strings, and depends on the profile and not on the query.
#ifndef HBBP_LIB_MIX_PIVOT_INPUT_H_
#define HBBP_LIB_MIX_PIVOT_INPUT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/instruction_table.h"
#include "base/address.h"
#include "estimate/count_estimate.h"
#include "estimate/stream_estimator.h"
#include "events/samples.h"
#include "isa/instruction_properties.h"

namespace hbbp {

struct PivotBlock {
  uint32_t module = kNoIndex;
  uint32_t function = kNoIndex;
  uint32_t block = kNoIndex;  // index of Analysis::blocks(); kNoIndex: the code is missing
  SourceKind source = SourceKind::kNone;
  ModuleAddress start;
  uint32_t bytes = 0;
  uint32_t instruction_count = 0;
  // The index in PivotInput::code, if that is present.
  size_t first_instruction = 0;
};

// The executions of a block, in one thread or in all, in one slice of time or in all.
struct PivotObservation {
  uint32_t block = 0;  // index of PivotInput::blocks
  uint32_t thread = kNoIndex;
  CountEstimate estimate;
  // The index in PivotInput::replicates. kNoIndex: the error in `estimate` is independent of all
  // others.
  uint32_t replicates = kNoIndex;
  uint32_t slice = kNoSlice;  // of time
};

struct PivotInput {
  std::shared_ptr<const InstructionTable> code;  // null: instructions are only counted
  std::vector<PivotBlock> blocks;
  std::vector<PivotObservation> observations;  // by block
  std::vector<ReplicateSums> replicates;
};

struct PivotDetail {
  bool threads = false;       // false: observations are of all threads
  bool slices = false;        // false: they are of all times
  bool missing_code = false;  // includes functions without code, by their samples
};

// `code` must be of the analysis, or null.
PivotInput MakePivotInput(const Analysis& analysis, std::shared_ptr<const InstructionTable> code,
                          const PivotDetail& detail);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_INPUT_H_
