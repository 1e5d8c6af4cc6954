#include "probes/trace_buffer.h"

namespace hbbp {

void TraceBuffer::Append(const ProbeRow& row, uint32_t thread, uint64_t burst) {
  ++total_;
  if (kept_ == max_symbols_) return;
  ++kept_;
  const auto [symbol, is_new_row] = symbols_.try_emplace(row, static_cast<uint32_t>(rows_.size()));
  if (is_new_row) rows_.push_back(row);
  const auto [current, is_new_thread] = threads_.try_emplace(thread);
  if (is_new_thread || current->second.burst != burst) {
    current->second = {burst, sequences_.size()};
    sequences_.emplace_back();
  }
  sequences_[current->second.sequence].push_back(symbol->second);
}

}  // namespace hbbp
