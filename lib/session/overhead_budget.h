// OverheadBudget: how much longer periods must be so that sampling takes no more than a share of
// the CPU time.
#ifndef HBBP_LIB_SESSION_OVERHEAD_BUDGET_H_
#define HBBP_LIB_SESSION_OVERHEAD_BUDGET_H_

#include <cstdint>

namespace hbbp {

class OverheadBudget {
 public:
  // The CPU time that the profiled code used, and that profiling it cost, both since the start.
  struct Usage {
    uint64_t cpu_ns = 0;
    uint64_t cost_ns = 0;
    uint64_t fixed_ns = 0;  // of that, what longer periods do not save
  };

  static constexpr double kMaxFactor = 4096;
  // Shorter spans say too little.
  static constexpr uint64_t kMinSpanNs = 50'000'000;
  // This many spans in a row must be far below the budget before periods become shorter again;
  // twice as many each time, since every change costs something.
  static constexpr int kMinQuietSpans = 10;
  static constexpr int kMaxQuietSpans = 160;

  // `share` is that of the CPU time; 0: any.
  explicit OverheadBudget(double share) : share_(share) {}

  // Usage begins at 0 again, and periods are those asked for.
  void Restart();

  // Returns whether factor() changed: from now on it is the factor of the periods asked for.
  bool Judge(const Usage& usage);

  // Periods were changed; what that cost must not change them again.
  void RecordChange(const Usage& usage) { last_ = usage; }

  double factor() const { return factor_; }
  // Returns the share that sampling took in the last span that was long enough.
  double recent() const { return recent_; }

 private:
  double ChargedShare(const Usage& from, const Usage& to) const;

  const double share_;
  Usage last_;
  double factor_ = 1;
  double recent_ = 0;
  int quiet_spans_ = 0;
  int quiet_spans_needed_ = kMinQuietSpans;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_OVERHEAD_BUDGET_H_
