// Tests the format of profile files: what is stored comes back, the same profile gives the same
// bytes, older versions are read, and every damaged, truncated or inconsistent file is refused.
// FullProfile() has a value in every field; ProfileBytes changes parts of a stored profile and
// corrects its checksums; CutSource() and CheckModulesOfVersion() make files of older versions.
#include "profile/profile_file.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/profile_bytes.h"
#include "support/temporary_folder.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

constexpr uint32_t kSourcesSection = 2;
constexpr uint32_t kModulesSection = 4;
constexpr uint32_t kCountsSection = 5;
constexpr uint32_t kBranchesSection = 6;
constexpr uint32_t kIbsSection = 7;

StatusCode CodeOf(std::span<const uint8_t> bytes) { return ParseProfile(bytes).status().code(); }

TEST_CASE("everything comes back as it was stored") {
  const ProfileData data = FullProfile();
  const StatusOr<ProfileData> parsed = ParseProfile(SerializeProfile(data));
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(data));
  for (const ModuleRecord& module : parsed->modules) CHECK(module.pinned_file == nullptr);
}

TEST_CASE("the same profile gives the same bytes") {
  CHECK(SerializeProfile(FullProfile()) == SerializeProfile(FullProfile()));
  const std::vector<uint8_t> bytes = SerializeProfile(FullProfile());
  const StatusOr<ProfileData> parsed = ParseProfile(bytes);
  REQUIRE(parsed.ok());
  CHECK(SerializeProfile(*parsed) == bytes);
}

TEST_CASE("an empty profile comes back empty") {
  const StatusOr<ProfileData> parsed = ParseProfile(SerializeProfile(ProfileData()));
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(ProfileData()));
}

TEST_CASE("extreme numbers and strange strings come back") {
  ProfileData data = FullProfile();
  data.pid = UINT32_MAX;
  data.start_time_ns = data.duration_ns = UINT64_MAX;
  data.command = std::string("a\0b\n\xff", 5);
  data.sources[0].lost = UINT64_MAX;
  data.modules[0].path = std::string(100'000, 'p');
  data.modules[2].chunks[1].offset = UINT64_MAX;
  data.counts[0].samples = UINT64_MAX;
  data.counts[0].period_sum = 0x1p127;
  data.counts[0].period_squares = 0x1p191;
  data.counts.back().offset = UINT64_MAX;
  const StatusOr<ProfileData> parsed = ParseProfile(SerializeProfile(data));
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(data));
}

TEST_CASE("every truncation is an error") {
  const std::vector<uint8_t> bytes = SerializeProfile(FullProfile());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> part(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    const StatusOr<ProfileData> parsed = ParseProfile(part);
    CAPTURE(size);
    CHECK(parsed.status().code() == StatusCode::kBadFormat);
    CHECK_FALSE(parsed.status().message().empty());
  }
}

TEST_CASE("every damaged byte is an error") {
  std::vector<uint8_t> bytes = SerializeProfile(FullProfile());
  for (size_t position = 0; position < bytes.size(); ++position) {
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      bytes[position] ^= flip;
      CAPTURE(position, flip);
      CHECK_FALSE(ParseProfile(bytes).ok());
      bytes[position] ^= flip;
    }
  }
  CHECK(ParseProfile(bytes).ok());
}

TEST_CASE("bytes behind the end are an error") {
  std::vector<uint8_t> bytes = SerializeProfile(FullProfile());
  bytes.push_back(0);
  CHECK(CodeOf(bytes) == StatusCode::kBadFormat);
}

