#include "backends/stream_predictor.h"

namespace hbbp {
namespace {

// Any odd number that is large will do.
constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;

uint64_t Mix(uint64_t x) {
  x ^= x >> 31;
  x *= kFactor;
  return x ^ (x >> 29);
}

}  // namespace

StreamPredictor::StreamPredictor() {
  for (size_t i = 0; i < kTables; ++i) {
    tables_[i].resize(size_t{1} << kTableBits);
    for (size_t n = 0; n < kHistory[i]; ++n) oldest_factors_[i] *= kFactor;
  }
}

void StreamPredictor::StartBurst() {
  seen_ = 0;
  for (uint64_t& hash : hashes_) hash = 0;
}

StreamPredictor::Outcome StreamPredictor::Add(const TakenBranch& branch) {
  const uint64_t hash = Mix(branch.from * 31 + branch.to);
  const auto next = static_cast<uint32_t>(hash >> 32);
  Outcome outcome = Outcome::kUnknown;
  for (size_t i = 0; i < kTables && kHistory[i] <= seen_; ++i) {
    const uint64_t of_history = Mix(hashes_[i]);
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
  for (size_t i = 0; i < kTables; ++i) {
    const bool is_full = seen_ >= kHistory[i];
    const uint64_t oldest = is_full ? history_[(seen_ - kHistory[i]) % kMaxHistory] : 0;
    hashes_[i] = hashes_[i] * kFactor + hash - oldest * oldest_factors_[i];
  }
  history_[seen_++ % kMaxHistory] = hash;
  return outcome;
}

}  // namespace hbbp
