// Tests ProfileMerger: that sums do not depend on order or grouping, that their standard errors are
// those of as many bursts, and that what is dropped bounds them. The profiles are random recordings
// of a fleet of hosts, with the process ids of containers. CanonicalSum describes a profile by the
// keys of its records, so that indices do not matter.
#include "profile/profile_merger.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "profile/profile_file.h"
#include "profile/profile_merge.h"
#include "support/catch.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

constexpr uint64_t kPeriod = 1'000'003;
constexpr size_t kBurstsEach = 20;

ProfileData Merge(const std::vector<ProfileData>& profiles, MergeOptions options = {}) {
  ProfileMerger merger(options);
  CancelCheck check(nullptr);
  for (const ProfileData& profile : profiles) merger.Add(profile, &check);
  return merger.Finish(&check);
}

BranchCount RandomBranch(uint32_t bits, size_t replicate) {
  BranchCount branch;
  branch.from_module = bits % 3;
  branch.to_module = bits / 3 % 3;
  branch.from = 0x100 + bits / 9 % 50;
  branch.to = 0x200 + bits / 9 % 50;
  branch.stream_end = branch.to + 8;
  branch.number = 1;
  branch.weights = static_cast<double>(kPeriod) / (1 + bits % 5);
  branch.replicates.sums[replicate] = static_cast<float>(branch.weights);
  return branch;
}

// Returns a recording of a program and a library, which have the same build IDs everywhere, and of
// generated code. Pids are 1 or 2, on four hosts.
ProfileData Recording(uint32_t number) {
  std::mt19937 random(number);
  ProfileData data;
  data.pid = 1 + number % 2;
  data.host = "host" + std::to_string(number % 4);
  data.start_time_ns = 1'000'000'000'000 + number * 7'000'000'000'000;
  data.duration_ns = 1'000'000'000;
  data.sources.resize(1);
  data.sources[0].kind = SourceKind::kSwbt;
  data.sources[0].period = kPeriod;
  data.sources[0].trace.mode = number % 3 == 0 ? "lookahead" : "breakpoint";
  data.sources[0].trace.bursts = kBurstsEach;
  data.threads = {{data.pid, data.pid, "main"}, {data.pid, 100 + number, "worker"}};
  data.modules.resize(3);
  data.modules[0].build_id = {1, 2, 3};
  data.modules[1].build_id = {4, 5, 6};
  data.modules[2].kind = ModuleKind::kAnonymous;
  data.modules[2].path = "[anonymous]";
  if (number % 2 == 1) std::swap(data.modules[0], data.modules[1]);
  for (uint32_t i = 0; i < 60; ++i) {
    data.counts.push_back(MakeCount(random() % 3, 0, random() % 2, 0x1000 + random() % 40,
                                    1 + random() % 9, kPeriod + random() % 7));
  }
  for (size_t burst = 0; burst < kBurstsEach; ++burst) {
    for (int i = 0; i < 4; ++i) {
      data.branches.push_back(RandomBranch(random(), ReplicateOf(burst)));
      data.branches.back().thread = random() % 2;
    }
  }
  Normalize(&data, nullptr);
  return data;
}

std::vector<ProfileData> Fleet(uint32_t size) {
  std::vector<ProfileData> profiles;
  for (uint32_t i = 0; i < size; ++i) profiles.push_back(Recording(i));
  return profiles;
}

using Sums = std::vector<double>;