TEST_CASE("a file that is not a profile has another message than a damaged one") {
  CHECK(CodeOf({}) == StatusCode::kBadFormat);
  const std::string text = "#!/bin/sh\necho a script that is longer than any header\n";
  const auto parsed = ParseProfile({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  CHECK(parsed.status().message() == "not a profile of hbbp (no HBBPPROF at its start)");
}

TEST_CASE("a file or a section of a newer library is refused as such") {
  ProfileBytes newer_file(FullProfile());
  newer_file.SetVersion(3);
  CHECK(CodeOf(newer_file.Take()) == StatusCode::kVersion);
  for (uint32_t type = 1; type <= kIbsSection; ++type) {
    CAPTURE(type);
    ProfileBytes newer_section(FullProfile());
    constexpr uint32_t kNewer[] = {0, 2, 6, 2, 5, 3, 3, 5};
    newer_section.SetSectionVersion(type, kNewer[type]);
    CHECK(CodeOf(newer_section.Take()) == StatusCode::kVersion);
  }
}

TEST_CASE("a section that this library does not know is skipped") {
  ProfileBytes bytes(FullProfile());
  bytes.AddSection(99, {1, 2, 3});
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(FullProfile()));
}

TEST_CASE("counts of elements that cannot be there are refused before memory is taken") {
  for (uint32_t type = 2; type <= kIbsSection; ++type) {
    for (uint64_t count : {uint64_t{1} << 40, UINT64_MAX, UINT64_MAX / 44, UINT64_MAX / 16}) {
      CAPTURE(type, count);
      ProfileBytes bytes(FullProfile());
      bytes.Patch(type, 0, count);
      CHECK(CodeOf(bytes.Take()) == StatusCode::kBadFormat);
    }
  }
}

TEST_CASE("bytes that are left over at the end of a section are refused") {
  for (uint32_t type = 1; type <= kIbsSection; ++type) {
    CAPTURE(type);
    ProfileBytes bytes(FullProfile());
    bytes.Section(type).push_back(0);
    CHECK(CodeOf(bytes.Take()) == StatusCode::kBadFormat);
  }
}

TEST_CASE("a count that refers to nothing is refused") {
  const ProfileData full = FullProfile();
  for (int field = 0; field < 3; ++field) {
    CAPTURE(field);
    ProfileData data = full;
    if (field == 0) data.counts[0].source = static_cast<uint32_t>(full.sources.size());
    if (field == 1) data.counts[0].thread = static_cast<uint32_t>(full.threads.size());
    if (field == 2) data.counts[0].module = static_cast<uint32_t>(full.modules.size());
    CHECK(CodeOf(SerializeProfile(data)) == StatusCode::kBadFormat);
  }
}

TEST_CASE("a count that is not a number is refused") {
  for (double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0}) {
    CAPTURE(bad);
    ProfileData data = FullProfile();
    data.counts[0].period_sum = bad;
    CHECK(CodeOf(SerializeProfile(data)) == StatusCode::kBadFormat);
    data = FullProfile();
    data.counts[0].period_squares = bad;
    CHECK(CodeOf(SerializeProfile(data)) == StatusCode::kBadFormat);
  }
}

TEST_CASE("sums that no periods have are refused") {
  const auto code_of = [](uint64_t samples, double period_sum, double period_squares) {
    ProfileData data = FullProfile();
    IpCount& count = data.counts[0];
    count.samples = samples;
    count.period_sum = period_sum;
    count.period_squares = period_squares;
    return CodeOf(SerializeProfile(data));
  };
  CHECK(code_of(2, 4, 8) == StatusCode::kOk);   // 2 and 2
  CHECK(code_of(2, 4, 16) == StatusCode::kOk);  // 4 and 0
  CHECK(code_of(2, 4, 17) == StatusCode::kBadFormat);
  CHECK(code_of(2, 4, 7) == StatusCode::kBadFormat);
  CHECK(code_of(0, 4, 16) == StatusCode::kBadFormat);
  CHECK(code_of(2, 0x1p66, 0x1p131) == StatusCode::kBadFormat);  // more than 64 bits each
}

TEST_CASE("a branch that refers to nothing is refused") {
  const ProfileData full = FullProfile();
  for (int field = 0; field < 4; ++field) {
    CAPTURE(field);
    ProfileData data = full;
    BranchCount& branch = data.branches[0];
    if (field == 0) branch.source = static_cast<uint32_t>(full.sources.size());
    if (field == 1) branch.thread = static_cast<uint32_t>(full.threads.size());
    if (field == 2) branch.from_module = static_cast<uint32_t>(full.modules.size());
    if (field == 3) branch.to_module = static_cast<uint32_t>(full.modules.size());
    CHECK(CodeOf(SerializeProfile(data)) == StatusCode::kBadFormat);
  }
}

