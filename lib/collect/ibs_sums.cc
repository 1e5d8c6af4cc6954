#include "collect/ibs_sums.h"

namespace hbbp {

IbsKind IbsKindOf(const std::string& event_name) {
  if (event_name.starts_with("ibs_op")) return IbsKind::kOp;
  if (event_name.starts_with("ibs_fetch")) return IbsKind::kFetch;
  return IbsKind::kNone;
}

template <typename Sample>
void IbsSums::AddValues(std::span<const IbsEvent<Sample>> events, const Sample& sample) {
  sums_.resize(events.size());
  for (size_t i = 0; i < events.size(); ++i) sums_[i] += events[i].value(sample);
}

void IbsSums::Add(const IbsOp& op) {
  kind_ = IbsKind::kOp;
  AddValues(IbsOpEvents(), op);
}

void IbsSums::Add(const IbsFetch& fetch) {
  kind_ = IbsKind::kFetch;
  AddValues(IbsFetchEvents(), fetch);
}

template <typename Sample>
void IbsSums::Append(std::span<const IbsEvent<Sample>> events, Counters* counters) const {
  for (size_t i = 0; i < sums_.size(); ++i) AddCounter(events[i].name, sums_[i], counters);
}

void IbsSums::AppendTo(Counters* counters) const {
  if (kind_ == IbsKind::kOp) Append(IbsOpEvents(), counters);
  if (kind_ == IbsKind::kFetch) Append(IbsFetchEvents(), counters);
  AddCounter("undecodable-ibs-samples", undecodable_, counters);
}

}  // namespace hbbp
