// Tests counts by slices of time: in the recorder, in files, merged, selected.
#include "profile/time_slices.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collect/recorder.h"
#include "profile/profile_file.h"
#include "profile/profile_merge.h"
#include "support/catch.h"
#include "support/profile_bytes.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kSlice = kSecond / 10;
constexpr uint64_t kBegin = 50 * kSecond;
constexpr uint32_t kSlicesSection = 8;

SourceRecord SourceOf(SourceKind kind) {
  SourceRecord source;
  source.kind = kind;
  return source;
}

class SlicedRecorder {
 public:
  explicit SlicedRecorder(uint64_t slice_ns = kSlice) : recorder_(0, {slice_ns}) {
    recorder_.AddSources({SourceOf(SourceKind::kEbs), SourceOf(SourceKind::kSwbt)});
    recorder_.aggregator().BeginSlices(kBegin);
    MappingEvent mapping;
    mapping.start = {0x10000};
    mapping.end = {0x20000};
    mapping.inode = 7;
    mapping.path = "/none/a.so";
    recorder_.OnMapping(mapping);
  }

  void Sample(uint64_t time_ns) {
    IpSample sample;
    sample.ip = {0x10010};
    sample.tid = 1;
    sample.time_ns = time_ns;
    sample.period = 100;
    recorder_.OnSample(sample);
  }

  // Records a burst of one stream.
  void Burst(uint64_t time_ns) {
    Burst(time_ns, std::vector<TakenBranch>(2, {{0x10020}, {0x10010}}));
  }

  void Burst(uint64_t time_ns, const std::vector<TakenBranch>& branches) {
    BurstSample burst;
    burst.tid = 1;
    burst.time_ns = time_ns;
    burst.period = 100;
    burst.source = 1;
    burst.branches = branches;
    recorder_.OnBurst(burst);
  }

  ProfileData Finish() {
    recorder_.Commit(UINT64_MAX);
    return recorder_.Snapshot();
  }

  Recorder& recorder() { return recorder_; }

 private:
  Recorder recorder_;
};

std::map<uint32_t, uint64_t> SamplesBySlice(const ProfileData& data) {
  std::map<uint32_t, uint64_t> samples;
  for (const IpCount& count : data.counts) samples[count.slice] += count.samples;
  return samples;
}

std::map<uint32_t, uint64_t> BurstsBySlice(const ProfileData& data) {
  std::map<uint32_t, uint64_t> bursts;
  for (const BranchCount& branch : data.branches) {
    if (branch.stream_end == kNoStream) bursts[branch.slice] += branch.number;
  }
  return bursts;
}

using BySlice = std::map<uint32_t, uint64_t>;

TEST_CASE("samples and bursts are counted in the slice of their time") {
  SlicedRecorder recorder;
  for (const uint64_t time :
       {kBegin - 5, kBegin, kBegin + kSlice - 1, kBegin + kSlice, kBegin + 5 * kSlice + 3}) {
    recorder.Sample(time);
    recorder.Burst(time);
  }
  const ProfileData data = recorder.Finish();
  CHECK(data.slices == TimeSlices{kSlice, 6});
  CHECK(SamplesBySlice(data) == BySlice{{0, 3}, {1, 1}, {5, 1}});
  CHECK(BurstsBySlice(data) == BySlice{{0, 3}, {1, 1}, {5, 1}});
  // Replicates depend on the burst, not on the slice.
  CHECK(data.branches.size() == 6);
}

TEST_CASE("without slices nothing has one") {
  SlicedRecorder recorder(0);
  recorder.Sample(kBegin + 7 * kSlice);
  recorder.Burst(kBegin + 7 * kSlice);
  const ProfileData data = recorder.Finish();
  CHECK(data.slices == TimeSlices{});
  CHECK(SamplesBySlice(data) == BySlice{{kNoSlice, 1}});
  CHECK(BurstsBySlice(data) == BySlice{{kNoSlice, 1}});
}