TEST_CASE("a branch whose weight cannot be is refused") {
  for (double bad : {std::numeric_limits<double>::quiet_NaN(),
                     std::numeric_limits<double>::infinity(), -1.0, 2e36}) {
    CAPTURE(bad);
    ProfileData data = FullProfile();
    data.branches[0].weights = bad;
    CHECK(CodeOf(SerializeProfile(data)) == StatusCode::kBadFormat);
    data = FullProfile();
    data.branches[0].replicates.sums[7] = static_cast<float>(bad);
    CHECK(CodeOf(SerializeProfile(data)) == StatusCode::kBadFormat);
  }
  ProfileData data = FullProfile();
  REQUIRE_FALSE(data.branches[4].HasStream());
  data.branches[4].weights = 1;
  CHECK(CodeOf(SerializeProfile(data)) == StatusCode::kBadFormat);
  // None of them is too large, but their sum is.
  data = FullProfile();
  for (BranchCount& branch : data.branches) branch.weights = branch.HasStream() ? 5e35 : 0;
  CHECK(CodeOf(SerializeProfile(data)) == StatusCode::kBadFormat);
}

TEST_CASE("replicates that there are none of are refused") {
  ProfileData data = FullProfile();
  data.branches.resize(1);
  ProfileBytes bytes(data);
  constexpr size_t kMaskPosition = 8 + 4 * 4 + 5 * 8;
  bytes.Patch(kBranchesSection, kMaskPosition, uint32_t{1} << kReplicates);
  CHECK(CodeOf(bytes.Take()) == StatusCode::kBadFormat);
}

TEST_CASE("all replicates come back") {
  ProfileData data = FullProfile();
  for (size_t i = 0; i < kReplicates; ++i) {
    data.branches[1].replicates.sums[i] = static_cast<float>(i) + 0.5f;
  }
  const StatusOr<ProfileData> parsed = ParseProfile(SerializeProfile(data));
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(data));
}

void ClearIbs(ProfileData* data) {
  data->ibs_names.clear();
  data->ibs_counts.clear();
  data->ibs_buckets.clear();
  data->ibs_lines.clear();
  data->ibs_data.clear();
}

ProfileData ProfileOfOneSource() {
  ProfileData data = FullProfile();
  data.sources.resize(1);
  data.counts.resize(1);
  data.branches.clear();
  ClearIbs(&data);
  return data;
}

// These are the bytes that versions 2, 3, 4 and 5 of the sources added to each.
constexpr size_t kTraceBytes = 11 * 8;
constexpr size_t kEventNameBytes = 8;
constexpr size_t kIpBytes = 2 * 4 + 2 * 8;
constexpr size_t kExtentBytes = 4;

// Makes the only source one of an older version, which has `missing` bytes less.
void CutSource(ProfileBytes* bytes, uint32_t version, size_t missing) {
  bytes->SetSectionVersion(kSourcesSection, version);
  std::vector<uint8_t>& sources = bytes->Section(kSourcesSection);
  sources.resize(sources.size() - missing);
}

// The first version of the library wrote neither branches nor data of tracing.
TEST_CASE("a file of version 1 is read") {
  ProfileData data = ProfileOfOneSource();
  data.sources[0].trace = {};
  ProfileBytes bytes(data);
  bytes.SetVersion(1);
  CutSource(&bytes, 1, kTraceBytes + kEventNameBytes + kIpBytes + kExtentBytes);
  bytes.RemoveSection(kBranchesSection);
  bytes.RemoveSection(kIbsSection);
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(data));
}

TEST_CASE("sources of version 2, without names of events, are read") {
  ProfileData data = ProfileOfOneSource();
  ProfileBytes bytes(data);
  CutSource(&bytes, 2, kEventNameBytes + kIpBytes + kExtentBytes);
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(data));
}

// The bytes that older versions lacked are at the end of the section.
void CheckModulesOfVersion(uint32_t version, size_t missing_bytes, ProfileData data) {
  data.counts.clear();
  data.branches.clear();
  ClearIbs(&data);
  ProfileBytes bytes(data);
  bytes.SetSectionVersion(kModulesSection, version);
  std::vector<uint8_t>& modules = bytes.Section(kModulesSection);
  modules.erase(modules.end() - static_cast<std::ptrdiff_t>(missing_bytes), modules.end());
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(data));
}

TEST_CASE("modules of version 1, whose code has no names, are read") {
  ProfileData data = FullProfile();
  data.modules.resize(1);
  data.modules[0].chunks = {{0x7000, {0x90, 0xc3}}};
  data.modules[0].local_path.clear();
  // These are the name, the numbers of files and of rows of lines, and the local path.
  constexpr size_t kNameBytes = 8 + 2 * 8 + 8;
  CheckModulesOfVersion(1, kNameBytes, std::move(data));
}

