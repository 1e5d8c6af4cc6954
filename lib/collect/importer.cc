#include "collect/importer.h"

#include <algorithm>

namespace hbbp {
namespace {

uint64_t ShareOf(const CountedMemory& memory, double share) {
  return static_cast<uint64_t>(share * static_cast<double>(memory.limit()));
}

}  // namespace

Importer::Importer(ImportOptions options, CountedMemory* memory)
    : own_memory_(memory == nullptr ? std::make_unique<CountedMemory>() : nullptr),
      memory_(memory != nullptr ? memory : own_memory_.get()),
      keep_above_(memory_->limit() == 0 ? UINT64_MAX : ShareOf(*memory_, kCompactAbove)),
      locator_(options, memory_),
      aggregator_(&locator_, options.slice_ns, memory_) {}

// As Session::KeepMemory, but periods are not ours.
void Importer::KeepMemory() {
  if (memory_->used() <= keep_above_) return;
  aggregator_.Compact();
  while (memory_->used() > ShareOf(*memory_, kWidenAbove) && aggregator_.WidenSlices()) {
    aggregator_.Compact();
  }
  const uint64_t used = memory_->used();
  keep_above_ = std::max(ShareOf(*memory_, kCompactAbove), used + used / 16);
}

void Importer::AddMapping(uint32_t pid, const MappingEvent& mapping) {
  locator_.AddMapping(pid, mapping);
  KeepMemory();
}

void Importer::AddThread(uint32_t parent, uint32_t parent_tid, uint32_t pid, uint32_t tid) {
  const std::string name = locator_.NameOfThread(parent, parent_tid);
  if (!name.empty()) NameThread(pid, tid, name);
}

void Importer::AddCode(uint32_t pid, RuntimeAddress address, uint64_t size,
                       std::span<const uint8_t> bytes, const std::string& name, uint64_t time_ns,
                       CodeLines lines) {
  locator_.AddCode(pid, address, size, bytes, name, time_ns, std::move(lines));
  KeepMemory();
}

void Importer::NameThread(uint32_t pid, uint32_t tid, const std::string& name) {
  locator_.NameThread(pid, tid, name);
  (void)aggregator_.RenameThread(pid, tid, name);
}

std::optional<Importer::SamplePlace> Importer::AddSample(uint32_t source, const IpSample& sample) {
  const std::optional<SamplePlace> place = aggregator_.AddSample(source, sample);
  KeepMemory();
  return place;
}

void Importer::AddBurst(uint32_t source, const BurstSample& burst) {
  aggregator_.AddBurst(source, burst);
  KeepMemory();
}

}  // namespace hbbp
