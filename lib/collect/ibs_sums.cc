#include "collect/ibs_sums.h"

namespace hbbp {

IbsKind IbsKindOf(const std::string& event_name) {
  if (event_name.starts_with("ibs_op")) return IbsKind::kOp;
  if (event_name.starts_with("ibs_fetch")) return IbsKind::kFetch;
  return IbsKind::kNone;
}

template <typename Sample>
void IbsSums::AddValues(const Sample& sample) {
  size_t i = 0;
  VisitIbsEvents(sample, [&](const char* event, uint64_t value) {
    if (i == sums_.size()) sums_.push_back({event, 0});
    sums_[i++].value += value;
  });
}

void IbsSums::Add(const IbsOp& op) { AddValues(op); }

void IbsSums::Add(const IbsFetch& fetch) { AddValues(fetch); }

void IbsSums::AppendTo(Counters* counters) const {
  for (const Sum& sum : sums_) AddCounter(sum.event, sum.value, counters);
  AddCounter("undecodable-ibs-samples", undecodable_, counters);
}

}  // namespace hbbp
