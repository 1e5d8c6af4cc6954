// BranchPredictor foresees branches as that of a processor does: whether a conditional branch is
// taken, and where an indirect one goes to. What it does not foresee, a processor most likely
// mispredicted.
//
// It has a table for branches alone and one for each of three lengths of history, in taken
// branches. The longest history that is known decides, unless it has been right too rarely (Seznec
// and Michaud, "A case for (partially) tagged geometric history length branch prediction"). Its
// tables learn from the bursts of a session. A branch that no table knows says nothing. Direct
// branches, calls and returns, of which processors keep a stack, are not asked for.
//
//   Of `if (x & 1) ...; if (x & 6) ...;` with a random x, the first is mispredicted half of the
//   times and the second a quarter, also where both are in one stream.
#ifndef HBBP_LIB_BACKENDS_BRANCH_PREDICTOR_H_
#define HBBP_LIB_BACKENDS_BRANCH_PREDICTOR_H_

#include <cstddef>
#include <cstdint>

#include "base/taken_branch.h"

namespace hbbp {

class BranchPredictor {
 public:
  enum class Outcome : uint8_t { kUnknown, kPredicted, kMispredicted };

  // Throws std::bad_alloc. All tables are put into memory, as a burst uses most of their pages.
  BranchPredictor();
  ~BranchPredictor();
  BranchPredictor(const BranchPredictor&) = delete;
  BranchPredictor& operator=(const BranchPredictor&) = delete;

  // Returns the size of its tables.
  static constexpr uint64_t Bytes() {
    return kTables * ((sizeof(Direction) << kTableBits) + (sizeof(Target) << kTargetBits));
  }

  // Forgets the history but not what was learned: what follows is not connected to it.
  void StartBurst();
  // These predict a branch from the taken branches before it, and learn it.
  Outcome AddConditional(uint64_t ip, bool is_taken);
  Outcome AddIndirect(uint64_t ip, uint64_t target);
  // Each taken branch becomes a part of the history, after it was predicted.
  void AddToHistory(const TakenBranch& branch);

 private:
  static constexpr size_t kTables = 4;
  static constexpr size_t kHistory[kTables] = {0, 2, 6, 16};
  static constexpr size_t kMaxHistory = kHistory[kTables - 1];
  static constexpr unsigned kTableBits = 14;
  static constexpr unsigned kTargetBits = 11;

  // Whether a branch is taken. It leans to yes from 0 on.
  struct Direction {
    uint16_t tag = 0;
    int8_t lean = 0;
  };
  struct Target {
    uint32_t tag = 0;
    uint32_t next = 0;
    uint8_t confidence = 0;
  };

  // Returns what selects the entry of a table, for the branch at `ip`.
  uint64_t Select(size_t table, uint64_t ip) const;

  // In one mapping, which begins with zeros.
  Direction* directions_[kTables];
  Target* targets_[kTables];
  uint64_t history_[kMaxHistory] = {};  // a ring of hashes of branches
  // Hashes of the last branches, as many as kHistory says: a polynomial in kFactor, from which the
  // oldest branch is subtracted when a new one is added.
  uint64_t hashes_[kTables] = {};
  uint64_t oldest_factors_[kTables] = {1, 1, 1, 1};
  uint64_t seen_ = 0;  // branches since StartBurst
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_BRANCH_PREDICTOR_H_
