#include "probes/trace_grammar.h"

#include <cstdint>
#include <vector>

namespace hbbp {

void TraceGrammar::Follow(const TraceBuffer& trace) {
  const std::vector<std::vector<uint32_t>>& sequences = trace.sequences();
  while (sequence_ < sequences.size()) {
    const std::vector<uint32_t>& sequence = sequences[sequence_];
    for (; symbols_ < sequence.size(); ++symbols_) sequitur_.Append(sequence[symbols_]);
    if (sequence_ + 1 == sequences.size()) return;
    sequitur_.Separate();
    ++sequence_;
    symbols_ = 0;
  }
}

}  // namespace hbbp
