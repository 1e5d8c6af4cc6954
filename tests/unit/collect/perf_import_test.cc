// Compares imports of recordings of real hardware with the results of other tools.
#include "collect/perf_import.h"

#include <linux/perf_event.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "support/catch.h"

namespace hbbp {
namespace {

std::string Recording(const std::string& name) {
  const char* root = std::getenv("HBBP_TEST_DATA");
  const std::string path = std::string(root != nullptr ? root : "") + "/" + name;
  return root != nullptr && std::filesystem::exists(path) ? path : "";
}

// The binary of an AutoFDO recording is in the same directory.
ProfileData Import(const std::string& recording, const std::string& recorded_binary,
                   const std::string& binary) {
  PerfImportOptions options;
  options.files.files[recorded_binary] =
      std::filesystem::path(recording).replace_filename(binary).string();
  StatusOr<ProfileData> data = ImportRecording(recording, options);
  REQUIRE(data.ok());
  return *std::move(data);
}

uint32_t ModuleNamed(const ProfileData& data, const std::string& name) {
  for (uint32_t i = 0; i < data.modules.size(); ++i) {
    if (data.modules[i].path.ends_with("/" + name)) return i;
  }
  FAIL("no module " << name);
  return 0;
}

double SumOfWeights(const ProfileData& data) {
  return std::accumulate(
      data.branches.begin(), data.branches.end(), 0.0,
      [](double sum, const BranchCount& branch) { return sum + branch.weights; });
}

uint64_t StreamsFromTo(const ProfileData& data, uint32_t module, uint64_t start, uint64_t end) {
  uint64_t number = 0;
  for (const BranchCount& branch : data.branches) {
    if (branch.to_module == module && branch.to == start && branch.stream_end == end) {
      number += branch.number;
    }
  }
  return number;
}

uint64_t BranchesFromTo(const ProfileData& data, uint32_t module, uint64_t from, uint64_t to) {
  uint64_t number = 0;
  for (const BranchCount& branch : data.branches) {
    const bool is_it = branch.from_module == module && branch.to_module == module &&
                       branch.from == from && branch.to == to;
    if (is_it) number += branch.number;
  }
  return number;
}

TEST_CASE("branch stacks of Westmere have the ranges that AutoFDO finds") {
  const std::string recording = Recording("autofdo/test.lbr");
  if (recording.empty()) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  const ProfileData data = Import(recording, "test.binary", "test.binary");
  REQUIRE(data.sources.size() == 1);  // instruction pointers of taken branches are not kept
  CHECK(data.sources[0].kind == SourceKind::kLbr);
  CHECK(data.sources[0].event == EventKind::kTakenBranches);
  CHECK(data.sources[0].event_name == "br_inst_exec:taken");
  CHECK(data.sources[0].period == 500'000);
  const uint32_t module = ModuleNamed(data, "test.binary");
  CHECK(StreamsFromTo(data, module, 0x4e80, 0x4e8e) == 1134);
  uint64_t stacks = 0;
  std::set<std::pair<uint64_t, uint64_t>> ranges;
  for (const BranchCount& branch : data.branches) {
    if (branch.stream_end == kNoStream) stacks += branch.number;
    const bool is_range =
        branch.to_module == module && branch.HasStream() && branch.stream_end < kStreamLeavesModule;
    if (is_range) ranges.insert({branch.to, branch.stream_end});
  }
  CHECK(stacks == 9232);
  CHECK(ranges.size() == 357);
  // Every stream has a weight of 1 / (N - 1) periods, and every stack as many periods as any other.
  CHECK(SumOfWeights(data) == Approx(9232.0 * 500'000));
}

TEST_CASE(
    "taken branches of main are as many as Propeller counts for the blocks that they lead to") {
  const std::string recording = Recording("autofdo/propeller_sample.perfdata");
  if (recording.empty()) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  const ProfileData data = Import(recording, "propeller_sample.bin", "propeller_sample.bin");
  REQUIRE(data.sources.size() == 2);
  CHECK(data.sources[0].kind == SourceKind::kEbs);
  CHECK(data.sources[1].kind == SourceKind::kLbr);
  CHECK(data.sources[0].throttled == data.sources[1].throttled);
  CHECK(data.threads.size() == 4);
  CHECK(data.duration_ns > 6'000'000'000);
  const uint32_t module = ModuleNamed(data, "propeller_sample.bin");
  CHECK(data.modules[module].build_id.size() == 20);
  constexpr uint64_t kMain = 0x11e0;
  CHECK(BranchesFromTo(data, module, kMain + 0xf2, kMain + 0x30) == 22714);
  CHECK(BranchesFromTo(data, module, kMain + 0x40, 0x1190) == 23039);
  CHECK(BranchesFromTo(data, module, kMain + 0xa7, kMain + 0xe4) == 21603);
  CHECK(BranchesFromTo(data, module, kMain + 0xe4, kMain + 0xe9) == 21980);
}

// Returns a copy of a recording in which no gap of sampling begins.
std::string WithoutThrottling(const std::string& recording) {
  constexpr size_t kDataAt = 40;  // where the header says where records are
  std::ifstream file(recording, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  uint64_t at = 0, size = 0;
  std::memcpy(&at, &bytes[kDataAt], sizeof(at));
  std::memcpy(&size, &bytes[kDataAt + sizeof(at)], sizeof(size));
  for (const uint64_t end = at + size; at < end;) {
    perf_event_header header;
    std::memcpy(&header, &bytes[at], sizeof(header));
    if (header.type == PERF_RECORD_THROTTLE) bytes[at] = PERF_RECORD_UNTHROTTLE;
    at += header.size;
  }
  const std::filesystem::path copy =
      std::filesystem::temp_directory_path() / ("unthrottled-" + std::to_string(::getpid()));
  std::ofstream(copy, std::ios::binary) << bytes;
  return copy.string();
}

// The sum is made of the periods and cycles that perf script prints.
TEST_CASE("stacks of Skylake that were sampled by cycles weigh by their cycles") {
  const std::string recording = Recording("autofdo/propeller_sample.perfdata");
  if (recording.empty()) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  const ProfileData data = Import(recording, "propeller_sample.bin", "propeller_sample.bin");
  REQUIRE(data.sources.size() == 2);
  CHECK(data.sources[1].event == EventKind::kCycles);
  CHECK(data.sources[0].burst_extent == BurstExtent::kStreams);
  CHECK(data.sources[1].burst_extent == BurstExtent::kEvents);
  CHECK(data.sources[1].trace.counters == Counters{{"empty-entries", 366}});
  const std::string copy = WithoutThrottling(recording);
  const double without_gaps = SumOfWeights(Import(copy, "propeller_sample.bin", ""));
  CHECK(without_gaps == Approx(16494043672.408154).epsilon(1e-9));
  std::filesystem::remove(copy);
  // It was held back 41 times in 6 s.
  CHECK(SumOfWeights(data) > without_gaps * 1.001);
  CHECK(SumOfWeights(data) < without_gaps * 1.005);
}

TEST_CASE("stacks of processors without cycles weigh by their streams, whatever sampled them") {
  const std::string name = "hierarchical_discriminator_test.x86_64";
  const std::string recording = Recording("autofdo/" + name + ".perf.data");
  if (recording.empty()) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  const ProfileData data = Import(recording, name, name);
  REQUIRE(data.sources.size() == 2);
  CHECK(data.sources[1].event == EventKind::kCycles);
  CHECK(data.sources[1].burst_extent == BurstExtent::kStreams);
}

using Counts = std::map<std::pair<uint64_t, uint64_t>, uint64_t>;

// Holds ranges and branches inside the module, as llvm-profgen --skip-symbolization prints them.
std::pair<Counts, Counts> RangesAndBranches(const ProfileData& data, uint32_t module) {
  Counts ranges, branches;
  for (const BranchCount& branch : data.branches) {
    if (branch.to_module != module) continue;
    if (branch.from_module == module) branches[{branch.from, branch.to}] += branch.number;
    const bool has_range = branch.HasStream() && branch.stream_end != kStreamLeavesModule;
    if (has_range) ranges[{branch.to, branch.stream_end}] += branch.number;
  }
  return {ranges, branches};
}

ProfileData ImportText(const std::string& name, const std::string& binary) {
  PerfImportOptions options;
  options.binary = Recording("profgen/" + binary);
  options.files.files[binary] = options.binary;
  StatusOr<ProfileData> data = ImportRecording(Recording("profgen/" + name), options);
  REQUIRE(data.ok());
  return *std::move(data);
}

// The golden file is from llvm-profgen-19 --format=text --skip-symbolization.
TEST_CASE("text of perf script has the ranges and branches that llvm-profgen finds") {
  if (Recording("profgen/noprobe.perfscript").empty()) {
    HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  }
  const Counts ranges = {{{0x5b0, 0x5c8}, 7},  {{0x5b0, 0x5d7}, 13}, {{0x5dc, 0x5e9}, 6},
                         {{0x5e5, 0x5e9}, 12}, {{0x5ff, 0x62f}, 19}, {{0x634, 0x637}, 18},
                         {{0x645, 0x645}, 18}};
  const Counts branches = {{{0x5c8, 0x5dc}, 7},  {{0x5d7, 0x5e5}, 13}, {{0x5e9, 0x634}, 18},
                           {{0x62f, 0x5b0}, 21}, {{0x637, 0x645}, 18}, {{0x645, 0x5ff}, 19}};
  for (const char* text : {"noprobe.perfscript", "noprobe.mmap.perfscript"}) {
    const ProfileData data = ImportText(text, "noprobe.perfbin");
    const auto [found_ranges, found_branches] =
        RangesAndBranches(data, ModuleNamed(data, "noprobe.perfbin"));
    CHECK(found_ranges == ranges);
    CHECK(found_branches == branches);
  }
}

TEST_CASE("a count in front of a sample says how often it was seen") {
  if (Recording("profgen/noprobe.aggperfscript").empty()) {
    HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  }
  const ProfileData data = ImportText("noprobe.aggperfscript", "noprobe.perfbin");
  const auto [ranges, branches] = RangesAndBranches(data, ModuleNamed(data, "noprobe.perfbin"));
  CHECK(ranges == Counts{{{0x5b0, 0x5c8}, 13},
                         {{0x5b0, 0x5d7}, 21},
                         {{0x5dc, 0x5e9}, 10},
                         {{0x5e5, 0x5e9}, 20},
                         {{0x5ff, 0x62f}, 31},
                         {{0x634, 0x637}, 30},
                         {{0x645, 0x645}, 30}});
  CHECK(branches.at({0x62f, 0x5b0}) == 35);
}

TEST_CASE("a file that is not a recording, or does not exist, is an error that names it") {
  const StatusOr<ProfileData> missing = ImportRecording("/nonexistent/perf.data", {});
  REQUIRE(!missing.ok());
  CHECK(missing.status().code() == StatusCode::kNotFound);
  CHECK(missing.status().message().find("/nonexistent/perf.data") != std::string::npos);
  const StatusOr<ProfileData> other = ImportRecording("/bin/true", {});
  REQUIRE(!other.ok());
  CHECK(other.status().code() == StatusCode::kBadFormat);
  CHECK(other.status().message().find("brstack") != std::string::npos);
}

}  // namespace
}  // namespace hbbp