TEST_CASE("modules of version 2, whose generated code has no functions without code, are read") {
  ProfileData data = FullProfile();
  data.modules = {data.modules[2]};
  data.modules[0].functions.clear();
  data.modules[0].chunks = {{0x7000, {0x90, 0xc3}, "named"}};
  // These are the numbers of functions, and of files and rows of lines, and the local path.
  constexpr size_t kNumberBytes = 8 + 2 * 8 + 8;
  CheckModulesOfVersion(2, kNumberBytes, std::move(data));
}

TEST_CASE("modules of version 3, whose files were where their paths say, are read") {
  ProfileData data = FullProfile();
  data.modules.resize(1);
  data.modules[0].local_path.clear();
  CheckModulesOfVersion(3, 8, std::move(data));
}

TEST_CASE("sources of version 3 and counts of version 1, without positions, are read") {
  ProfileData data = ProfileOfOneSource();
  ProfileBytes bytes(data);
  CutSource(&bytes, 3, kIpBytes + kExtentBytes);
  bytes.SetSectionVersion(kCountsSection, 1);
  constexpr size_t kPositionOffset = 8 + 3 * 4;
  bytes.Section(kCountsSection)[kPositionOffset] = 1;
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(data));
}

TEST_CASE("sources of version 4, whose bursts were weighed by their streams, are read") {
  ProfileData data = ProfileOfOneSource();
  data.sources[0].burst_extent = BurstExtent::kEvents;
  ProfileBytes bytes(data);
  CutSource(&bytes, 4, kExtentBytes);
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  data.sources[0].burst_extent = BurstExtent::kStreams;
  CHECK(Describe(*parsed) == Describe(data));
}

TEST_CASE("branches of version 1, without entries of their stacks, are read") {
  ProfileData data = FullProfile();
  for (BranchCount& branch : data.branches) branch.oldest = 0, branch.oldest_expected = 0;
  ProfileBytes bytes(data);
  bytes.SetSectionVersion(kBranchesSection, 1);
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(data));
}

constexpr size_t kCountBytes = 8;  // of the elements of a list

// Forgets which nodes the lines are of, as in versions before 4.
void CutNodes(ProfileData* data, std::vector<uint8_t>* section) {
  section->resize(section->size() - data->ibs_lines.size() * sizeof(uint32_t));
  for (IbsAccesses& line : data->ibs_lines) line.node = kUnknownNode;
}

TEST_CASE("lines of unknown nodes, as in version 3, are read") {
  ProfileData data = FullProfile();
  ProfileBytes bytes(data);
  bytes.SetSectionVersion(kIbsSection, 3);
  CutNodes(&data, &bytes.Section(kIbsSection));
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(DescribeIbs(*parsed) == DescribeIbs(data));
}

TEST_CASE("what IBS counted without data, as in version 2, is read") {
  ProfileData data = FullProfile();
  data.ibs_data.clear();
  ProfileBytes bytes(data);
  bytes.SetSectionVersion(kIbsSection, 2);
  std::vector<uint8_t>& section = bytes.Section(kIbsSection);
  CutNodes(&data, &section);
  section.resize(section.size() - kCountBytes);
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(DescribeIbs(*parsed) == DescribeIbs(data));
}

TEST_CASE("latencies and lines of version 1, without instructions and nodes, are read") {
  ProfileData data = FullProfile();
  data.ibs_buckets = {{1, 0, kNoModule, 2, 0, 11, 0, 7}};
  data.ibs_lines = {{1, 0, 0x7fff0040, 1, 2, 3, 4, 0, 0}};
  data.ibs_data.clear();
  ProfileBytes bytes(data);
  bytes.SetSectionVersion(kIbsSection, 1);
  constexpr size_t kLineBytes = 2 * 4 + 7 * 8, kBucketBytes = 6 * 4 + 2 * 8;
  std::vector<uint8_t>& section = bytes.Section(kIbsSection);
  CutNodes(&data, &section);
  section.resize(section.size() - kCountBytes);
  const auto bucket = section.end() - static_cast<std::ptrdiff_t>(
                                          data.ibs_lines.size() * kLineBytes + 8 + kBucketBytes);
  const uint32_t fields[] = {1, 0, 2, 7, 11, 0};
  std::memcpy(&*bucket, fields, sizeof(fields));
  section.erase(bucket + sizeof(fields), bucket + kBucketBytes);
  constexpr std::ptrdiff_t kNodeBytes = 2 * 8;
  section.erase(section.end() - kNodeBytes, section.end());
  const StatusOr<ProfileData> parsed = ParseProfile(bytes.Take());
  REQUIRE(parsed.ok());
  CHECK(DescribeIbs(*parsed) == DescribeIbs(data));
}

