// Recorder: turns the samples of the calling process into ProfileData.
#ifndef HBBP_LIB_PROFILE_RECORDER_H_
#define HBBP_LIB_PROFILE_RECORDER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "profile/address_space.h"
#include "profile/profile_data.h"
#include "samples/samples.h"

namespace hbbp {

// One thread at a time.
class Recorder : public SampleSink {
 public:
  // Samples of one backend belong to `source` from here on; returns its index.
  uint32_t AddSource(SourceRecord source);
  SourceRecord& source(uint32_t index) { return data_.sources[index]; }

  // Notes what is mapped now, as mapped at `time_ns`.
  void AddCurrentMappings(uint64_t time_ns);

  // Samples of this thread are the library's own work and are dropped.
  void IgnoreThread(uint32_t tid) { ignored_threads_.insert(tid); }

  // SampleSink. Samples wait until the drain is complete, since the mapping that they belong to
  // may still be in another CPU's buffer.
  void OnSample(const IpSample& sample) override { waiting_.push_back(sample); }
  void OnMapping(MappingEvent mapping) override;
  void OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) override;
  void OnLost(uint64_t samples) override { data_.sources[current_source_].lost += samples; }
  void OnThrottled() override { ++data_.sources[current_source_].throttled; }

  // Counts the waiting samples taken up to `complete_ns`: everything mapped before is known.
  void Settle(uint64_t complete_ns);

  uint64_t samples() const { return samples_ + waiting_.size(); }

  // The counts so far, sorted.
  ProfileData Snapshot() const;

  void Clear();

 private:
  struct Key {
    uint32_t source, thread, module;
    uint64_t offset;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Sum {
    uint64_t samples = 0;
    double period_sum = 0;
    double period_squares = 0;
  };
  // What is known of a module beyond its record.
  struct ModuleState {
    RuntimeAddress header;    // of file offset 0, when it was last seen mapped
    bool identified = false;  // its first sample was seen
  };

  uint32_t ModuleFor(const MappingEvent& mapping);
  uint32_t SpecialModule(ModuleKind kind, const std::string& path);
  uint32_t ThreadFor(uint32_t pid, uint32_t tid);
  void Count(const IpSample& sample);
  void Identify(uint32_t module);
  void CaptureAround(uint32_t module, RuntimeAddress address);

  ProfileData data_;
  uint32_t current_source_ = 0;
  AddressSpace address_space_;
  std::vector<ModuleState> module_states_;
  std::map<std::tuple<std::string, uint64_t, uint64_t, std::vector<uint8_t>>, uint32_t> modules_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> threads_;
  std::map<uint32_t, std::string> thread_names_;
  std::set<uint32_t> ignored_threads_;
  std::unordered_set<uint64_t> captured_pages_;
  std::unordered_map<Key, Sum, KeyHash> sums_;
  std::vector<IpSample> waiting_;
  uint64_t samples_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_RECORDER_H_
