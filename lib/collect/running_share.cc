#include "collect/running_share.h"

namespace hbbp {

double RunningShare::Advance(uint64_t counter, uint32_t tid, const CounterValues& values) {
  const std::pair key(counter, tid);
  if (last_.size() >= kMaxCounters && !last_.contains(key)) return 1;
  Times& last = last_[key];
  const Times now = {values.time_enabled, values.time_running};
  const bool has_advanced =
      now.running > last.running && now.enabled > last.enabled && now.running <= now.enabled;
  if (!has_advanced) return 1;
  const auto enabled = static_cast<double>(now.enabled - last.enabled);
  const auto running = static_cast<double>(now.running - last.running);
  last = now;
  if (running > enabled) return 1;
  enabled_ += enabled;
  running_ += running;
  return enabled / running;
}

double RunningShare::Share() const { return enabled_ == 0 ? 1 : running_ / enabled_; }

}  // namespace hbbp
