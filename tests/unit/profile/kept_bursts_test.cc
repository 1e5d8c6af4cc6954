// Tests kept bursts as data: in a file, in sums, and where they are damaged.
#include "profile/kept_bursts.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "profile/kept_burst_merger.h"
#include "profile/kept_burst_reader.h"
#include "profile/profile_file.h"
#include "profile/profile_merge.h"
#include "support/catch.h"
#include "support/profile_bytes.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

constexpr uint32_t kBurstsSection = 10;

// Two bursts in the branches A, B, C of FullProfile: A B A B A, and C.
RecordedBursts TwoBursts() {
  RecordedBursts bursts;
  bursts.number = 2;
  bursts.sources = {2};
  bursts.threads = {0, 1};
  bursts.branches = {{0, 0, 0x1040, 0x1000}, {0, 2, 0x1050, 0x7000}, {kNoModule, 0, 9, 0x2000}};
  bursts.bytes = {0, 1, 20, 0, 0, 0x80, 0x3f, 5, 0, 0, 1, 0, 0, 2,  //
                  0, 0, 3,  0, 0, 0,    0,    1, 2};
  return bursts;
}

ProfileData ProfileWith(RecordedBursts recording) {
  ProfileData data = FullProfile();
  data.kept_bursts = SerializeKeptBursts({7, {std::move(recording)}});
  return data;
}

std::vector<KeptBurst> ReadAll(const RecordedBursts& recording) {
  KeptBurstReader reader(recording);
  std::vector<KeptBurst> all;
  KeptBurst burst;
  while (reader.Next(&burst)) all.push_back(burst);
  CHECK(reader.status().ok());
  return all;
}

TEST_CASE("the documented bytes are these bursts") {
  const std::vector<KeptBurst> bursts = ReadAll(TwoBursts());
  REQUIRE(bursts.size() == 2);
  CHECK(bursts[0].source == 2);
  CHECK(bursts[0].thread == 1);
  CHECK(bursts[0].time_ns == 10);
  CHECK(bursts[0].weight == 1);
  CHECK(bursts[0].branches == std::vector<uint32_t>{0, 1, 0, 1, 0});
  CHECK(bursts[1].thread == 0);
  CHECK(bursts[1].time_ns == 8);
  CHECK(bursts[1].branches == std::vector<uint32_t>{2});
}

// Accesses of the first burst: two instructions of one stream, and one of them again.
RecordedBursts BurstsWithAccesses() {
  RecordedBursts bursts = TwoBursts();
  bursts.access_bytes = {0, 3, 1, 4, 16, 0, 4, 31, 2, 4, 2};
  return bursts;
}

TEST_CASE("the documented bytes are these accesses") {
  const std::vector<KeptBurst> bursts = ReadAll(BurstsWithAccesses());
  REQUIRE(bursts.size() == 2);
  // The third is at the predicted address, and one more.
  CHECK(bursts[0].accesses ==
        std::vector<RecordedAccess>{{8, 1, 4}, {0 - uint64_t{16}, 1, 8}, {9, 3, 4}});
  CHECK(bursts[1].accesses.empty());
}

TEST_CASE("accesses come back from a file, also of one recording of several") {
  ProfileData data = FullProfile();
  data.kept_bursts = SerializeKeptBursts({0, {TwoBursts(), BurstsWithAccesses()}});
  const StatusOr<KeptBursts> bursts = ParseKeptBursts(data);
  REQUIRE(bursts.ok());
  REQUIRE(bursts->recordings.size() == 2);
  CHECK(bursts->recordings[0] == TwoBursts());
  CHECK(bursts->recordings[1] == BurstsWithAccesses());
}

