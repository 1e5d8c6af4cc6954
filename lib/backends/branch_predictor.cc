#include "backends/branch_predictor.h"

#include <sys/mman.h>

#include <new>

#include "trace/interpreter/large_memory.h"

namespace hbbp {
namespace {

// Any odd number that is large will do.
constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
constexpr int8_t kMinLean = -4, kMaxLean = 3;
constexpr uint8_t kMaxConfidence = 3;

uint64_t Mix(uint64_t x) {
  x ^= x >> 31;
  x *= kFactor;
  return x ^ (x >> 29);
}

// An entry leans to one side only after it saw that side several times.
bool IsSure(int8_t lean) { return lean >= 1 || lean <= -2; }

}  // namespace

BranchPredictor::BranchPredictor() {
  void* const memory = ::mmap(nullptr, Bytes(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  trace::PopulatePages(memory, Bytes());
  targets_[0] = static_cast<Target*>(memory);
  directions_[0] = reinterpret_cast<Direction*>(targets_[0] + (kTables << kTargetBits));
  for (size_t i = 0; i < kTables; ++i) {
    targets_[i] = targets_[0] + (i << kTargetBits);
    directions_[i] = directions_[0] + (i << kTableBits);
    for (size_t n = 0; n < kHistory[i]; ++n) oldest_factors_[i] *= kFactor;
  }
}

BranchPredictor::~BranchPredictor() { ::munmap(targets_[0], Bytes()); }

void BranchPredictor::StartBurst() {
  seen_ = 0;
  for (uint64_t& hash : hashes_) hash = 0;
}

uint64_t BranchPredictor::Select(size_t table, uint64_t ip) const {
  return Mix(hashes_[table] + ip * kFactor);
}

BranchPredictor::Outcome BranchPredictor::AddConditional(uint64_t ip, bool is_taken) {
  Outcome outcome = Outcome::kUnknown;
  for (size_t i = 0; i < kTables && kHistory[i] <= seen_; ++i) {
    const uint64_t selected = Select(i, ip);
    Direction& entry = directions_[i][selected >> (64 - kTableBits)];
    const uint16_t tag = static_cast<uint16_t>(selected) | 1;
    const bool is_known = entry.tag == tag;
    const bool is_right = (entry.lean >= 0) == is_taken;
    if (is_known && (outcome == Outcome::kUnknown || IsSure(entry.lean))) {
      outcome = is_right ? Outcome::kPredicted : Outcome::kMispredicted;
    }
    if (is_known && is_taken) {
      if (entry.lean < kMaxLean) ++entry.lean;
    } else if (is_known) {
      if (entry.lean > kMinLean) --entry.lean;
    } else if (IsSure(entry.lean)) {
      entry.lean = static_cast<int8_t>(entry.lean + (entry.lean < 0 ? 1 : -1));
    } else {
      entry = {tag, static_cast<int8_t>(is_taken ? 0 : -1)};
    }
  }
  return outcome;
}

BranchPredictor::Outcome BranchPredictor::AddIndirect(uint64_t ip, uint64_t target) {
  const auto next = static_cast<uint32_t>(Mix(target) >> 32);
  Outcome outcome = Outcome::kUnknown;
  for (size_t i = 0; i < kTables && kHistory[i] <= seen_; ++i) {
    const uint64_t selected = Select(i, ip);
    Target& entry = targets_[i][selected >> (64 - kTargetBits)];
    const uint32_t tag = static_cast<uint32_t>(selected) | 1;
    const bool is_known = entry.tag == tag;
    const bool is_right = entry.next == next;
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
  return outcome;
}

void BranchPredictor::AddToHistory(const TakenBranch& branch) {
  const uint64_t hash = Mix(branch.from * 31 + branch.to);
  for (size_t i = 1; i < kTables; ++i) {
    const bool is_full = seen_ >= kHistory[i];
    const uint64_t oldest = is_full ? history_[(seen_ - kHistory[i]) % kMaxHistory] : 0;
    hashes_[i] = hashes_[i] * kFactor + hash - oldest * oldest_factors_[i];
  }
  history_[seen_++ % kMaxHistory] = hash;
}

}  // namespace hbbp