std::map<std::string, Sums> CanonicalSum(const ProfileData& data) {
  std::map<std::string, Sums> sums;
  const auto module_name = [&data](uint32_t index) {
    const ModuleRecord& module = data.modules[index];
    std::string name = std::to_string(module.process) + ":";
    for (const uint8_t byte : module.build_id) name += std::to_string(byte) + ".";
    return name;
  };
  const auto thread_name = [&data](uint32_t index) {
    return std::to_string(data.threads[index].pid) + "/" + std::to_string(data.threads[index].tid);
  };
  for (const IpCount& count : data.counts) {
    sums["count " + module_name(count.module) + ' ' + std::to_string(count.offset) + ' ' +
         thread_name(count.thread)] = {static_cast<double>(count.samples), count.period_sum,
                                       count.period_squares};
  }
  for (const BranchCount& branch : data.branches) {
    Sums& sum = sums["branch " + module_name(branch.from_module) + ' ' +
                     std::to_string(branch.from) + " to " + module_name(branch.to_module) + ' ' +
                     std::to_string(branch.to) + ' ' + thread_name(branch.thread)];
    sum = {static_cast<double>(branch.number), branch.weights};
    sum.insert(sum.end(), branch.replicates.sums.begin(), branch.replicates.sums.end());
  }
  sums["whole"] = {static_cast<double>(data.recordings), static_cast<double>(data.duration_ns),
                   static_cast<double>(data.sources[0].trace.bursts),
                   static_cast<double>(data.sources[0].trace.mode.size())};
  return sums;
}

void CheckEqualWithinRounding(const ProfileData& one, const ProfileData& other) {
  const auto a = CanonicalSum(one), b = CanonicalSum(other);
  REQUIRE(a.size() == b.size());
  for (const auto& [key, sums] : a) {
    INFO(key);
    REQUIRE(b.contains(key));
    REQUIRE(sums.size() == b.at(key).size());
    for (size_t i = 0; i < sums.size(); ++i) {
      CHECK(std::abs(sums[i] - b.at(key)[i]) <= 1e-5 * std::abs(sums[i]));
    }
  }
}

double VarianceOfSum(const ProfileData& data) {
  ReplicateSums sums;
  for (const BranchCount& branch : data.branches) sums.Add(branch.replicates);
  double mean = 0, squares = 0;
  for (const float sum : sums.sums) mean += static_cast<double>(sum) / kReplicates;
  for (const float sum : sums.sums) squares += std::pow(static_cast<double>(sum) - mean, 2);
  return squares * kReplicates / (kReplicates - 1);
}

// Returns a recording of bursts that are one branch each, which all weigh 1.
ProfileData EqualBursts(uint32_t number, size_t bursts) {
  ProfileData data = Recording(number);
  data.counts.clear();
  data.branches.clear();
  for (size_t burst = 0; burst < bursts; ++burst) {
    BranchCount branch = RandomBranch(0, ReplicateOf(burst));
    branch.weights = 1;
    branch.replicates.sums[ReplicateOf(burst)] = 1;
    data.branches.push_back(branch);
  }
  Normalize(&data, nullptr);
  return data;
}

TEST_CASE("a sum does not depend on the order of profiles") {
  std::vector<ProfileData> fleet = Fleet(60);
  const ProfileData at_once = Merge(fleet);
  std::mt19937 random(1);
  for (int i = 0; i < 5; ++i) {
    std::shuffle(fleet.begin(), fleet.end(), random);
    CheckEqualWithinRounding(Merge(fleet), at_once);
  }
}

TEST_CASE("a sum does not depend on which profiles were merged before, or saved between") {
  const std::vector<ProfileData> fleet = Fleet(64);
  const ProfileData at_once = Merge(fleet);

  ProfileData one_by_one = fleet.front();
  for (size_t i = 1; i < fleet.size(); ++i) one_by_one = Merge({one_by_one, fleet[i]});
  CheckEqualWithinRounding(one_by_one, at_once);

  std::vector<ProfileData> level = fleet;
  while (level.size() > 1) {
    std::vector<ProfileData> next;
    for (size_t i = 0; i < level.size(); i += 2) {
      const ProfileData pair = Merge({level[i], level[i + 1]});
      next.push_back(ParseProfile(SerializeProfile(pair)).value());
    }
    level = std::move(next);
  }
  CheckEqualWithinRounding(level.front(), at_once);

  const std::vector<ProfileData> first(fleet.begin(), fleet.begin() + 5);
  std::vector<ProfileData> unequal(fleet.begin() + 5, fleet.end());
  unequal.push_back(Merge(first));
  CheckEqualWithinRounding(Merge(unequal), at_once);
}

