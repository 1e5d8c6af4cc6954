#include "backends/stream_predictor.h"

namespace hbbp {
namespace {

uint64_t Mix(uint64_t x) {
  x *= 0x9e3779b97f4a7c15;
  return x ^ (x >> 29);
}

}  // namespace

StreamPredictor::StreamPredictor() {
  for (auto& table : tables_) table.resize(size_t{1} << kTableBits);
}

StreamPredictor::Outcome StreamPredictor::Add(const TakenBranch& branch) {
  const uint64_t hash = Mix(branch.from * 31 + branch.to);
  const auto next = static_cast<uint32_t>(hash >> 32);
  Outcome outcome = Outcome::kUnknown;
  uint64_t of_history = 0;
  size_t hashed = 0;
  for (size_t i = 0; i < kTables && kHistory[i] <= seen_; ++i) {
    for (; hashed < kHistory[i]; ++hashed) {
      of_history = Mix(of_history ^ history_[(seen_ - 1 - hashed) % kMaxHistory]);
    }
    Entry& entry = tables_[i][of_history >> (64 - kTableBits)];
    const uint32_t tag = static_cast<uint32_t>(of_history) | 1;
    const bool is_known = entry.tag == tag;
    const bool is_right = entry.next == next;
    // A longer history decides unless it was wrong recently.
    if (is_known && (outcome == Outcome::kUnknown || entry.confidence > 0)) {
      outcome = is_right ? Outcome::kPredicted : Outcome::kMispredicted;
    }
    if (is_known && is_right) {
      if (entry.confidence < kMaxConfidence) ++entry.confidence;
    } else if (entry.confidence > 0) {
      --entry.confidence;
    } else {
      entry = {tag, next, 0};
    }
  }
  history_[seen_++ % kMaxHistory] = hash;
  return outcome;
}

}  // namespace hbbp
