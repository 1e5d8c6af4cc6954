// Importer: counts the samples of a recording, of any processes.
#ifndef HBBP_LIB_COLLECT_IMPORTER_H_
#define HBBP_LIB_COLLECT_IMPORTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/counted_memory.h"
#include "base/work.h"
#include "collect/aggregator.h"
#include "collect/memory_use.h"
#include "collect/recorded_locator.h"
#include "events/samples.h"
#include "profile/profile_data.h"

namespace hbbp {

// One thread at a time. What happened is told in the order of time, as far as it is known; times
// are of one clock, or all 0.
//
// Counts are in `memory`, what else may become large is charged to it. As that fills up, tables are
// folded and slices become wider; where it is used up, samples and mappings are dropped, and
// counted.
class Importer {
 public:
  static constexpr uint32_t kKernelPid = RecordedLocator::kKernelPid;
  using SamplePlace = Aggregator::SamplePlace;

  // `memory` NULL: as much as there is.
  explicit Importer(ImportOptions options = {}, CountedMemory* memory = nullptr);

  uint32_t AddSource(SourceRecord source) { return aggregator_.AddSource(std::move(source)); }
  SourceRecord& source(uint32_t index) { return aggregator_.source(index); }
  size_t source_count() const { return aggregator_.sources().size(); }

  // RecordedLocator's of the same names.
  void AddMapping(uint32_t pid, const MappingEvent& mapping);
  void AddFork(uint32_t parent, uint32_t child) { locator_.AddFork(parent, child); }
  // A thread, of the same process or a new one, has the name of the one that made it.
  void AddThread(uint32_t parent, uint32_t parent_tid, uint32_t pid, uint32_t tid);
  void AddCode(uint32_t pid, RuntimeAddress address, uint64_t size, std::span<const uint8_t> bytes,
               const std::string& name, uint64_t time_ns, CodeLines lines = {});
  void AddExec(uint32_t pid) { locator_.AddExec(pid); }
  void NameThread(uint32_t pid, uint32_t tid, const std::string& name);
  void AddKernelFunction(NamedRange function) { locator_.AddKernelFunction(std::move(function)); }
  void SetKernelRelease(const std::string& release) { locator_.SetKernelRelease(release); }
  void SetBuildId(const std::string& path, std::vector<uint8_t> build_id) {
    locator_.SetBuildId(path, std::move(build_id));
  }
  std::string LocalPath(const std::string& path) const { return locator_.LocalPath(path); }
  std::vector<std::pair<uint32_t, uint32_t>> memory_modules() const {
    return locator_.memory_modules();
  }
  uint64_t mappings_beyond_limit() const { return locator_.mappings_beyond_limit(); }
  uint64_t code_beyond_limit() const { return locator_.code_beyond_limit(); }

  // Aggregator's of the same names.
  std::optional<SamplePlace> AddSample(uint32_t source, const IpSample& sample);
  void AddBurst(uint32_t source, const BurstSample& burst);
  uint64_t compactions() const { return aggregator_.compactions(); }
  bool has_widened_slices() const { return aggregator_.has_widened_slices(); }
  uint64_t slice_width_ns() const { return aggregator_.slice_width_ns(); }
  ProfileData Snapshot(CancelCheck* check = nullptr) { return aggregator_.Snapshot(check); }

  MemoryLosses dropped() const {
    return {aggregator_.dropped_samples(), locator_.dropped_mappings()};
  }
  CountedMemory* memory() const { return memory_; }

 private:
  void KeepMemory();

  const std::unique_ptr<CountedMemory> own_memory_;
  CountedMemory* const memory_;
  uint64_t keep_above_;  // bytes that are used; less needs no thought
  RecordedLocator locator_;
  Aggregator aggregator_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_IMPORTER_H_
