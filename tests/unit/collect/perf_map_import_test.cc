// Tests recordings of generated code, which do not have the code, with the maps of a JIT.
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "collect/generated_names.h"
#include "collect/perf_import.h"
#include "perf/perf_event.h"
#include "support/analyze_or_fail.h"
#include "support/catch.h"
#include "support/compute_mix_or_fail.h"
#include "support/event_builders.h"
#include "support/perf_data_builder.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

constexpr uint64_t kPeriod = 1000;
constexpr uint64_t kCode = 0x7f0000000000;

// Makes a recording with two samples in [kCode, kCode + 16), one in the 16 bytes that follow, and
// one at an address without a name.
std::vector<uint8_t> Recording(uint32_t pid, const std::string& hostname) {
  perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.sample_period = kPeriod;
  attr.sample_id_all = 1;
  PerfDataBuilder data;
  data.AddEvent(attr, {1});
  const RecordFormat format = data.MakeRecordFormat(attr);
  const auto record = [&](uint64_t time) {
    return std::move(PerfRecordBuilder(format).Id(1).Pid(pid).Tid(pid).Time(time));
  };
  data.Add(record(1).Mmap(kCode, 0x1000, 0, "//anon"));
  uint64_t time = 2;
  for (const uint64_t offset : {0, 15, 16, 0x800}) {
    data.Add(record(time++).Misc(PERF_RECORD_MISC_USER).Ip(kCode + offset).Sample());
  }
  data.AddFeature(PerfFeature::kHostname, data.Bytes().String(hostname));
  return data.File();
}

std::string MapText() {
  char text[128];
  std::snprintf(text, sizeof(text), "%lx 10 first\n%lx 10 second\n%lx 10 never ran\n", kCode,
                kCode + 16, kCode + 32);
  return text;
}

ProfileData Import(const std::vector<uint8_t>& recording, const PerfImportOptions& options) {
  const TemporaryFolder directory;
  const std::string path = directory.File("perf.data");
  REQUIRE(WriteFileAtomically(path, recording).ok());
  StatusOr<ProfileData> data = ImportRecording(path, options);
  INFO(data.status().message());
  REQUIRE(data.ok());
  return *std::move(data);
}

using Functions = std::vector<std::pair<std::string, uint64_t>>;  // with their samples

Functions FunctionsOf(ProfileData data) {
  const Analysis profile = AnalyzeOrFail(std::move(data));
  Functions functions;
  for (const FunctionRecord& function : profile.functions()) {
    functions.emplace_back(function.name, function.samples);
  }
  return functions;
}

const Functions kNamed = {{"first", 2}, {"second", 1}};

TEST_CASE("samples in generated code count for the functions that a map names") {
  const TemporaryFolder root;
  REQUIRE(std::filesystem::create_directory(root.File("tmp")));
  root.Write("tmp/perf-77.map", MapText());
  PerfImportOptions options;
  options.files.root = root.File("");
  ProfileData data = Import(Recording(77, "elsewhere"), options);
  CHECK(data.sources[0].note.empty());
  CHECK(FunctionsOf(data) == kNamed);

  const Analysis profile = AnalyzeOrFail(std::move(data));
  CHECK(profile.blocks().empty());
  CHECK(profile.UnexplainedOfSource(0) == 4);
  const Mix mix = ComputeMixOrFail(profile, {.function = true});
  REQUIRE(mix.rows.size() == 2);
  CHECK(mix.rows[0].instructions == Approx(2 * kPeriod));
  CHECK(mix.rows[1].instructions == Approx(kPeriod));
}

TEST_CASE("a map may be elsewhere") {
  const TemporaryFolder directory;
  PerfImportOptions options;
  options.files.files["perf-77.map"] = directory.Write("copied.map", MapText());
  CHECK(FunctionsOf(Import(Recording(77, "elsewhere"), options)) == kNamed);
}

TEST_CASE("a map of this machine is for recordings of this machine") {
  const std::string map = PathOfPerfMap(::getpid());
  const std::string text = MapText();
  REQUIRE(
      WriteFileAtomically(map, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}).ok());
  utsname name;
  REQUIRE(::uname(&name) == 0);
  const auto pid = static_cast<uint32_t>(::getpid());
  CHECK(FunctionsOf(Import(Recording(pid, name.nodename), {})) == kNamed);
  CHECK(FunctionsOf(Import(Recording(pid, "elsewhere"), {})).empty());
  std::filesystem::remove(map);
}

TEST_CASE("a map of another user is not believed, and the profile says so") {
  if (::geteuid() != 0) HBBP_SKIP("only root can give files away");
  const TemporaryFolder directory;
  PerfImportOptions options;
  const std::string map = directory.Write("foreign.map", MapText());
  REQUIRE(::chown(map.c_str(), 65534, 65534) == 0);
  options.files.files["perf-77.map"] = map;
  const ProfileData data = Import(Recording(77, "elsewhere"), options);
  CHECK(data.sources[0].note.find(map + ": a file of user 65534") != std::string::npos);
  CHECK(FunctionsOf(data).empty());
}

}  // namespace
}  // namespace hbbp
