// DisagreementLog records where mode verify found the program elsewhere than predicted, and why.
//
// Contract: handlers of any threads call Add at any time, and the worker calls Visit; neither
// waits. Entries that do not fit are dropped. No handler may run during Reset.
#ifndef HBBP_LIB_TRACE_DISAGREEMENT_LOG_H_
#define HBBP_LIB_TRACE_DISAGREEMENT_LOG_H_

#include <atomic>
#include <cstdint>

#include "trace/interpreter/look_ahead.h"

namespace hbbp::trace {

class DisagreementLog {
 public:
  // The first so many locations of each reason are kept.
  static constexpr int kLocations = 8;

  void Add(Divergence reason, uint64_t address) {
    for (Entry& entry : entries_[static_cast<int>(reason)]) {
      uint64_t known = entry.address.load(std::memory_order_relaxed);
      if (known == 0 && entry.address.compare_exchange_strong(known, address)) known = address;
      if (known != address) continue;
      entry.count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }

  // Calls visit(reason, address, count).
  template <typename Visitor>
  void Visit(Visitor&& visit) const {
    for (int reason = 0; reason < kReasons; ++reason) {
      for (const Entry& entry : entries_[reason]) {
        const uint64_t count = entry.count.load(std::memory_order_relaxed);
        if (count == 0) continue;
        visit(static_cast<Divergence>(reason), entry.address.load(std::memory_order_relaxed),
              count);
      }
    }
  }

  void Reset() {
    for (auto& reason : entries_) {
      for (Entry& entry : reason) {
        entry.address.store(0, std::memory_order_relaxed);
        entry.count.store(0, std::memory_order_relaxed);
      }
    }
  }

 private:
  static constexpr int kReasons = static_cast<int>(Divergence::kReadsNotKept) + 1;
  struct Entry {
    std::atomic<uint64_t> address;  // 0 if the entry is free
    std::atomic<uint64_t> count;
  };

  Entry entries_[kReasons][kLocations] = {};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_DISAGREEMENT_LOG_H_
