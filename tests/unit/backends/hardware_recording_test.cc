// Plays a recording of real hardware through the live backend, which must count what an import
// counts.
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "backends/perf_backend.h"
#include "collect/perf_import.h"
#include "collect/recorder.h"
#include "perf/mmap_mapping.h"
#include "perf_data/perf_data_reader.h"
#include "support/catch.h"
#include "support/perf_record_builder.h"
#include "support/perf_stand_in.h"

namespace hbbp {
namespace {

// Plays the branch stacks of all threads as if they were of this thread, and drains regularly.
class Player : public PerfDataVisitor {
 public:
  Player(PerfStandIn* pmu, PerfBackend* backend, Recorder* recorder)
      : pmu_(pmu), backend_(backend), recorder_(recorder) {
    for (const PerfStandIn::Event& event : pmu_->events()) {
      const bool has_stack = (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
      if (event.ring != 0 && has_stack) event_ = event;
    }
  }

  void OnMmap(const MmapRecord& mmap) override { recorder_->OnMapping(MappingOf(mmap)); }

  void OnSample(const PerfEvent&, const SampleRecord& sample) override {
    std::vector<BranchEntry> branches;
    for (size_t i = 0; i < sample.branches.size(); ++i) branches.push_back(sample.branches[i]);
    PerfRecordBuilder record(RecordFormat{.sample_type = event_.attr.sample_type});
    record.Pid(static_cast<uint32_t>(::getpid())).Tid(static_cast<uint32_t>(::gettid()));
    record.Time(sample.time).Id(event_.id).Period(event_.attr.sample_period).Ip(sample.ip);
    lost += !pmu_->Write(event_, record.Branches(std::move(branches), 0, {}).Sample());
    constexpr int kBetweenDrains = 37;
    if (++played % kBetweenDrains == 0) Drain();
  }

  void Drain() {
    backend_->Drain(recorder_);
    recorder_->Commit(UINT64_MAX);
  }

  int played = 0;
  int lost = 0;

 private:
  PerfStandIn* pmu_;
  PerfBackend* backend_;
  Recorder* recorder_;
  PerfStandIn::Event event_;
};

// Maps from, to and end of the stream to the count, the weight and the count as the oldest entry.
using Streams =
    std::map<std::tuple<uint64_t, uint64_t, uint64_t>, std::tuple<uint64_t, double, uint64_t>>;

Streams FindStreams(const ProfileData& data, const std::string& module) {
  const auto is_it = [&](uint32_t index) {
    return index != kNoModule && data.modules[index].path.ends_with(module);
  };
  Streams streams;
  for (const BranchCount& branch : data.branches) {
    if (!is_it(branch.from_module) || !is_it(branch.to_module)) continue;
    auto& [number, weight, oldest] = streams[{branch.from, branch.to, branch.stream_end}];
    number += branch.number;
    weight += branch.weights;
    oldest += branch.oldest;
  }
  return streams;
}

TEST_CASE("branch stacks of Westmere count live as they do when they are imported") {
  const char* const root = std::getenv("HBBP_TEST_DATA");
  const std::string path = std::string(root != nullptr ? root : "") + "/autofdo/test.lbr";
  if (!std::filesystem::exists(path)) HBBP_SKIP("no recordings (HBBP_TEST_DATA)");
  const StatusOr<ProfileData> imported = ImportRecording(path, {});
  REQUIRE(imported.ok());

  PerfStandIn pmu([](const perf_event_attr&) { return 0; });
  PerfBackend backend(SourceKind::kLbr, FindCpuEvents({"GenuineIntel", 6, 0x2c}, "/nonexistent"));
  BackendConfig config;
  config.branch_period = 500'000;
  config.period_mode = PeriodMode::kFixed;
  BackendChoice choice;
  REQUIRE(backend.Start(config, 0, &choice).ok());
  CHECK(choice.sources.at(1).event_name == "BR_INST_EXEC.TAKEN:u");
  Recorder recorder;
  std::vector<SourceRecord> sources(choice.sources.size());
  for (size_t i = 0; i < sources.size(); ++i) sources[i].kind = choice.sources[i].kind;
  recorder.AddSources(std::move(sources));
  Player player(&pmu, &backend, &recorder);
  const auto reader = PerfDataReader::Open(path);
  REQUIRE(reader.ok());
  REQUIRE((*reader)->Read(&player, {}).ok());
  player.Drain();
  backend.Disable();
  backend.Close();

  CHECK(player.played == 9232);
  CHECK(player.lost == 0);
  const Streams live = FindStreams(recorder.Snapshot(), "test.binary");
  const Streams expected = FindStreams(*imported, "test.binary");
  CHECK(expected.size() > 400);
  REQUIRE(live.size() == expected.size());
  for (const auto& [stream, counts] : expected) {
    const auto found = live.find(stream);
    REQUIRE(found != live.end());
    CHECK(std::get<0>(found->second) == std::get<0>(counts));
    CHECK(std::get<1>(found->second) == Approx(std::get<1>(counts)));
    CHECK(std::get<2>(found->second) == std::get<2>(counts));
  }
}

}  // namespace
}  // namespace hbbp
