// TraceBuffer keeps sequences of rows, one for each burst of each thread, or several where parts of
// it are unknown, as numbers of different rows ("symbols"), up to a maximum number of them, which
// is not more than Sequitur takes.
#ifndef HBBP_LIB_PROBES_TRACE_BUFFER_H_
#define HBBP_LIB_PROBES_TRACE_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "probes/count_table.h"
#include "probes/sequitur.h"

namespace hbbp {

class TraceBuffer {
 public:
  explicit TraceBuffer(size_t max_symbols)
      : max_symbols_(std::min<size_t>(max_symbols, Sequitur::kMaxSymbol)) {}

  // Rows with the same thread and burst are one sequence.
  void Append(const ProbeRow& row, uint32_t thread, uint64_t burst);
  // Rows that follow are of another thread with the number, or behind a gap in it.
  void EndThread(uint32_t thread) { threads_.erase(thread); }

  size_t max_symbols() const { return max_symbols_; }
  uint64_t total() const { return total_; }
  // Returns how many rows were not kept, because the buffer was full.
  uint64_t dropped() const { return total_ - kept_; }

  // Returns the sequences in the order in which they began.
  const std::vector<std::vector<uint32_t>>& sequences() const { return sequences_; }
  const std::vector<ProbeRow>& rows() const { return rows_; }  // by symbol

 private:
  struct RowHash {
    size_t operator()(const ProbeRow& row) const { return HashRow(row); }
  };
  struct OfThread {
    uint64_t burst = 0;
    size_t sequence = 0;
  };

  size_t max_symbols_;
  uint64_t total_ = 0;
  uint64_t kept_ = 0;
  std::unordered_map<ProbeRow, uint32_t, RowHash> symbols_;
  std::vector<ProbeRow> rows_;
  std::unordered_map<uint32_t, OfThread> threads_;
  std::vector<std::vector<uint32_t>> sequences_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_TRACE_BUFFER_H_