TEST_CASE("more counts than are added up at a time make the same sum") {
  std::vector<ProfileData> fleet = Fleet(2000);
  uint64_t samples = 0, branches = 0;
  for (const ProfileData& profile : fleet) {
    for (const IpCount& count : profile.counts) samples += count.samples;
    for (const BranchCount& branch : profile.branches) branches += branch.number;
  }
  const ProfileData merged = Merge(fleet, {.drop_threads = true});
  for (const IpCount& count : merged.counts) samples -= count.samples;
  for (const BranchCount& branch : merged.branches) branches -= branch.number;
  CHECK(samples == 0);
  CHECK(branches == 0);
  std::reverse(fleet.begin(), fleet.end());
  CheckEqualWithinRounding(Merge(fleet, {.drop_threads = true}), merged);
}

TEST_CASE("the variance of a sum of recordings is the sum of their variances") {
  constexpr uint32_t kRecordings = 1000;
  for (const size_t bursts : {1, 5, 20, 200}) {
    std::vector<ProfileData> fleet;
    for (uint32_t i = 0; i < kRecordings; ++i) fleet.push_back(EqualBursts(i, bursts));
    // The variance of a Poisson number of bursts is that number. 16 replicates estimate it to
    // 37 % (one standard error).
    const double ratio = VarianceOfSum(Merge(fleet)) / static_cast<double>(kRecordings * bursts);
    INFO(bursts << " bursts each: " << ratio);
    CHECK(ratio > 0.25);
    CHECK(ratio < 2.2);
  }
}

TEST_CASE("rotation keeps the variance of a recording, and a recording alone as it is") {
  const ProfileData recording = Recording(3);
  ProfileData rotated = recording;
  for (BranchCount& branch : rotated.branches) RotateReplicates(5, &branch.replicates);
  CHECK(VarianceOfSum(rotated) == Approx(VarianceOfSum(recording)));
  CHECK(Describe(Merge({recording})) == Describe(recording));
  std::vector<size_t> drawn(kReplicates);
  for (uint32_t i = 0; i < 1600; ++i) ++drawn[ReplicateRotation(Recording(i))];
  CHECK(*std::min_element(drawn.begin(), drawn.end()) > 60);
  CHECK(*std::max_element(drawn.begin(), drawn.end()) < 140);
}

TEST_CASE("a sum is not taken for a recording, whatever number of recordings a file has") {
  ProfileData many = Recording(0);
  for (const uint64_t recordings : {UINT64_MAX - 1, UINT64_MAX}) {
    many.recordings = recordings;
    const ProfileData sum = Merge({many, Recording(1), Recording(2), Recording(3)});
    CHECK(sum.recordings == UINT64_MAX);
    CHECK(std::any_of(sum.modules.begin(), sum.modules.end(),
                      [](const ModuleRecord& module) { return module.process != 0; }));
  }
  many.recordings = 1;
  CHECK(Merge({many}).recordings == 1);
}

TEST_CASE("the counters of a rotated replicate are the next ones") {
  ReplicateSums sums;
  sums.sums[15] = 7;
  RotateReplicates(2, &sums);
  CHECK(sums.sums[1] == 7);
}

TEST_CASE("generated code is kept apart by process and recording, also by sums of sums") {
  ProfileData here = Recording(0), there = Recording(1), elsewhere = Recording(2);
  for (ProfileData* profile : {&here, &there, &elsewhere}) profile->pid = 1;
  const auto generated = [](const ProfileData& data) {
    return std::count_if(data.modules.begin(), data.modules.end(), [](const ModuleRecord& module) {
      return module.kind == ModuleKind::kAnonymous;
    });
  };
  CHECK(generated(Merge({here, here})) == 1);
  CHECK(generated(Merge({here, there})) == 2);
  here.pid = 2;
  const ProfileData two = Merge({here, there});
  CHECK(two.pid == 0);
  CHECK(generated(Merge({two, elsewhere})) == 3);
  CHECK(generated(Merge({two, two})) == 2);
}

