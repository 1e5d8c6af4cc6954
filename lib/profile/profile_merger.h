// ProfileMerger adds profiles up one at a time, in memory that is bounded by what is in the sum and
// not by how many profiles there are.
//
// Counts of a profile are appended to those of the sum; when the appended ones are as many as the
// sum has, they are sorted and added up. So each is sorted a few times, and the lists are at most
// about twice as long as those of the sum and the last profile. Sums of IBS samples are added up by
// themselves, as a profile of few counts may have many cache lines. Two things grow
// with the number of profiles: 40 bytes of times each, and all counts from the first profile with
// slices on, which wait for Finish, because where slices belong depends on all profiles
// (slice_merger.h). Sums of IBS samples have no slices, and do not wait.
//
// Counts and errors do not depend on the order of profiles, nor on which were merged before, except
// for rounding: counts, periods and their squares, weights and replicates are sums. What is of the
// first profile depends on the order: command, host, notes of sources, names. The duration of runs
// that overlap, and where slices are, depend on which were merged before, because a sum knows the
// start and duration of its runs together (profile_runs.h). The replicates of bursts need one thing
// more to be independent of order, and for the errors to be right. A recording assigns its first
// burst, its second one and so on to the same replicates as any other does. Added up as they are,
// the replicates of n recordings of N bursts each get n times what chance gave those of one: their
// scatter grows as n and not as its root, and the standard error of the sum of 10,000 is up to 100
// times too large.
//
//   3 bursts of weight 1 in replicates 0, 4 and 4: the variance is 16/15 * (1 + 4 - 9/16) = 4.73,
//   expected for 3 bursts 3. 100 such recordings: 10,000 * 4.73, while that of 300 bursts is 300.
//
// So the replicates of each recording are rotated by a number that is drawn from what it has in it.
// Recordings are then independent, and the expected variance of the sum is the sum of variances. A
// sum knows that its recordings were rotated (ProfileData::recordings), and is not rotated again.
#ifndef HBBP_LIB_PROFILE_PROFILE_MERGER_H_
#define HBBP_LIB_PROFILE_PROFILE_MERGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/work.h"
#include "profile/profile_data.h"
#include "profile/profile_runs.h"

namespace hbbp {

// Maps the elements of one profile's list to indices of the merged list.
template <typename Record, typename Key>
class MergedIndex {
 public:
  // Returns the index in `merged`, and whether the record is new there.
  std::pair<uint32_t, bool> Add(const Key& key, const Record& record, std::vector<Record>* merged) {
    auto [index, added] = indices_.emplace(key, static_cast<uint32_t>(merged->size()));
    if (added) merged->push_back(record);
    return {index->second, added};
  }

 private:
  std::map<Key, uint32_t> indices_;
};

// Says what of the profiles is not in the sum.
struct MergeOptions {
  bool drop_threads = false;  // all are one thread 0
  bool drop_slices = false;
};

// The indices in the sum of what is in a profile.
struct MergedIndices {
  std::vector<uint32_t> sources, threads, modules, names;

  template <typename Count>
  void Map(Count* count) const {
    count->source = sources[count->source];
    count->thread = threads[count->thread];
  }
};

// Adds up kept bursts (kept_burst_merger.h does it), which depend on the order of profiles.
class BurstMerger {
 public:
  virtual ~BurstMerger() = default;
  virtual void Add(const ProfileData& profile, const MergedIndices& indices) = 0;
  // Returns ProfileData::kept_bursts of the sum.
  virtual std::vector<uint8_t> Take() = 0;
};

class ProfileMerger {
 public:
  // Some of the elements of a list.
  struct Part {
    size_t begin = 0, size = 0;

    template <typename Record>
    std::span<Record> In(std::vector<Record>* list) const {
      return std::span(*list).subspan(begin, size);
    }
  };

  // Without `bursts`, which must outlive the merger, bursts that profiles keep are not in the sum.
  explicit ProfileMerger(MergeOptions options = {}, BurstMerger* bursts = nullptr)
      : options_(options), bursts_(bursts) {}

  // Throws WorkCancelled. After any exception the merger can only be destroyed.
  void Add(const ProfileData& profile, CancelCheck* check);

  size_t size() const { return times_.size(); }
  // Returns how many counts, branches and sums of IBS samples it holds, added up or not.
  size_t records() const;

  // Returns the sum of what was added, which must be something. Throws WorkCancelled. The merger
  // can only be destroyed then.
  ProfileData Finish(CancelCheck* check);

 private:
  using ThreadKey = std::pair<uint32_t, uint32_t>;

  // The counts of the sum that have the slices of a profile.
  struct SlicedCounts {
    size_t profile;  // index of times_
    Part counts, branches;
  };

  void AddRun(const ProfileData& profile);
  MergedIndices AddRecords(const ProfileData& profile, CancelCheck* check);
  uint32_t AddSource(const SourceRecord& source, CancelCheck* check);
  uint32_t AddModule(const ModuleRecord& module, uint64_t process);
  void AppendCounts(const ProfileData& profile, const MergedIndices& indices);
  void AppendIbs(const ProfileData& profile, const MergedIndices& indices);
  void AddUp(CancelCheck* check);
  void MapSlices();

  const MergeOptions options_;
  BurstMerger* const bursts_;
  ProfileData merged_;
  std::vector<RunTimes> times_;
  MergedIndex<ThreadRecord, ThreadKey> threads_;
  MergedIndex<ModuleRecord, std::string> modules_;  // by ModuleKey
  MergedIndex<std::string, std::string> names_;     // of IBS
  size_t added_up_ = 0;      // number of counts and branches when they were last added up
  size_t ibs_added_up_ = 0;  // number of sums of IBS samples then
  std::vector<SlicedCounts> sliced_;
  size_t rotation_ = 0;    // of the last recording
  bool has_sums_ = false;  // among what was added
};

// Returns by how many replicates those of a recording are rotated in a sum.
size_t ReplicateRotation(const ProfileData& recording);
void RotateReplicates(size_t by, ReplicateSums* replicates);

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_PROFILE_MERGER_H_
