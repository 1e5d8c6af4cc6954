#include "perf/ibs_samples.h"

#include <functional>

namespace hbbp {

IbsKind IbsKindOf(std::string_view event_name) {
  if (event_name.starts_with("ibs_op")) return IbsKind::kOp;
  if (event_name.starts_with("ibs_fetch")) return IbsKind::kFetch;
  return IbsKind::kNone;
}

IbsKinds IbsKindsOf(std::string_view names) {
  const bool is_both = names == "ibs_op,ibs_fetch";
  return {is_both || names == "ibs_op", is_both || names == "ibs_fetch"};
}

template <typename Sample>
void IbsSamples::AddValues(const Sample& sample) {
  Sum* sum = sums_.data();
  const auto add = [&sum](const char* event, uint64_t value) {
    sum->event = event;
    sum->value += value;
    ++sum;
  };
  VisitIbsEvents(sample, std::ref(add));
}

void IbsSamples::Deliver(IpSample sample, std::span<const uint8_t> raw, ByteOrder order,
                         EventSink* sink) {
  if (raw.empty()) return sink->OnSample(sample);
  // A feed's registers may leave the address out.
  const auto move_to = [&sample](uint64_t address) {
    if (address != 0) sample.ip = {address};
  };
  if (kind_ == IbsKind::kOp) {
    if (const auto op = DecodeIbsOp(raw, order, quirks_)) {
      AddValues(*op);
      if (!op->ip_is_invalid) move_to(op->ip);
      return sink->OnIbsOp(sample, *op);
    }
  } else if (const auto fetch = DecodeIbsFetch(raw, order)) {
    AddValues(*fetch);
    move_to(fetch->linear_address);
    return sink->OnIbsFetch(sample, *fetch);
  }
  ++undecodable_;
  sink->OnSample(sample);
}

void IbsSamples::AppendTo(Counters* counters) const {
  for (const Sum& sum : sums_) AddCounter(sum.event, sum.value, counters);
  AddCounter("undecodable-ibs-samples", undecodable_, counters);
}

}  // namespace hbbp
