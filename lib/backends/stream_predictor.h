// StreamPredictor foresees which stream a program executes next, as a branch predictor does, from
// the taken branches before it. What it does not foresee, a processor most likely mispredicted.
//
// It has a table for each of four lengths of history, and the longest one that knows the history
// decides (Seznec and Michaud, "A case for (partially) tagged geometric history length branch
// prediction"; here of whole streams, because bursts have the taken branches only). Its tables
// learn from the bursts of a session. A history that no table knows says nothing.
#ifndef HBBP_LIB_BACKENDS_STREAM_PREDICTOR_H_
#define HBBP_LIB_BACKENDS_STREAM_PREDICTOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/taken_branch.h"

namespace hbbp {

class StreamPredictor {
 public:
  enum class Outcome : uint8_t { kUnknown, kPredicted, kMispredicted };

  StreamPredictor();

  // Forgets the history but not what was learned: what follows is not connected to it.
  void StartBurst();
  // Predicts `branch` from those before it since StartBurst, and learns it.
  Outcome Add(const TakenBranch& branch);

 private:
  static constexpr size_t kTables = 4;
  static constexpr size_t kHistory[kTables] = {1, 3, 8, 20};
  static constexpr size_t kMaxHistory = kHistory[kTables - 1];
  static constexpr unsigned kTableBits = 14;
  static constexpr uint8_t kMaxConfidence = 3;

  struct Entry {
    uint32_t tag = 0;
    uint32_t next = 0;
    uint8_t confidence = 0;
  };

  std::vector<Entry> tables_[kTables];
  uint64_t history_[kMaxHistory] = {};  // a ring of hashes of branches
  // Hashes of the last branches, as many as kHistory says: a polynomial in kFactor, from which the
  // oldest branch is subtracted when a new one is added.
  uint64_t hashes_[kTables] = {};
  uint64_t oldest_factors_[kTables] = {1, 1, 1, 1};
  uint64_t seen_ = 0;  // branches since StartBurst
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_STREAM_PREDICTOR_H_