TEST_CASE("too many slices become half as many, twice as wide") {
  SlicedRecorder recorder;
  const uint64_t last = kBegin + 2500 * kSlice;
  for (uint64_t time = kBegin; time <= last; time += kSlice) {
    recorder.Sample(time);
    recorder.Burst(time);
    if (time == kBegin + 700 * kSlice) recorder.recorder().Commit(time);
  }
  const ProfileData data = recorder.Finish();
  CHECK(data.slices == TimeSlices{4 * kSlice, 626});
  const BySlice samples = SamplesBySlice(data);
  CHECK(samples == BurstsBySlice(data));
  CHECK(samples.size() == 626);
  for (const auto& [slice, number] : samples) CHECK(number == (slice == 625 ? 1 : 4));
  // All samples of a slice are one count.
  CHECK(data.counts.size() == 626);
}

TEST_CASE("slices are merged when counts take too many bytes") {
  SliceClock clock(kSlice);
  for (uint64_t slice = 0; slice < 10; ++slice) {
    clock.SliceAt(kBegin + slice * kSlice, [] { FAIL("there are few"); });
  }
  int doubled = 0;
  size_t without_slices = 1000;
  const auto bound = [&](size_t bytes) {
    clock.Bound(
        bytes, [&] { return without_slices; }, [&] { ++doubled; });
    return clock.slices();
  };
  CHECK(bound(SliceClock::kMaxBytes) == TimeSlices{kSlice, 10});
  CHECK(bound(SliceClock::kMaxBytes + 1) == TimeSlices{2 * kSlice, 5});
  CHECK(doubled == 1);
  // Slices are not halved because there is much code, but because there are many copies of it.
  without_slices = SliceClock::kMaxBytes;
  CHECK(bound(2 * SliceClock::kMaxBytes) == TimeSlices{2 * kSlice, 5});
  CHECK(bound(2 * SliceClock::kMaxBytes + 1) == TimeSlices{4 * kSlice, 3});
  CHECK(bound(SIZE_MAX).count == 2);
  CHECK(bound(SIZE_MAX).count == 1);
  CHECK(bound(SIZE_MAX) == TimeSlices{16 * kSlice, 1});
  CHECK(doubled == 4);
}

TEST_CASE("branches that are counted again take no more memory") {
  constexpr uint64_t kSlices = 1000, kBranches = 1200;
  SlicedRecorder recorder;
  std::vector<TakenBranch> branches;
  for (uint64_t i = 0; i < kBranches; ++i)
    branches.push_back({{0x10010 + 8 * i}, {0x10014 + 8 * i}});
  for (uint64_t slice = 0; slice < kSlices; ++slice) {
    recorder.Burst(kBegin + slice * kSlice, branches);
    if (slice % 10 == 0) recorder.recorder().Commit(kBegin + slice * kSlice);
  }
  const ProfileData data = recorder.Finish();
  CHECK(data.slices == TimeSlices{kSlice, kSlices});
  CHECK(data.branches.size() == kSlices * kBranches);
}

TEST_CASE("times that are absurd") {
  SlicedRecorder recorder(uint64_t{1} << 50);
  recorder.Sample(UINT64_MAX);
  const StatusOr<ProfileData> parsed = ParseProfile(SerializeProfile(recorder.Finish()));
  REQUIRE(parsed.ok());
  CHECK(parsed->slices.count > 1);
  CHECK(parsed->slices.count <= SliceClock::kMaxSlices);
  CHECK(parsed->slices.EndOf(parsed->slices.count - 1) >= UINT64_MAX - kBegin);
}