TEST_CASE("without threads, a sum has one") {
  const ProfileData merged = Merge(Fleet(50), {.drop_threads = true});
  REQUIRE(merged.threads.size() == 1);
  CHECK(merged.threads[0].pid == 0);
  CHECK(merged.threads[0].tid == 0);
  CHECK(merged.threads[0].name.empty());
  CHECK(merged.recordings == 50);
}

TEST_CASE("without slices, a sum has none, and the same counts") {
  ProfileData sliced = Recording(0);
  sliced.slices = {10'000'000, 3};
  for (size_t i = 0; i < sliced.counts.size(); ++i) sliced.counts[i].slice = i % 3;
  for (size_t i = 0; i < sliced.branches.size(); ++i) sliced.branches[i].slice = i % 3;
  const ProfileData kept = Merge({sliced, Recording(1), sliced});
  const ProfileData dropped = Merge({sliced, Recording(1), sliced}, {.drop_slices = true});
  CHECK(kept.slices == TimeSlices{10'000'000, 3});
  CHECK(dropped.slices == TimeSlices{});
  const auto samples = [](const ProfileData& data) {
    return std::accumulate(data.counts.begin(), data.counts.end(), uint64_t{0},
                           [](uint64_t sum, const IpCount& count) { return sum + count.samples; });
  };
  CHECK(samples(kept) == samples(dropped));
  CHECK(kept.duration_ns == dropped.duration_ns);
  for (const IpCount& count : dropped.counts) CHECK(count.slice == kNoSlice);
  for (const BranchCount& branch : dropped.branches) CHECK(branch.slice == kNoSlice);
}

TEST_CASE("memory is bounded by the cache lines of the sum, with and without slices") {
  constexpr size_t kLines = 10'000, kProfiles = 100;
  ProfileData profile = Recording(0);
  profile.counts.resize(1);
  profile.branches.clear();
  for (size_t i = 0; i < kLines; ++i) profile.ibs_lines.push_back({0, 0, 64 * i, 1, 0, 0, 0, 0, 0});
  for (const bool has_slices : {false, true}) {
    CAPTURE(has_slices);
    if (has_slices) profile.slices = {10'000'000, 3};
    ProfileMerger merger;
    CancelCheck check(nullptr);
    for (size_t i = 0; i < kProfiles; ++i) {
      merger.Add(profile, &check);
      CHECK(merger.records() < 10 * kLines);
    }
    const ProfileData merged = merger.Finish(&check);
    REQUIRE(merged.ibs_lines.size() == kLines);
    for (const IbsAccesses& line : merged.ibs_lines) REQUIRE(line.loads == kProfiles);
  }
}

TEST_CASE("modes of the tracer are listed once, however profiles are merged") {
  TraceStatistics list;
  for (const char* mode : {"b", "a; b", "b; a", "c; b"}) {
    TraceStatistics more;
    more.mode = mode;
    AddTraceStatistics(more, &list);
  }
  CHECK(list.mode == "b; a; c");
}

TEST_CASE("names without end are merged soon") {
  constexpr size_t kNames = 500'000;
  ProfileData hostile = Recording(0);
  for (size_t i = 0; i < kNames; ++i) {
    hostile.ibs_names.push_back(std::to_string(i));
    hostile.sources[0].trace.mode += std::to_string(i) + "; ";
  }
  hostile.sources[0].trace.method = hostile.sources[0].trace.mode;
  const ProfileData sum = Merge({hostile, Recording(1), hostile});
  CHECK(sum.ibs_names == hostile.ibs_names);
  const ProfileData other_order = Merge({Recording(1), hostile});
  CHECK(other_order.sources[0].trace.mode.size() < 5000);
  CHECK(other_order.sources[0].trace.mode.starts_with(Recording(1).sources[0].trace.mode +
                                                      "; lookahead0; 1;"));
}

TEST_CASE("a merge is cancelled between profiles") {
  CancelFlag flag;
  flag.Set(true);
  CancelCheck check(&flag);
  ProfileMerger merger;
  CHECK_THROWS_AS(merger.Add(Recording(0), &check), WorkCancelled);
}

}  // namespace
}  // namespace hbbp
