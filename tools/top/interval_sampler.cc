#include "top/interval_sampler.h"

#include <algorithm>
#include <utility>

namespace hbbp::tools {
namespace {

// A session has so many slices at most: a snapshot of it costs what all of them have counted.
constexpr uint64_t kMaxSlices = 32;
// A session may grow by so much before it is replaced,
constexpr uint64_t kMaxGrowthBytes = uint64_t{64} << 20;
// and never takes more than this, whatever happens in one interval.
constexpr uint64_t kMaxMemoryBytes = uint64_t{256} << 20;
// Samples by a clock come so often by default: ten times as often as in a recording, which lasts
// longer than an interval.
constexpr uint64_t kClockPeriodNs = 1'000'000;
// Half a percent of a thread's time, the limit of a recording's bursts from outside, is a dozen of
// them in a second, which show nothing. These take some four percent.
constexpr uint64_t kTracePeriodNs = 10'000'000;

// Returns 0 if the source has the period that it has in a recording.
uint64_t DefaultPeriod(const hbbp_source_info& source) {
  if (source.unit != HBBP_UNIT_NANOSECONDS) return 0;
  switch (source.kind) {
    case HBBP_SOURCE_EBS:
      return kClockPeriodNs;
    case HBBP_SOURCE_SWBT:
      return kTracePeriodNs;
    default:
      return 0;
  }
}

}  // namespace

IntervalSampler::IntervalSampler(const hbbp_session_options& options, uint64_t interval_ns)
    : options_(options), interval_ns_(interval_ns) {
  options_.slice_ns = interval_ns;
  options_.max_memory = kMaxMemoryBytes;
}

void IntervalSampler::Start() {
  Begin();
  if (options_.period != 0 || options_.frequency_hz != 0) return;
  const hbbp::profile begun = session_->snapshot();
  const std::vector<hbbp_source_info> sources = begun.sources();
  if (sources.size() != 1) return;
  const hbbp_source_info& source = sources.front();
  const uint64_t period = DefaultPeriod(source);
  if (period == 0) return;
  options_.event = source.event;
  options_.period = period;
  Begin();
}

void IntervalSampler::Begin() {
  session_.reset();
  hbbp::session session(options_);
  session.start();
  session_ = std::move(session);
  first_bytes_ = session_->info().memory_bytes;
  next_ = 0;
  has_wider_slices_ = false;
  losses_.clear();
}

uint64_t IntervalSampler::NsToEnd() {
  const uint64_t end_ns = (next_ + 1) * interval_ns_;
  return end_ns - std::min(end_ns, session_->info().duration_ns);
}

Interval IntervalSampler::Take() {
  const uint64_t over = session_->info().duration_ns / interval_ns_;
  return Cut(session_->snapshot(), std::max(over, next_ + 1) - 1);
}

void IntervalSampler::RenewIfLarge() {
  const bool has_grown = session_->info().memory_bytes > first_bytes_ + kMaxGrowthBytes;
  if (next_ >= kMaxSlices || has_wider_slices_ || has_grown) Begin();
}

Interval IntervalSampler::TakeLast() {
  // It has stopped already if the process has ended.
  (void)CatchError([&] { session_->stop(); });
  const uint64_t duration_ns = session_->info().duration_ns;
  hbbp::profile whole = session_->snapshot();
  // The process may have ended before the interval that is current by the clock.
  const uint64_t slices = whole.slices().size();
  const uint64_t last = std::max(std::max<uint64_t>(slices, 1) - 1, next_);
  const uint64_t since_ns = duration_ns - std::min(duration_ns, last * interval_ns_);
  Interval interval = Cut(std::move(whole), last);
  interval.duration_ns = std::min(interval.duration_ns, since_ns);
  session_.reset();
  return interval;
}

Interval IntervalSampler::Cut(hbbp::profile whole, uint64_t slice) {
  Interval interval = {interval_ns_, 0, std::move(whole), {}, {}};
  interval.skipped = slice - std::min(slice, next_);
  interval.sources = SourcesAsRecorded(interval.recorded);
  next_ = slice + 1;
  const std::vector<hbbp_slice> slices = interval.recorded.slices();
  if (!slices.empty()) {
    const uint64_t width_ns = slices.front().end_ns - slices.front().start_ns;
    has_wider_slices_ = width_ns != interval_ns_;
    interval.duration_ns = width_ns;
    slice = slice * interval_ns_ / width_ns;
  }
  const bool has_samples = slice < slices.size() && slices[slice].samples != 0;
  if (has_samples) interval.profile = interval.recorded.select_slice(static_cast<uint32_t>(slice));
  const std::vector<hbbp_source_info> in_slice =
      has_samples ? interval.profile->sources() : std::vector<hbbp_source_info>();
  losses_.resize(interval.sources.size());
  for (size_t i = 0; i < interval.sources.size(); ++i) {
    SourceView& source = interval.sources[i];
    const Losses until_now = {source.lost, source.throttled, source.unmapped};
    source.samples = has_samples ? in_slice[i].samples : 0;
    source.lost -= losses_[i].lost;
    source.throttled -= losses_[i].throttled;
    source.unmapped -= losses_[i].unmapped;
    losses_[i] = until_now;
  }
  return interval;
}

}  // namespace hbbp::tools
