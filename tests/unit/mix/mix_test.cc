// Tests ComputeMix(): counts of mnemonics with their errors, totals under every choice of keys, and
// mixes of single threads, from samples and from streams. The profiles have samples in a tiny
// library (unit/profile/tiny_profile.h), which the system's compiler builds; LoopStreams() has
// streams in it.
#include "mix/mix.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

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

MixKeys Keys(unsigned bits) {
  MixKeys keys;
  keys.mnemonic = (bits & 1) != 0;
  keys.module = (bits & 2) != 0;
  keys.function = (bits & 4) != 0;
  keys.thread = (bits & 8) != 0;
  return keys;
}

const MixRow* FindRow(const Mix& mix, const std::string& mnemonic) {
  for (const MixRow& row : mix.rows) {
    if (MnemonicName(row.mnemonic) == mnemonic) return &row;
  }
  return nullptr;
}

// TinyProfile counts entry 2000 times, loop 6000 times, tiny_twice 1000 / 3 times.
TEST_CASE("a mnemonic ran as often as the blocks that it stands in, errors add up in squares") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  const Mix mix = ComputeMixOrFail(profile, Keys(1));
  CHECK(mix.total == Approx(23'000));
  const double loop_error = 1000 * std::sqrt(18.0) / 3;
  const double twice_error = 1000 / 3.0;
  const MixRow* add = FindRow(mix, "add");
  REQUIRE(add != nullptr);
  CHECK(add->instructions == Approx(6000 + 1000 / 3.0));
  CHECK(add->standard_error ==
        Approx(std::sqrt(loop_error * loop_error + twice_error * twice_error)));
  const MixRow* dec = FindRow(mix, "dec");
  REQUIRE(dec != nullptr);
  CHECK(dec->instructions == Approx(6000));
  CHECK(dec->standard_error == Approx(loop_error));
  const MixRow* ret = FindRow(mix, "ret");
  REQUIRE(ret != nullptr);
  CHECK(ret->instructions == Approx(1000 / 3.0));
  CHECK(mix.rows.front().mnemonic == add->mnemonic);
}

TEST_CASE("without a mnemonic as key, every instruction of a block counts") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  const Mix by_function = ComputeMixOrFail(profile, Keys(4));
  REQUIRE(by_function.rows.size() == 2);
  CHECK(by_function.rows[0].function == 0);
  CHECK(by_function.rows[0].instructions == Approx(profile.functions()[0].instructions));
  CHECK(by_function.rows[0].standard_error == Approx(profile.functions()[0].standard_error));
  CHECK(by_function.rows[0].mnemonic == Mnemonic::kInvalid);
  CHECK(by_function.rows[0].thread == kNoIndex);
  CHECK(by_function.rows[0].module == kNoIndex);
  const Mix by_thread = ComputeMixOrFail(profile, Keys(8));
  REQUIRE(by_thread.rows.size() == 2);
  CHECK(by_thread.rows[0].thread == 0);
  CHECK(by_thread.rows[0].instructions == Approx(16'000));
  CHECK(by_thread.rows[0].standard_error == Approx(1000 * std::sqrt(16.0)));
  CHECK(by_thread.rows[1].instructions == Approx(7000));
}

TEST_CASE("every combination of keys gives the same total, and finer rows add up to coarser ones") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  data.modules.push_back(data.modules[0]);
  data.counts.push_back(MakeCount(1, 0, 1, TinyWorkOffset(path), 10, kTinyPeriod));
  const Analysis profile = AnalyzeOrFail(data);
  const Mix finest = ComputeMixOrFail(profile, Keys(15));
  for (unsigned bits = 0; bits < 16; ++bits) {
    CAPTURE(bits);
    const MixKeys keys = Keys(bits);
    const Mix mix = ComputeMixOrFail(profile, keys);
    CHECK(mix.total == Approx(33'000));
    std::map<std::tuple<Mnemonic, uint32_t, uint32_t, uint32_t>, double> sums;
    for (const MixRow& row : finest.rows) {
      sums[{keys.mnemonic ? row.mnemonic : Mnemonic::kInvalid, keys.module ? row.module : kNoIndex,
            keys.function ? row.function : kNoIndex, keys.thread ? row.thread : kNoIndex}] +=
          row.instructions;
    }
    CHECK(mix.rows.size() == sums.size());
    double total = 0;
    for (size_t i = 0; i < mix.rows.size(); ++i) {
      const MixRow& row = mix.rows[i];
      CHECK(row.instructions == Approx(sums[{row.mnemonic, row.module, row.function, row.thread}]));
      if (i > 0) CHECK(row.instructions <= mix.rows[i - 1].instructions);
      total += row.instructions;
    }
    CHECK(total == mix.total);
  }
}

TEST_CASE("the mix of one thread is that thread's part of the mix") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const ProfileData data = TinyProfile(path);
  const Mix whole = ComputeMixOrFail(AnalyzeOrFail(data), Keys(1 | 8));
  ProfileData part = data;
  REQUIRE(KeepThread(11, &part));
  const Mix second = ComputeMixOrFail(AnalyzeOrFail(part), Keys(1));
  CHECK(second.total == Approx(7000));
  for (const MixRow& row : whole.rows) {
    if (row.thread != 1) continue;
    const MixRow* same = FindRow(second, std::string(MnemonicName(row.mnemonic)));
    REQUIRE(same != nullptr);
    CHECK(row.instructions == Approx(same->instructions));
    CHECK(row.standard_error == Approx(same->standard_error));
  }
}

TEST_CASE("the same profile gives the same rows in the same order") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const auto rows = [&path] {
    std::string text;
    for (const MixRow& row : ComputeMixOrFail(AnalyzeOrFail(TinyProfile(path)), Keys(15)).rows) {
      text += std::string(MnemonicName(row.mnemonic)) + " " + std::to_string(row.function) + " " +
              std::to_string(row.thread) + " " + std::to_string(row.instructions) + "\n";
    }
    return text;
  };
  const std::string first = rows();
  for (int i = 0; i < 5; ++i) CHECK(rows() == first);
}

TEST_CASE("a profile without code has an empty mix") {
  const Mix mix = ComputeMixOrFail(AnalyzeOrFail(ProfileData()), Keys(1));
  CHECK(mix.total == 0);
  CHECK(mix.rows.empty());
}

// Returns a burst of 5 in thread 0 and one of 3 in thread 1, of period 1000, both around the loop.
ProfileData LoopStreams(const std::string& library) {
  const uint64_t work = TinyWorkOffset(library);
  ProfileData data = TinyProfile(library);
  data.counts.clear();
  data.sources.resize(1);
  data.sources[0].kind = SourceKind::kSwbt;
  for (uint32_t thread = 0; thread < 2; ++thread) {
    BranchCount branch;
    branch.thread = thread;
    branch.from = branch.stream_end = work + 11;
    branch.to = work + kTinyLoop;
    branch.number = thread == 0 ? 4 : 2;
    branch.weights = 1000;
    branch.replicates.sums[thread] = 1000;
    data.branches.push_back(branch);
  }
  return data;
}

TEST_CASE("errors of streams add up by burst, not by block") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = LoopStreams(path);
  const double both_bursts = std::sqrt(16.0 / 15 * (2e6 - 4e6 / 16));
  const Mix mix = ComputeMixOrFail(AnalyzeOrFail(data), Keys(1));
  CHECK(mix.total == 6000);
  const MixRow* add = FindRow(mix, "add");
  REQUIRE(add != nullptr);
  CHECK(add->instructions == 2000);
  CHECK(add->standard_error == Approx(both_bursts));
  // The same streams also cross tiny_twice: its `add` is counted together with that of the loop.
  const uint64_t work = TinyWorkOffset(path);
  for (BranchCount branch : LoopStreams(path).branches) {
    branch.to = work + kTinyTwice;
    branch.stream_end = work + 19;
    data.branches.push_back(branch);
  }
  Normalize(&data.branches);
  const Mix of_both = ComputeMixOrFail(AnalyzeOrFail(data), Keys(1));
  add = FindRow(of_both, "add");
  REQUIRE(add != nullptr);
  CHECK(add->instructions == 4000);
  CHECK(add->standard_error == Approx(2 * both_bursts));
}

TEST_CASE("streams by thread") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Mix mix = ComputeMixOrFail(AnalyzeOrFail(LoopStreams(path)), Keys(8));
  REQUIRE(mix.rows.size() == 2);
  CHECK(mix.total == 6000);
  for (const MixRow& row : mix.rows) {
    CHECK(row.instructions == 3000);
    CHECK(row.standard_error == Approx(3000));
  }
  CHECK(mix.rows[0].thread == 0);
  CHECK(mix.rows[1].thread == 1);
}

}  // namespace
}  // namespace hbbp
