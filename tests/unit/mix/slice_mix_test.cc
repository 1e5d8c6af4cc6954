// Tests mixes by slice of time.
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "profile/profile_merge.h"
#include "support/analyze_or_fail.h"
#include "support/catch.h"
#include "support/compute_mix_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

#define HBBP_BUILD_OR_SKIP(...) \
  if (!BuildTinyLibrary(__VA_ARGS__)) HBBP_SKIP("there is no compiler")

// Returns samples in the slices 0, 1, 2 in turns, and streams of the loop in 0 and 2.
ProfileData SlicedProfile(const std::string& library, bool has_streams) {
  ProfileData data = TinyProfile(library);
  data.slices = {1'000'000, 3};
  for (size_t i = 0; i < data.counts.size(); ++i) data.counts[i].slice = i % 3;
  if (!has_streams) return data;
  SourceRecord streams;
  streams.kind = SourceKind::kSwbt;
  streams.event = EventKind::kTaskClock;
  data.sources.push_back(streams);
  const uint64_t loop = TinyWorkOffset(library) + kTinyLoop;
  for (const uint32_t slice : {0, 2}) {
    BranchCount branch = MakeBranch(2, 0, kNoModule, 0xdead, 0, loop, loop + 4, slice + 1, 400);
    branch.slice = slice;
    data.branches.push_back(branch);
  }
  Normalize(&data.counts);
  Normalize(&data.branches);
  return data;
}

TEST_CASE("the mix of a slice is that of the slice alone, and slices add up") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const bool has_streams = GENERATE(false, true);
  const ProfileData data = SlicedProfile(path, has_streams);
  const Analysis profile = AnalyzeOrFail(data);
  MixKeys keys;
  keys.slice = true;
  const Mix mix = ComputeMixOrFail(profile, keys);
  CHECK(mix.total == Approx(ComputeMixOrFail(profile, {}).total));
  CHECK(mix.rows.size() >= 2);
  keys.mnemonic = keys.thread = true;
  std::map<uint32_t, double> by_finer_rows;
  for (const MixRow& row : ComputeMixOrFail(profile, keys).rows) {
    by_finer_rows[row.slice] += row.instructions;
  }
  for (const MixRow& row : mix.rows) {
    REQUIRE(row.slice < 3);
    CHECK(by_finer_rows[row.slice] == Approx(row.instructions));
    // Where both families count, one alone may see what the other does not.
    if (has_streams) continue;
    ProfileData part = data;
    REQUIRE(KeepSlice(row.slice, &part));
    const Analysis alone = AnalyzeOrFail(part);
    const Mix of_slice = ComputeMixOrFail(alone, {});
    CHECK(of_slice.total == Approx(row.instructions));
    CHECK(of_slice.rows.at(0).standard_error == Approx(row.standard_error));
  }
}

TEST_CASE("without slices there is one row, of no slice") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  MixKeys keys;
  keys.slice = true;
  const Mix mix = ComputeMixOrFail(profile, keys);
  REQUIRE(mix.rows.size() == 1);
  CHECK(mix.rows[0].slice == kNoIndex);
}

}  // namespace
}  // namespace hbbp
