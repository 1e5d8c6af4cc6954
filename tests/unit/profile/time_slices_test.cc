// Counts by slices of time: in the recorder, in files, merged, selected.
#include "profile/time_slices.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/profile_file.h"
#include "profile/profile_merge.h"
#include "profile/recorder.h"
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
  explicit SlicedRecorder(uint64_t slice_ns = kSlice) : recorder_(0, slice_ns) {
    recorder_.AddSources({SourceOf(SourceKind::kEbs), SourceOf(SourceKind::kSwbt)});
    recorder_.BeginSlices(kBegin);
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

  // One stream.
  void Burst(uint64_t time_ns) {
    const std::vector<TakenBranchSample> branches(2, {{0x10020}, {0x10010}});
    BurstSample burst;
    burst.tid = 1;
    burst.time_ns = time_ns;
    burst.period = 100;
    burst.source = 1;
    burst.branches = branches;
    recorder_.OnBurst(burst);
  }

  ProfileData Finish() {
    recorder_.Settle(UINT64_MAX);
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
  // Replicates are by burst, in whatever slice.
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
    if (time == kBegin + 700 * kSlice) recorder.recorder().Settle(time);
  }
  const ProfileData data = recorder.Finish();
  CHECK(data.slices == TimeSlices{4 * kSlice, 626});
  const BySlice samples = SamplesBySlice(data);
  CHECK(samples == BurstsBySlice(data));
  CHECK(samples.size() == 626);
  for (const auto& [slice, number] : samples) CHECK(number == (slice == 625 ? 1 : 4));
  // Those of a slice are one count each.
  CHECK(data.counts.size() == 626);
}

TEST_CASE("a recorder that is cleared begins its slices anew") {
  SlicedRecorder recorder;
  recorder.Sample(kBegin + 9 * kSlice);
  recorder.recorder().Clear();
  recorder.recorder().AddSource(SourceOf(SourceKind::kEbs));
  recorder.recorder().BeginSlices(kBegin + 100 * kSlice);
  IpSample in_kernel;
  in_kernel.in_kernel = true;
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
  const auto selected = SelectSlice(data, 2);
  REQUIRE(selected.has_value());
  CHECK(SamplesBySlice(*selected) == BySlice{{2, 2}});
  CHECK(BurstsBySlice(*selected) == BySlice{{2, 2}});
  CHECK(selected->slices == data.slices);
  CHECK(SelectSlice(data, 1)->counts.empty());
  CHECK_FALSE(SelectSlice(data, 6).has_value());
}

TEST_CASE("merged slices keep their places in time") {
  const ProfileData data = SlicedProfile();
  ProfileData later = data;
  later.start_time_ns += 3 * kSlice + kSlice / 4;
  ProfileData timeless = data;
  timeless.slices = {};
  for (IpCount& count : timeless.counts) count.slice = kNoSlice;
  for (BranchCount& branch : timeless.branches) branch.slice = kNoSlice;
  const std::vector<const ProfileData*> all = {&later, &data, &timeless};
  const ProfileData merged = MergeProfiles(all);
  CHECK(merged.slices == TimeSlices{kSlice, 9});
  CHECK(SamplesBySlice(merged) == BySlice{{0, 1}, {2, 2}, {3, 1}, {5, 3}, {8, 1}, {kNoSlice, 4}});

  ProfileData wide = data;
  wide.slices.width_ns *= 4;
  const std::vector<const ProfileData*> both = {&data, &wide};
  const ProfileData widened = MergeProfiles(both);
  CHECK(widened.slices == TimeSlices{4 * kSlice, 6});
  CHECK(SamplesBySlice(widened) == BySlice{{0, 4}, {1, 1}, {2, 2}, {5, 1}});

  ProfileData tomorrow = data;
  tomorrow.start_time_ns += 86'400 * kSecond;
  const std::vector<const ProfileData*> days = {&data, &tomorrow};
  const ProfileData of_days = MergeProfiles(days);
  CHECK(of_days.slices.count <= SliceClock::kMostSlices);
  CHECK(SamplesBySlice(of_days).size() == 2);
}

TEST_CASE("absurd times are merged, too") {
  ProfileData early = SlicedProfile();
  early.start_time_ns = 0;
  early.slices.width_ns = 1;
  ProfileData late = SlicedProfile();
  late.start_time_ns = UINT64_MAX;
  late.slices.width_ns = SliceClock::kWidestNs;
  const std::vector<const ProfileData*> both = {&early, &late};
  const ProfileData merged = MergeProfiles(both);
  CHECK(merged.slices.count <= SliceClock::kMostSlices);
  CHECK(merged.slices.count > 1);
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
  CHECK(message_of(kWidth, UINT64_MAX).find("slices of") != std::string::npos);
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