TEST_CASE("damaged bytes of accesses are errors") {
  const RecordedBursts whole = BurstsWithAccesses();
  KeptBurst burst;
  for (size_t size = 1; size < whole.access_bytes.size(); ++size) {
    CAPTURE(size);
    RecordedBursts cut = whole;
    cut.access_bytes.resize(size);
    KeptBurstReader reader(cut);
    while (reader.Next(&burst)) {
    }
    CHECK(reader.status().code() == StatusCode::kBadFormat);
  }
  for (size_t position = 0; position < whole.access_bytes.size(); ++position) {
    for (const int value : {1, 5, 0x7f, 0x80, 0xff}) {
      RecordedBursts changed = whole;
      changed.access_bytes[position] = static_cast<uint8_t>(value);
      KeptBurstReader reader(changed);
      while (reader.Next(&burst)) {
        for (const RecordedAccess& access : burst.accesses) {
          CHECK(access.branch < burst.branches.size());
        }
      }
    }
  }
}

TEST_CASE("bursts come back from a file, and a profile without has no section for them") {
  const ProfileData data = ProfileWith(TwoBursts());
  const StatusOr<ProfileData> parsed = ParseProfile(SerializeProfile(data));
  REQUIRE(parsed.ok());
  const StatusOr<KeptBursts> bursts = ParseKeptBursts(*parsed);
  REQUIRE(bursts.ok());
  CHECK(bursts->not_kept == 7);
  REQUIRE(bursts->recordings.size() == 1);
  CHECK(bursts->recordings[0] == TwoBursts());
  const KeptBurstTotals totals = ReadKeptBurstTotals(parsed->kept_bursts);
  CHECK(totals.kept == 2);
  CHECK(totals.not_kept == 7);
  const size_t section = data.kept_bursts.size(), entry = 4 + 4 + 8 + 8 + 8;
  CHECK(SerializeProfile(data).size() == SerializeProfile(FullProfile()).size() + section + entry);
  CHECK(ReadKeptBurstTotals({}).kept == 0);
}

TEST_CASE("a reader that does not know bursts reads the rest") {
  ProfileBytes bytes(ProfileWith(TwoBursts()));
  bytes.AddSection(1000, std::exchange(bytes.Section(kBurstsSection), {}));
  bytes.RemoveSection(kBurstsSection);
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(FullProfile()));
  CHECK(parsed->kept_bursts.empty());
}

TEST_CASE("damaged sections are errors") {
  const ProfileData whole = ProfileWith(TwoBursts());
  for (size_t size = 1; size < whole.kept_bursts.size(); ++size) {
    CAPTURE(size);
    ProfileData data = whole;
    data.kept_bursts.resize(size);
    CHECK(ParseKeptBursts(data).status().code() == StatusCode::kBadFormat);
  }
  for (const int part : {0, 1, 2, 3}) {
    CAPTURE(part);
    RecordedBursts wrong = TwoBursts();
    if (part == 0) wrong.sources[0] = 3;
    if (part == 1) wrong.threads[1] = 2;
    if (part == 2) wrong.branches[0].from_module = 4;
    if (part == 3) wrong.branches[2].to_module = 4;
    CHECK(ParseKeptBursts(ProfileWith(wrong)).status().code() == StatusCode::kBadFormat);
  }
}

TEST_CASE("damaged bytes of bursts are errors, and never more than there is") {
  const RecordedBursts whole = TwoBursts();
  KeptBurst burst;
  for (size_t size = 0; size < whole.bytes.size(); ++size) {
    CAPTURE(size);
    RecordedBursts cut = whole;
    cut.bytes.resize(size);
    KeptBurstReader reader(cut);
    while (reader.Next(&burst)) {
    }
    CHECK(reader.status().code() == StatusCode::kBadFormat);
  }
  for (size_t position = 0; position < whole.bytes.size(); ++position) {
    for (const int value : {1, 5, 0x7f, 0x80, 0xff}) {
      RecordedBursts changed = whole;
      changed.bytes[position] = static_cast<uint8_t>(value);
      KeptBurstReader reader(changed);
      while (reader.Next(&burst)) {
        CHECK(burst.source == 2);
        CHECK(burst.weight >= 0);
        CHECK(burst.branches.size() <= kMaxKeptBranches);
        for (const uint32_t branch : burst.branches) CHECK(branch < 3);
      }
    }
  }
}