TEST_CASE("a branch that is the oldest more often than it is there is refused") {
  ProfileData data = FullProfile();
  data.branches[1].oldest = data.branches[1].number + 1;
  CHECK(CodeOf(SerializeProfile(data)) == StatusCode::kBadFormat);
}

TEST_CASE("what IBS counted of things that are not in the file is refused") {
  const auto code_of = [](auto&& change) {
    ProfileData data = FullProfile();
    change(&data);
    return CodeOf(SerializeProfile(data));
  };
  CHECK(code_of([](ProfileData* d) { d->ibs_counts[0].source = 3; }) == StatusCode::kBadFormat);
  CHECK(code_of([](ProfileData* d) { d->ibs_counts[0].module = 4; }) == StatusCode::kBadFormat);
  CHECK(code_of([](ProfileData* d) { d->ibs_counts[0].name = 5; }) == StatusCode::kBadFormat);
  CHECK(code_of([](ProfileData* d) { d->ibs_buckets[0].name = 5; }) == StatusCode::kBadFormat);
  CHECK(code_of([](ProfileData* d) { d->ibs_buckets[0].bucket = 60; }) == StatusCode::kBadFormat);
  CHECK(code_of([](ProfileData* d) { d->ibs_buckets[0].level = 15; }) == StatusCode::kBadFormat);
  CHECK(code_of([](ProfileData* d) { d->ibs_buckets[0].module = 4; }) == StatusCode::kBadFormat);
  CHECK(code_of([](ProfileData* d) { d->ibs_lines[0].thread = 2; }) == StatusCode::kBadFormat);
  CHECK(code_of([](ProfileData* d) { d->ibs_data[0].thread = 2; }) == StatusCode::kBadFormat);
  CHECK(code_of([](ProfileData* d) { d->ibs_data[0].source = 3; }) == StatusCode::kBadFormat);
  CHECK(code_of([](ProfileData* d) { d->ibs_data[0].module = 4; }) == StatusCode::kBadFormat);
  CHECK(code_of([](ProfileData* d) { d->ibs_data[0].name = 5; }) == StatusCode::kBadFormat);
}

TEST_CASE("a count at an unknown position is refused") {
  ProfileBytes bytes(FullProfile());
  constexpr size_t kPositionOffset = 8 + 3 * 4;
  bytes.Section(kCountsSection)[kPositionOffset] = 2;
  CHECK(CodeOf(bytes.Take()) == StatusCode::kBadFormat);
}

TEST_CASE("counts and branches that were stored out of order are sorted") {
  ProfileData data = FullProfile();
  std::swap(data.counts.front(), data.counts.back());
  std::swap(data.branches.front(), data.branches[3]);
  const StatusOr<ProfileData> parsed = ParseProfile(SerializeProfile(data));
  REQUIRE(parsed.ok());
  CHECK(Describe(*parsed) == Describe(FullProfile()));
}

TEST_CASE("a section outside the file is refused") {
  for (uint64_t offset : {uint64_t{1} << 30, UINT64_MAX, UINT64_MAX - 4}) {
    CAPTURE(offset);
    ProfileBytes bytes(FullProfile());
    bytes.MoveSection(kCountsSection, offset);
    CHECK(CodeOf(bytes.Take()) == StatusCode::kBadFormat);
  }
}

TEST_CASE("files are saved and loaded, and errors name them") {
  const TemporaryFolder directory;
  const std::string path = directory.File("profile");
  REQUIRE(SaveProfile(FullProfile(), path).ok());
  const StatusOr<ProfileData> loaded = LoadProfile(path);
  REQUIRE(loaded.ok());
  CHECK(Describe(*loaded) == Describe(FullProfile()));
  CHECK(LoadProfile(directory.File("none")).status().code() == StatusCode::kNotFound);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const Status damaged = LoadProfile(path).status();
  CHECK(damaged.code() == StatusCode::kBadFormat);
  CHECK(damaged.message().starts_with(path + ": truncated"));
  CHECK(SaveProfile(FullProfile(), directory.File("none/profile")).code() == StatusCode::kNotFound);
}

}  // namespace
}  // namespace hbbp
