// Computes instruction mixes: how many instructions of each kind ran, by thread, slice of time,
// module and function.
#ifndef HBBP_LIB_MIX_MIX_H_
#define HBBP_LIB_MIX_MIX_H_

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "estimate/block_record.h"
#include "isa/decoder.h"
#include "mix/pivot_subject.h"

namespace hbbp {

struct MixKeys {
  bool mnemonic = false;
  bool module = false;
  bool function = false;
  bool thread = false;
  bool slice = false;
};

struct MixRow {
  // Keys that were not requested are kInvalid and kNoIndex.
  Mnemonic mnemonic = Mnemonic::kInvalid;
  uint32_t module = kNoIndex;
  uint32_t function = kNoIndex;
  uint32_t thread = kNoIndex;
  uint32_t slice = kNoIndex;  // kNoIndex also if it is unknown
  double instructions = 0;
  double standard_error = 0;
};

struct Mix {
  double total = 0;
  std::vector<MixRow> rows;  // most instructions first; ties by keys
};

// A block that ran c times adds n * c executions of a mnemonic that it contains n times; its
// standard error grows by the same factor. Blocks are independent where IP samples counted them;
// where streams did, bursts are (estimate/stream_estimator.h). Without mnemonics as a key,
// functions whose code is missing count as well, by their samples. Returns the errors of
// MakePivotTable.
StatusOr<Mix> ComputeMix(const PivotSubject& subject, const MixKeys& keys);

QueryNeeds NeedsOf(const MixKeys& keys);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_MIX_H_
