#include "collect/importer.h"

#include <algorithm>

namespace hbbp {
namespace {

uint64_t BytesInShare(const CountedMemory& memory, double share) {
  return static_cast<uint64_t>(share * static_cast<double>(memory.limit()));
}

}  // namespace

Importer::Importer(ImportOptions options, CountedMemory* memory)
    : ForwardingSink(&aggregator_),
      own_memory_(memory == nullptr ? std::make_unique<CountedMemory>() : nullptr),
      memory_(memory != nullptr ? memory : own_memory_.get()),
      keep_above_(memory_->limit() == 0 ? UINT64_MAX : BytesInShare(*memory_, kCompactAbove)),
      locator_(options, memory_),
      aggregator_(&locator_, options, memory_) {}

// A live session lengthens its periods as well, but those of a recording are what they are.
void Importer::KeepMemory() {
  if (memory_->used() <= keep_above_) return;
  aggregator_.Compact();
  while (memory_->used() > BytesInShare(*memory_, kWidenAbove) && aggregator_.WidenSlices()) {
    aggregator_.Compact();
  }
  const uint64_t used = memory_->used();
  keep_above_ = std::max(BytesInShare(*memory_, kCompactAbove), used + used / 16);
}

void Importer::OnMapping(MappingEvent mapping) {
  locator_.OnMapping(std::move(mapping));
  KeepMemory();
}

void Importer::OnCode(CodeEvent code) {
  locator_.OnCode(std::move(code));
  KeepMemory();
}

void Importer::OnSample(const IpSample& sample) {
  aggregator_.OnSample(sample);
  KeepMemory();
}

void Importer::OnBurst(const BurstSample& burst) {
  aggregator_.OnBurst(burst);
  KeepMemory();
}

void Importer::OnIbsOp(const IpSample& sample, const IbsOp& op) {
  aggregator_.OnIbsOp(sample, op);
  KeepMemory();
}

void Importer::OnIbsFetch(const IpSample& sample, const IbsFetch& fetch) {
  aggregator_.OnIbsFetch(sample, fetch);
  KeepMemory();
}

}  // namespace hbbp
