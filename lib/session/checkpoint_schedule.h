// Says when checkpoints are taken: soon and often at first, since programs may be killed early, and
// each second later, or after a tenth of the time of long runs, unless their cost forbids it: a
// program pays for them with its CPU time.
#ifndef HBBP_LIB_SESSION_CHECKPOINT_SCHEDULE_H_
#define HBBP_LIB_SESSION_CHECKPOINT_SCHEDULE_H_

#include <algorithm>
#include <cstdint>

namespace hbbp {

// Times are in nanoseconds; those of the clock may be of any clock that never goes back, CPU times
// are of the program.
class CheckpointSchedule {
 public:
  CheckpointSchedule(uint64_t now_ns, uint64_t cpu_ns)
      : begin_ns_(now_ns),
        begin_cpu_ns_(cpu_ns),
        interval_ns_(kFirstIntervalNs),
        next_ns_(now_ns + kFirstIntervalNs) {}

  bool IsDue(uint64_t now_ns, uint64_t cpu_ns) const { return NsUntilDue(now_ns, cpu_ns) == 0; }
  // Of a program that uses one CPU from now on.
  uint64_t NsUntilDue(uint64_t now_ns, uint64_t cpu_ns) const {
    const uint64_t paid_ns = PaidNs(now_ns, cpu_ns);
    const uint64_t price_of_all_ns = (cost_ns_ - std::min(cost_ns_, kFreeCostNs)) * kCostDivisor;
    const uint64_t to_pay_ns = std::min(price_of_all_ns, each_is_paid_ns_);
    return std::max(next_ns_ - std::min(next_ns_, now_ns),
                    to_pay_ns - std::min(to_pay_ns, paid_ns));
  }

  // A checkpoint has taken `cost_ns` of CPU time: none, if it had nothing to save.
  void Took(uint64_t cost_ns, uint64_t now_ns, uint64_t cpu_ns) {
    cost_ns_ += cost_ns;
    each_is_paid_ns_ = std::max(each_is_paid_ns_, PaidNs(now_ns, cpu_ns) + cost_ns * kCostDivisor);
    const uint64_t longest_ns =
        std::clamp((now_ns - begin_ns_) / 10, kIntervalNs, kLongestIntervalNs);
    interval_ns_ = std::min(2 * interval_ns_, longest_ns);
    next_ns_ = now_ns + interval_ns_;
  }

 private:
  static constexpr uint64_t kFirstIntervalNs = 20'000'000;
  static constexpr uint64_t kIntervalNs = 1'000'000'000;
  static constexpr uint64_t kLongestIntervalNs = 10'000'000'000;
  // Checkpoints take this at most, and one part in so many of the program's CPU time, or of this
  // part of the time, or of the first second, if that is more. The next one comes earlier where
  // each one has been paid since it was taken: the first ones, close together, and those that are
  // asked for, do not put it off by the price of them all.
  static constexpr uint64_t kFreeCostNs = 2'000'000;
  static constexpr uint64_t kCostDivisor = 1000;
  static constexpr uint64_t kMinShareDivisor = 8;

  uint64_t PaidNs(uint64_t now_ns, uint64_t cpu_ns) const {
    const uint64_t elapsed_ns = now_ns - begin_ns_;
    return std::max(
        {cpu_ns - begin_cpu_ns_, elapsed_ns / kMinShareDivisor, std::min(elapsed_ns, kIntervalNs)});
  }

  uint64_t begin_ns_;
  uint64_t begin_cpu_ns_;
  uint64_t interval_ns_;
  uint64_t next_ns_;
  uint64_t cost_ns_ = 0;
  uint64_t each_is_paid_ns_ = 0;  // when so much is paid
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_CHECKPOINT_SCHEDULE_H_