TEST_CASE("a sum has the bursts of its profiles, by its own indices") {
  ProfileData other = ProfileWith(TwoBursts());
  std::swap(other.modules[0], other.modules[2]);
  std::swap(other.threads[0], other.threads[1]);
  std::swap(other.sources[0], other.sources[2]);
  other.counts.clear();
  other.branches.clear();
  other.ibs_counts.clear();
  other.ibs_buckets.clear();
  other.ibs_lines.clear();
  other.ibs_data.clear();
  RecordedBursts swapped = TwoBursts();
  swapped.sources = {0};
  swapped.threads = {1, 0};
  swapped.branches = {{2, 2, 0x1040, 0x1000}, {2, 0, 0x1050, 0x7000}, {kNoModule, 2, 9, 0x2000}};
  other.kept_bursts = SerializeKeptBursts({1, {swapped}});
  const ProfileData first = ProfileWith(TwoBursts());
  const ProfileData* const both[] = {&first, &other};

  KeptBurstMerger merger;
  const ProfileData sum = MergeProfiles(both, {}, &merger);
  const StatusOr<KeptBursts> bursts = ParseKeptBursts(sum);
  REQUIRE(bursts.ok());
  CHECK(bursts->not_kept == 8);
  REQUIRE(bursts->recordings.size() == 2);
  CHECK(bursts->recordings[0] == TwoBursts());
  CHECK(bursts->recordings[1] == TwoBursts());

  KeptBurstMerger small(sizeof(RecordedBursts) + 150);
  const StatusOr<KeptBursts> bounded = ParseKeptBursts(MergeProfiles(both, {}, &small));
  REQUIRE(bounded.ok());
  CHECK(bounded->recordings.size() == 1);
  CHECK(bounded->not_kept == 10);

  CHECK(MergeProfiles(both).kept_bursts.empty());
  KeptBurstMerger unused;
  const ProfileData plain = FullProfile();
  const ProfileData* const without[] = {&plain};
  CHECK(MergeProfiles(without, {}, &unused).kept_bursts.empty());
}

TEST_CASE("many small recordings take no more memory than allowed, and those without bursts none") {
  constexpr size_t kRecordings = 50;
  RecordedBursts small = TwoBursts();
  small.number = 1;
  small.branches = {};
  small.bytes = {};
  RecordedBursts empty = small;
  empty.number = 0;
  ProfileData many = FullProfile();
  KeptBursts recordings{7, {}};
  for (size_t i = 0; i < kRecordings; ++i)
    recordings.recordings.push_back(i % 2 == 0 ? empty : small);
  many.kept_bursts = SerializeKeptBursts(recordings);
  const ProfileData* const twice[] = {&many, &many};
  constexpr size_t kRoom = 10 * sizeof(RecordedBursts);
  const size_t bytes =
      sizeof(RecordedBursts) + (small.sources.size() + small.threads.size()) * sizeof(uint32_t);
  const size_t fitting = kRoom / bytes;
  REQUIRE(fitting < kRecordings / 2);
  KeptBurstMerger merger(kRoom);
  const StatusOr<KeptBursts> bursts = ParseKeptBursts(MergeProfiles(twice, {}, &merger));
  REQUIRE(bursts.ok());
  CHECK(bursts->recordings.size() == fitting);
  CHECK(bursts->not_kept == 2 * 7 + kRecordings - fitting);
  for (const RecordedBursts& recording : bursts->recordings) CHECK(recording.number == 1);

  ProfileData absurd = FullProfile();
  absurd.kept_bursts = SerializeKeptBursts({UINT64_MAX, {}});
  const ProfileData* const both[] = {&absurd, &many};
  KeptBurstMerger without_room(0);
  const ProfileData sum = MergeProfiles(both, {}, &without_room);
  CHECK(ReadKeptBurstTotals(sum.kept_bursts).not_kept == UINT64_MAX);
}

TEST_CASE("a part of a profile has no bursts") {
  ProfileData thread = ProfileWith(TwoBursts()), slice = thread;
  REQUIRE(KeepThread(1234, &thread));
  CHECK(thread.kept_bursts.empty());
  REQUIRE(KeepSlice(2, &slice));
  CHECK(slice.kept_bursts.empty());
}

}  // namespace
}  // namespace hbbp
