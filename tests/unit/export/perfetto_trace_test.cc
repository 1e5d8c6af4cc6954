// Tests traces with a library whose addresses and counts are known. Numbers of fields are those of
// Perfetto's protos/perfetto/trace.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "export/exporter.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/export/proto_reader.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

constexpr uint64_t kWidthNs = 100'000'000;
constexpr uint64_t kStartNs = 1'700'000'000'000'000'000;
constexpr uint64_t kBegin = 1, kEnd = 2, kCounter = 4;

// Thread 0 is in slice 0 only, thread 1 in slice 2 and in none.
ProfileData SlicedProfile(const std::string& path) {
  const uint64_t work = TinyWorkOffset(path);
  ProfileData data = TinyProfile(path);
  data.start_time_ns = kStartNs;
  data.command = "tiny --fast";
  data.slices = {kWidthNs, 3};
  data.counts = {
      MakeCount(0, 0, 0, work, 4, kTinyPeriod),
      MakeCount(0, 0, 0, work + kTinyLoop, 5, kTinyPeriod),
      MakeCount(0, 0, 1, work + kTinyLoop, 6, kTinyPeriod),
      MakeCount(0, 0, 1, work + kTinyTwice, 5, kTinyPeriod),
  };
  data.counts[0].slice = data.counts[1].slice = 0;
  data.counts[2].slice = 2;
  return data;
}

std::vector<ProtoFields> ReadPackets(const std::string& text) {
  std::vector<ProtoFields> packets;
  const ProtoFields trace = ReadProto(text);
  for (const std::string& packet : trace.All(1)) {
    packets.push_back(ReadProto(packet));
    CHECK(packets.back().Number(10) == 1);
  }
  return packets;
}

struct Event {
  uint64_t time_ns, type, track;
  std::string name;
  uint64_t value;

  bool operator==(const Event&) const = default;
};

std::vector<Event> ReadEvents(const std::vector<ProtoFields>& packets) {
  std::vector<Event> events;
  for (const ProtoFields& packet : packets) {
    for (const std::string& bytes : packet.All(11)) {
      const ProtoFields event = ReadProto(bytes);
      // Time 0 is written, too.
      REQUIRE(packet.numbers.count(8) == 1);
      const std::string name = event.All(23).empty() ? "" : event.All(23)[0];
      events.push_back(
          {packet.Number(8), event.Number(9), event.Number(11), name, event.Number(30)});
    }
  }
  return events;
}

TEST_CASE("threads have their busiest function by slice, and counters") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const Exported exported = ExportOrFail(kPerfettoExporter, AnalyzeOrFail(SlicedProfile(path)));
  REQUIRE(exported.notes.size() == 1);
  CHECK(exported.notes[0] == "25.0 % of the instructions are of no known time, and left out");
  const std::vector<ProtoFields> packets = ReadPackets(exported.text);

  const ProtoFields snapshot = ReadProto(packets.at(0).All(6).at(0));
  CHECK(ReadProto(snapshot.All(1).at(0)).Number(1) == 6);
  CHECK(ReadProto(snapshot.All(1).at(1)).Number(1) == 1);
  CHECK(ReadProto(snapshot.All(1).at(1)).Number(2) == kStartNs);

  std::vector<ProtoFields> tracks;
  for (const ProtoFields& packet : packets) {
    for (const std::string& bytes : packet.All(60)) tracks.push_back(ReadProto(bytes));
  }
  REQUIRE(tracks.size() >= 6);
  for (size_t i = 0; i < tracks.size(); ++i) CHECK(tracks[i].Number(1) == i + 1);
  const ProtoFields process = ReadProto(tracks[0].All(3).at(0));
  CHECK(process.Number(1) == 10);
  CHECK(process.All(2) == std::vector<std::string>{"tiny --fast"});
  for (const auto& [track, tid, name] :
       {std::tuple(1, 10u, "first"), std::tuple(3, 11u, "second")}) {
    const ProtoFields thread = ReadProto(tracks[track].All(4).at(0));
    CHECK(tracks[track].Number(5) == 1);
    CHECK(thread.Number(2) == tid);
    CHECK(thread.All(5).at(0) == name);
    CHECK(tracks[track + 1].Number(5) == tracks[track].Number(1));
    CHECK(tracks[track + 1].All(2).at(0) == "instructions");
    CHECK(ReadProto(tracks[track + 1].All(8).at(0)).Number(3) == 2);
  }
  CHECK(tracks[5].Number(5) == 1);
  CHECK(tracks[5].All(2).at(0).starts_with("instructions: "));

  std::vector<Event> of_threads;
  for (const Event& event : ReadEvents(packets)) {
    if (event.track <= 5) of_threads.push_back(event);
  }
  CHECK(of_threads == std::vector<Event>{{0, kBegin, 2, "tiny_work", 0},
                                         {0, kCounter, 3, "", 9000},
                                         {kWidthNs, kEnd, 2, "", 0},
                                         {kWidthNs, kCounter, 3, "", 0},
                                         {2 * kWidthNs, kBegin, 4, "tiny_work", 0},
                                         {2 * kWidthNs, kCounter, 5, "", 6000},
                                         {3 * kWidthNs, kEnd, 4, "", 0},
                                         {3 * kWidthNs, kCounter, 5, "", 0}});
}

TEST_CASE("without slices, or counts in them, there is no trace") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  Exported exported;
  Status status = ExportTo(kPerfettoExporter, AnalyzeOrFail(TinyProfile(path)), &exported);
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().find("--time-quantum") != std::string::npos);
  ProfileData data = SlicedProfile(path);
  for (IpCount& count : data.counts) count.slice = kNoSlice;
  status = ExportTo(kPerfettoExporter, AnalyzeOrFail(std::move(data)), &exported);
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().find("no count of the profile has a time") != std::string::npos);
  CHECK(exported.text.empty());
}

}  // namespace
}  // namespace hbbp