TEST_CASE("a recorder that is cleared begins its slices anew") {
  SlicedRecorder recorder;
  recorder.Sample(kBegin + 9 * kSlice);
  recorder.recorder().Clear();
  recorder.recorder().AddSource(SourceOf(SourceKind::kEbs));
  recorder.recorder().aggregator().BeginSlices(kBegin + 100 * kSlice);
  IpSample in_kernel;
  in_kernel.ip = {0xffffffff81000010};
  in_kernel.time_ns = kBegin + 101 * kSlice;
  recorder.recorder().OnSample(in_kernel);
  const ProfileData data = recorder.Finish();
  CHECK(SamplesBySlice(data) == BySlice{{1, 1}});
}

ProfileData SlicedProfile() {
  SlicedRecorder recorder;
  for (const uint64_t slice : {0, 2, 2, 5}) {
    recorder.Sample(kBegin + slice * kSlice);
    recorder.Burst(kBegin + slice * kSlice);
  }
  ProfileData data = recorder.Finish();
  data.start_time_ns = 1000 * kSecond;
  return data;
}

TEST_CASE("a slice alone has what was counted in it") {
  const ProfileData data = SlicedProfile();
  ProfileData third = data;
  REQUIRE(KeepSlice(2, &third));
  CHECK(SamplesBySlice(third) == BySlice{{2, 2}});
  CHECK(BurstsBySlice(third) == BySlice{{2, 2}});
  CHECK(third.slices == data.slices);
  ProfileData second = data;
  REQUIRE(KeepSlice(1, &second));
  CHECK(second.counts.empty());
  CHECK_FALSE(KeepSlice(6, &second));
}

BySlice MergedBySlice(std::vector<const ProfileData*> profiles) {
  return SamplesBySlice(MergeProfiles(profiles));
}

// Samples are in the slices {0, 1}, {2, 2}, {5, 1} of each.
TEST_CASE("profiles of one run keep their distances") {
  const ProfileData data = SlicedProfile();
  ProfileData child = data;
  child.start_time_ns += 3 * kSlice + kSlice / 4;
  ProfileData timeless = data;
  timeless.slices = {};
  for (IpCount& count : timeless.counts) count.slice = kNoSlice;
  for (BranchCount& branch : timeless.branches) branch.slice = kNoSlice;
  const std::vector<const ProfileData*> all = {&child, &data, &timeless};
  const ProfileData merged = MergeProfiles(all);
  CHECK(merged.slices == TimeSlices{kSlice, 9});
  CHECK(SamplesBySlice(merged) == BySlice{{0, 1}, {2, 2}, {3, 1}, {5, 3}, {8, 1}, {kNoSlice, 4}});

  // These are a child of the child, and one that only the first overlaps.
  ProfileData grandchild = data;
  grandchild.start_time_ns += 8 * kSlice;
  CHECK(MergedBySlice({&grandchild, &data, &child}) ==
        BySlice{{0, 1}, {2, 2}, {3, 1}, {5, 3}, {8, 2}, {10, 2}, {13, 1}});
  ProfileData parent = data;
  parent.duration_ns = 100 * kSlice;
  ProfileData late = data;
  late.start_time_ns += 90 * kSlice;
  CHECK(MergedBySlice({&parent, &child, &late}).rbegin()->first == 95);
}

TEST_CASE("images of one process keep their distances") {
  ProfileData first = SlicedProfile();
  first.pid = 77;
  ProfileData second = first;
  second.start_time_ns += 7 * kSlice;
  CHECK(MergedBySlice({&first, &second}) ==
        BySlice{{0, 1}, {2, 2}, {5, 1}, {7, 1}, {9, 2}, {12, 1}});
  // The process id was reused.
  second.start_time_ns += kSecond;
  CHECK(MergedBySlice({&first, &second}) == BySlice{{0, 2}, {2, 4}, {5, 2}});
}

TEST_CASE("runs are added up from the start of each") {
  const ProfileData data = SlicedProfile();
  ProfileData next = data;
  next.start_time_ns += 7 * kSlice;
  ProfileData tomorrow = data;
  tomorrow.start_time_ns += 86'400 * kSecond;
  const std::vector<const ProfileData*> runs = {&tomorrow, &data, &next};
  const ProfileData merged = MergeProfiles(runs);
  CHECK(merged.slices == TimeSlices{kSlice, 6});
  CHECK(SamplesBySlice(merged) == BySlice{{0, 3}, {2, 6}, {5, 3}});
}

TEST_CASE("merged slices are as wide as the widest") {
  const ProfileData data = SlicedProfile();
  ProfileData wide = data;
  wide.slices.width_ns *= 4;
  const std::vector<const ProfileData*> both = {&data, &wide};
  const ProfileData widened = MergeProfiles(both);
  CHECK(widened.slices == TimeSlices{4 * kSlice, 6});
  CHECK(SamplesBySlice(widened) == BySlice{{0, 4}, {1, 1}, {2, 2}, {5, 1}});
}

TEST_CASE("absurd times are merged, too") {
  ProfileData early = SlicedProfile();
  early.start_time_ns = 0;
  early.slices.width_ns = 1;
  early.duration_ns = UINT64_MAX;
  ProfileData late = SlicedProfile();
  late.start_time_ns = UINT64_MAX;
  late.slices.width_ns = uint64_t{1} << 60;
  const std::vector<const ProfileData*> both = {&early, &late};
  const ProfileData merged = MergeProfiles(both);
  CHECK(merged.slices.count <= SliceClock::kMaxSlices);
  CHECK(merged.slices.count > 1);
  CHECK(ParseProfile(SerializeProfile(merged)).ok());
}

TEST_CASE("files keep slices") {
  const ProfileData data = SlicedProfile();
  const StatusOr<ProfileData> parsed = ParseProfile(SerializeProfile(data));
  REQUIRE(parsed.ok());
  CHECK(parsed->slices == data.slices);
  CHECK(Describe(*parsed) == Describe(data));
}

TEST_CASE("who does not know slices reads the whole run") {
  ProfileBytes bytes(SlicedProfile());
  bytes.RemoveSection(kSlicesSection);
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(parsed->slices == TimeSlices{});
  CHECK(SamplesBySlice(*parsed) == BySlice{{kNoSlice, 4}});
  CHECK(parsed->counts.size() == 1);
}

TEST_CASE("slices are read wherever they are in the file") {
  ProfileBytes bytes(SlicedProfile());
  const std::vector<uint8_t> section = bytes.Section(kSlicesSection);
  bytes.RemoveSection(kSlicesSection);
  bytes.AddSection(kSlicesSection, section);
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(SlicedProfile()));
}

TEST_CASE("damaged slices are an error that says what is wrong") {
  constexpr size_t kWidth = 0, kCount = 8, kCounts = 12, kFirstSlice = 20;
  const auto message_of = [](size_t position, auto value) {
    ProfileBytes bytes(SlicedProfile());
    bytes.Patch(kSlicesSection, position, value);
    const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
    CHECK(parsed.status().code() == StatusCode::kBadFormat);
    return parsed.status().message();
  };
  CHECK(message_of(kWidth, uint64_t{0}).find("slices of 0 ns") != std::string::npos);
  CHECK(message_of(kWidth, uint64_t{1} << 62).find("slices of") != std::string::npos);
  CHECK(message_of(kCount, uint32_t{100'000}).find("100000 slices") != std::string::npos);
  CHECK(message_of(kCounts, uint64_t{2}).find("2 slices for 3 counts") != std::string::npos);
  CHECK(message_of(kFirstSlice, uint32_t{6}).find("slice 6 of 6") != std::string::npos);
  ProfileBytes longer(SlicedProfile());
  longer.Section(kSlicesSection).push_back(0);
  CHECK(ParseProfile(longer.Take()).status().code() == StatusCode::kBadFormat);
}

TEST_CASE("a file without slices has no section of them") {
  ProfileData data = SlicedProfile();
  const size_t with = SerializeProfile(data).size();
  data.slices = {};
  CHECK(SerializeProfile(data).size() < with);
}

}  // namespace
}  // namespace hbbp
