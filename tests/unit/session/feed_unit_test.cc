// Tests Feed, which a host gives records and decoded samples: the order in which they are counted,
// sources and ids, fork and exec, bursts, IBS, generated code, threads, max_memory, failing
// allocations and cancelled snapshots. Attr(), Record(), Sample() and Mapping() make the records of
// perf; MakeEvent(), MakeSample() and MakeBurst() what is passed decoded; FeedRecords() and others
// check that Feed took it.
#include <linux/perf_event.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "perf/perf_abi.h"
#include "perf/perf_event.h"
#include "session/feed.h"
#include "session/kernel_name.h"
#include "session/pmu_types.h"
#include "support/catch.h"
#include "support/event_builders.h"
#include "support/failing_host.h"
#include "support/logged_lines.h"
#include "support/perf_record_builder.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

constexpr uint32_t kPid = 100;
constexpr uint64_t kIp = 0x400010;

using Bytes = std::vector<uint8_t>;

perf_event_attr Attr(uint64_t config = PERF_COUNT_HW_INSTRUCTIONS) {
  perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_HARDWARE, config);
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                     PERF_SAMPLE_PERIOD;
  attr.sample_id_all = 1;
  attr.sample_period = 1000;
  return attr;
}

uint32_t AddSource(Feed* session, const perf_event_attr& attr,
                   const std::vector<uint64_t>& ids = {1}, const std::string& name = "") {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&attr);
  const StatusOr<uint32_t> source = session->AddRecordSource({bytes, sizeof(attr)}, ids, name);
  REQUIRE(source.ok());
  return *source;
}

// Of an event with the attr above.
PerfRecordBuilder Record(uint64_t time, uint32_t pid = kPid, uint64_t id = 1) {
  PerfRecordBuilder record(Attr().sample_type);
  record.Pid(pid).Tid(pid).Time(time).Id(id).Period(1000);
  return record;
}
Bytes Sample(uint64_t time, uint64_t ip = kIp, uint32_t pid = kPid, uint64_t id = 1) {
  return Record(time, pid, id).Ip(ip).Sample();
}
Bytes Mapping(uint64_t time, const std::string& path, uint32_t pid = kPid) {
  return Record(time, pid).Mmap2(0x400000, 0x1000, 0, 0, 0, 0, path);
}

Bytes Concatenate(const std::vector<Bytes>& records) {
  Bytes all;
  for (const Bytes& record : records) all.insert(all.end(), record.begin(), record.end());
  return all;
}

// All records are whole.
void FeedRecords(Feed* session, const std::vector<Bytes>& records) {
  const Bytes bytes = Concatenate(records);
  size_t consumed = 0;
  REQUIRE(session->FeedRecords(bytes, &consumed).ok());
  REQUIRE(consumed == bytes.size());
}

uint64_t SamplesIn(const ProfileData& data, const std::string& path) {
  uint64_t samples = 0;
  for (const IpCount& count : data.counts) {
    if (data.modules[count.module].path == path) samples += count.samples;
  }
  return samples;
}

FeedOptions AsFed() {
  FeedOptions options;
  options.delivery.order = DeliveryOptions::Order::kAsWritten;
  return options;
}

TEST_CASE("nothing is counted before what was earlier must have come") {
  Feed session({});
  AddSource(&session, Attr());
  // Of two CPUs, whose rings are emptied one after the other.
  FeedRecords(&session, {Sample(20), Sample(40)});
  CHECK(session.Info().waiting == 2);
  CHECK(session.Info().samples == 2);
  FeedRecords(&session, {Mapping(10, "/bin/a"), Mapping(30, "/bin/b")});
  (void)session.FinishRound();
  const ProfileData early = session.Snapshot();
  CHECK(early.counts.empty());
  CHECK(early.sources[0].note.find("4 records") == 0);
  FeedRecords(&session, {Sample(50)});
  (void)session.FinishRound();
  const ProfileData data = session.Snapshot();
  CHECK(SamplesIn(data, "/bin/a") == 1);
  CHECK(SamplesIn(data, "/bin/b") == 1);
  CHECK(session.Info().waiting == 1);
  (void)session.FlushUpTo(UINT64_MAX);
  CHECK(SamplesIn(session.Snapshot(), "/bin/b") == 2);
  CHECK(session.Snapshot().sources[0].note.empty());
  CHECK(session.Info().duration_ns == 30);
  CHECK(session.Snapshot().pid == kPid);
}

TEST_CASE("the host may say up to when it has fed everything") {
  Feed session({});
  AddSource(&session, Attr());
  FeedRecords(&session, {Sample(20), Sample(40), Mapping(10, "/bin/a")});
  (void)session.FlushUpTo(30);
  CHECK(SamplesIn(session.Snapshot(), "/bin/a") == 1);
  CHECK(session.Info().waiting == 1);
  FeedRecords(&session, {Sample(15)});
  (void)session.FlushUpTo(UINT64_MAX);
  CHECK(SamplesIn(session.Snapshot(), "/bin/a") == 3);
  CHECK(session.Snapshot().sources[0].note == "1 records came after later ones");
}

TEST_CASE("records of rounds that perf writes end rounds") {
  Feed session({});
  AddSource(&session, Attr());
  const Bytes round = PerfRecordBuilder(uint64_t{0}).Misc(0).Other(kPerfFinishedRound, {});
  FeedRecords(&session, {Mapping(10, "/bin/a"), Sample(20), round, round});
  CHECK(SamplesIn(session.Snapshot(), "/bin/a") == 1);
}

TEST_CASE("what waits is bounded") {
  FeedOptions options;
  options.delivery.max_waiting_bytes = 10'000;
  Feed session(options);
  AddSource(&session, Attr());
  FeedRecords(&session, {Mapping(1, "/bin/a")});
  for (uint64_t time = 2; time < 10'000; ++time) FeedRecords(&session, {Sample(time)});
  CHECK(session.Info().waiting < 150);
  (void)session.FlushUpTo(UINT64_MAX);
  CHECK(SamplesIn(session.Snapshot(), "/bin/a") == 9'998);
}

TEST_CASE("in the order of calls everything is counted at once") {
  Feed session(AsFed());
  AddSource(&session, Attr());
  FeedRecords(&session, {Mapping(10, "/bin/a"), Sample(20)});
  CHECK(SamplesIn(session.Snapshot(), "/bin/a") == 1);
  FeedRecords(&session, {Sample(30)});
  CHECK(SamplesIn(session.Snapshot(), "/bin/a") == 2);
  CHECK(session.Info().waiting == 0);
}

TEST_CASE("a record that is not whole is left, wherever the batch ends") {
  const Bytes all = Concatenate({Mapping(10, "/bin/a"), Sample(20), Sample(30)});
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    Feed session(AsFed());
    AddSource(&session, Attr());
    size_t first = 0, second = 0;
    REQUIRE(session.FeedRecords({all.data(), cut}, &first).ok());
    CHECK(first <= cut);
    REQUIRE(session.FeedRecords({all.data() + first, all.size() - first}, &second).ok());
    CHECK(first + second == all.size());
    CHECK(SamplesIn(session.Snapshot(), "/bin/a") == 2);
  }
}

TEST_CASE("where no record begins, the offset is reported and what came before is kept") {
  Feed session(AsFed());
  AddSource(&session, Attr());
  Bytes bytes = Concatenate({Mapping(10, "/bin/a"), Sample(20)});
  const size_t good = bytes.size();
  bytes.resize(good + 24);  // a size of 0
  size_t consumed = 0;
  const Status status = session.FeedRecords(bytes, &consumed);
  CHECK(status.code() == StatusCode::kBadFormat);
  CHECK(status.message().find("byte " + std::to_string(good)) != std::string::npos);
  CHECK(consumed == good);
  CHECK(session.Info().dropped == 1);
  const ProfileData data = session.Snapshot();
  CHECK(SamplesIn(data, "/bin/a") == 1);
  CHECK(data.sources[0].note.find("at byte " + std::to_string(good)) != std::string::npos);
  FeedRecords(&session, {Sample(30)});
  CHECK(SamplesIn(session.Snapshot(), "/bin/a") == 2);
}

TEST_CASE("records too short for their fields are dropped and counted") {
  Feed session({});
  AddSource(&session, Attr());
  Bytes record = Sample(20);
  record.resize(32);
  record[6] = 32;  // the size
  FeedRecords(&session, {Mapping(10, "/bin/a"), record, Sample(30)});
  (void)session.FlushUpTo(UINT64_MAX);
  CHECK(session.Info().dropped == 1);
  const ProfileData data = session.Snapshot();
  CHECK(SamplesIn(data, "/bin/a") == 1);
  CHECK(data.sources[0].note.find("SAMPLE record is too short") != std::string::npos);
}

TEST_CASE("any bytes are taken or refused") {
  std::mt19937 random(1);
  const Bytes good = Concatenate({Mapping(10, "/bin/a"), Sample(20), Record(30).Comm("name"),
                                  Record(40).Fork(1, 1), Record(50).Exit(1, 1), Sample(60)});
  for (int i = 0; i < 20'000; ++i) {
    FeedOptions options;
    options.delivery.max_waiting_bytes = 200;
    Feed session(options);
    AddSource(&session, Attr());
    Bytes bytes = good;
    for (int j = 0; j < 3; ++j) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    size_t consumed = 0;
    const Status status = session.FeedRecords(bytes, &consumed);
    CHECK(consumed <= bytes.size());
    CHECK((status.ok() || status.code() == StatusCode::kBadFormat));
    (void)session.FlushUpTo(UINT64_MAX);
    CHECK(session.Snapshot().sources.size() == 1);
  }
}

TEST_CASE("two events of one ring are reported apart by their ids, also by later ones") {
  Feed session(AsFed());
  AddSource(&session, Attr(), {1, 2});
  const uint32_t cycles = AddSource(&session, Attr(PERF_COUNT_HW_CPU_CYCLES), {3});
  FeedRecords(&session, {Mapping(10, "/bin/a"), Sample(20, kIp, kPid, 2), Sample(30, kIp, kPid, 3),
                         Sample(40, kIp, kPid, 3), Sample(50, kIp, kPid, 4)});
  CHECK(session.Info().dropped == 1);
  REQUIRE(session.AddIds(cycles, std::vector<uint64_t>{4}).ok());
  FeedRecords(&session, {Sample(60, kIp, kPid, 4), Record(70, kPid, 3).Lost(5)});
  const ProfileData data = session.Snapshot();
  REQUIRE(data.sources.size() == 2);
  CHECK(data.sources[0].event == EventKind::kInstructions);
  CHECK(data.sources[1].event == EventKind::kCycles);
  REQUIRE(data.counts.size() == 2);
  CHECK(data.counts[0].samples == 1);
  CHECK(data.counts[1].samples == 3);
  CHECK(data.sources[0].lost == 0);
  CHECK(data.sources[1].lost == 5);
  CHECK(session.Info().lost == 5);
}

TEST_CASE("events that no id says apart are reported of") {
  Feed session(AsFed());
  perf_event_attr attr = Attr();
  attr.sample_type &= ~static_cast<uint64_t>(PERF_SAMPLE_IDENTIFIER);
  AddSource(&session, attr, {});
  CHECK(session.Snapshot().sources[0].note.empty());
  AddSource(&session, attr, {}, "other");
  CHECK(session.Snapshot().sources[0].note.find("other has no sample id") != std::string::npos);
}

TEST_CASE("fork and exec change what addresses mean from their time on") {
  Feed session({});
  AddSource(&session, Attr());
  constexpr uint32_t kChild = 200;
  FeedRecords(&session,
              {Sample(30, kIp, kChild), Sample(50, kIp, kChild), Sample(70, kIp, kChild)});
  PerfRecordBuilder exec = Record(40, kChild);
  exec.Misc(PERF_RECORD_MISC_USER | PERF_RECORD_MISC_COMM_EXEC);
  FeedRecords(&session, {Mapping(10, "/bin/a"), Record(20, kChild).Fork(kPid, kPid),
                         exec.Comm("new"), Mapping(60, "/bin/b", kChild)});
  (void)session.FlushUpTo(UINT64_MAX);
  const ProfileData data = session.Snapshot();
  CHECK(SamplesIn(data, "/bin/a") == 1);
  CHECK(SamplesIn(data, "/bin/b") == 1);
  CHECK(data.sources[0].unmapped == 1);
  REQUIRE(data.threads.size() == 1);
  CHECK(data.threads[0].name == "new");
}

SourceRecord SourceOf(SourceKind kind) {
  SourceRecord source;
  source.kind = kind;
  source.event = EventKind::kInstructions;
  source.period = 500;
  source.event_name = "mine";
  return source;
}

FeedEvent MakeEvent(FeedEventKind kind, uint64_t time, uint32_t pid = kPid) {
  FeedEvent event;
  event.kind = kind;
  event.pid = event.tid = pid;
  event.time_ns = time;
  return event;
}
FeedEvent MakeMapping(uint64_t time, const char* path, uint32_t pid = kPid) {
  FeedEvent event = MakeEvent(FeedEventKind::kMapping, time, pid);
  event.address = 0x400000;
  event.size = 0x1000;
  event.name = path;
  return event;
}
FeedSample MakeSample(uint64_t time, uint64_t ip = kIp, uint32_t pid = kPid) {
  FeedSample sample;
  sample.pid = sample.tid = pid;
  sample.time_ns = time;
  sample.ip = ip;
  return sample;
}
void FeedEvents(Feed* session, const std::vector<FeedEvent>& events) {
  CHECK(session->FeedEvents(events.size(), [&](size_t i) { return events[i]; }).ok());
}
void FeedSamples(Feed* session, uint32_t source, const std::vector<FeedSample>& samples) {
  REQUIRE(session->FeedSamples(source, samples.size(), [&](size_t i) { return samples[i]; }).ok());
}

FeedBurst MakeBurst(uint64_t time, std::span<const TakenBranch> branches, uint64_t extent) {
  FeedBurst burst;
  burst.pid = burst.tid = kPid;
  burst.time_ns = time;
  burst.extent = extent;
  burst.branches = branches;
  return burst;
}

TEST_CASE("each stream of a burst weighs the period by the extent, or by the streams") {
  const std::vector<TakenBranch> loop(5, {{kIp + 8}, {kIp}});
  for (const uint64_t extent : {uint64_t{0}, uint64_t{100}}) {
    Feed feed({});
    const uint32_t mine = *feed.AddSampleSource(SourceOf(SourceKind::kSwbt), IbsKind::kNone);
    FeedEvents(&feed, {MakeMapping(10, "/bin/a")});
    // Both wait, and their branches with them; the second has the period of the source.
    REQUIRE(feed.FeedBursts(mine, 2,
                            [&](size_t i) {
                              FeedBurst burst = MakeBurst(20 + i, loop, extent);
                              if (i == 0) burst.period = 1000;
                              return burst;
                            })
                .ok());
    CHECK(feed.Info().waiting == 3);
    REQUIRE(feed.FlushUpTo(UINT64_MAX).ok());
    const ProfileData data = feed.Snapshot();
    REQUIRE(data.sources.size() == 1);
    CHECK(data.sources[0].kind == SourceKind::kSwbt);
    CHECK(data.sources[0].burst_extent ==
          (extent != 0 ? BurstExtent::kEvents : BurstExtent::kStreams));
    CHECK(data.sources[0].trace.bursts == 2);
    CHECK(data.sources[0].trace.taken_branches == 10);
    CHECK(data.sources[0].smallest_period == 500);
    CHECK(data.sources[0].largest_period == 1000);
    REQUIRE(data.branches.size() == 2);
    const double expected = 4 * (1000.0 + 500.0) / (extent != 0 ? 100.0 : 4.0);
    CHECK(data.branches[0].weights == expected);
    CHECK(data.branches[0].number == 8);
    CHECK_FALSE(data.branches[1].HasStream());
    CHECK(feed.Info().samples == 2);
  }
}

TEST_CASE("a source has samples or bursts") {
  Feed feed({});
  const uint32_t tracer = *feed.AddSampleSource(SourceOf(SourceKind::kSwbt), IbsKind::kNone);
  const uint32_t sampler = *feed.AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone);
  const Status of_tracer = feed.FeedSamples(tracer, 1, [](size_t) { return FeedSample(); });
  const Status of_sampler = feed.FeedBursts(sampler, 1, [](size_t) { return FeedBurst(); });
  CHECK(of_tracer.code() == StatusCode::kInvalidArgument);
  CHECK(of_sampler.code() == StatusCode::kInvalidArgument);
}

TEST_CASE("decoded samples and events are sorted among records") {
  Feed session({});
  AddSource(&session, Attr());
  const uint32_t mine = *session.AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone);
  FeedSamples(&session, mine, {MakeSample(20), MakeSample(40), MakeSample(60)});
  FeedRecords(&session, {Sample(21), Mapping(30, "/bin/b")});
  FeedEvents(&session, {MakeMapping(10, "/bin/a"), MakeEvent(FeedEventKind::kExit, 50)});
  (void)session.FlushUpTo(UINT64_MAX);
  const ProfileData data = session.Snapshot();
  REQUIRE(data.sources.size() == 2);
  CHECK(data.sources[1].event_name == "mine");
  CHECK(SamplesIn(data, "/bin/a") == 2);
  CHECK(SamplesIn(data, "/bin/b") == 1);
  CHECK(data.sources[1].unmapped == 1);
  for (const IpCount& count : data.counts) {
    CHECK(count.period_sum == (count.source == 1 ? 500.0 : 1000.0) * double(count.samples));
  }
}

TEST_CASE("what has no time does not wait") {
  Feed session({});
  const uint32_t mine = *session.AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone);
  FeedEvents(&session, {MakeMapping(0, "/bin/a")});
  FeedSamples(&session, mine, {MakeSample(0)});
  CHECK(session.Info().waiting == 0);
  CHECK(SamplesIn(session.Snapshot(), "/bin/a") == 1);
}

Bytes Stack(const std::vector<std::array<uint64_t, 3>>& entries) {
  Bytes bytes(entries.size() * 24);
  std::memcpy(bytes.data(), entries.data(), bytes.size());
  return bytes;
}

TEST_CASE("decoded branch stacks are counted as those of records") {
  for (const bool waits : {false, true}) {
    Feed session(waits ? FeedOptions() : AsFed());
    const uint32_t mine = *session.AddSampleSource(SourceOf(SourceKind::kLbr), IbsKind::kNone);
    FeedEvents(&session, {MakeMapping(10, "/bin/a")});
    constexpr uint64_t kWrongPath = 1 << 24;
    const Bytes stack = Stack({{0x400050, 0x400010, 0},
                               {0x400040, 0x400020, 0},
                               {0x400099, 0x400098, kWrongPath},
                               {0x400030, 0x400000, 0},
                               {0x400060, 0x400030, 0}});
    FeedSample sample = MakeSample(20);
    sample.branches = stack;
    sample.period = 600;
    FeedSamples(&session, mine, {sample});
    (void)session.FlushUpTo(UINT64_MAX);
    const ProfileData data = session.Snapshot();
    REQUIRE(data.branches.size() == 4);
    double weights = 0;
    for (const BranchCount& branch : data.branches) weights += branch.weights;
    CHECK(weights == Approx(600));
    REQUIRE(data.sources[0].trace.counters.size() == 1);
    CHECK(data.sources[0].trace.counters[0] ==
          std::pair<std::string, uint64_t>("speculative-entries", 1));
  }
}

TEST_CASE("stacks that cycles sampled weigh by their cycles, decoded or in records") {
  constexpr uint64_t kCycles = uint64_t{30} << 4;
  for (const EventKind event : {EventKind::kCycles, EventKind::kInstructions}) {
    Feed session(AsFed());
    SourceRecord source = SourceOf(SourceKind::kLbr);
    source.event = event;
    const uint32_t decoded = *session.AddSampleSource(source, IbsKind::kNone);
    perf_event_attr attr =
        Attr(event == EventKind::kCycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS);
    attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
    AddSource(&session, attr);
    FeedEvents(&session, {MakeMapping(10, "/bin/a")});
    const Bytes stack = Stack({{0x400050, 0x400010, kCycles},
                               {0x400050, 0x400010, kCycles},
                               {0x400050, 0x400010, kCycles}});
    FeedSample sample = MakeSample(20);
    sample.branches = stack;
    sample.period = 600;
    FeedSamples(&session, decoded, {sample});
    BranchEntry entry;
    entry.from = 0x400050, entry.to = 0x400010, entry.cycles = 30;
    RecordFormat format = {.sample_type = attr.sample_type};
    format.branch_sample_type = attr.branch_sample_type;
    format.sample_id_all = true;
    PerfRecordBuilder record(format);
    record.Pid(kPid).Tid(kPid).Time(30).Id(1).Period(600).Ip(kIp);
    FeedRecords(&session, {record.Branches({entry, entry, entry}, 0, {}).Sample()});
    const ProfileData data = session.Snapshot();
    REQUIRE(data.sources.size() == 3);
    double weights[3] = {};
    for (const BranchCount& branch : data.branches) weights[branch.source] += branch.weights;
    const bool is_by_cycles = event == EventKind::kCycles;
    for (const uint32_t number : {0u, 2u}) {
      CHECK(data.sources[number].kind == SourceKind::kLbr);
      CHECK(data.sources[number].event == event);
      CHECK(data.sources[number].burst_extent ==
            (is_by_cycles ? BurstExtent::kEvents : BurstExtent::kStreams));
      CHECK(weights[number] == Approx(2 * 600.0 / (is_by_cycles ? 60 : 2)));
    }
    CHECK(data.sources[1].burst_extent == BurstExtent::kStreams);
  }
}

TEST_CASE("registers of IBS are decoded, in either order") {
  for (const bool waits : {false, true}) {
    Feed session(waits ? FeedOptions() : AsFed());
    const uint32_t mine = *session.AddSampleSource(SourceOf(SourceKind::kIbs), IbsKind::kOp);
    FeedEvents(&session, {MakeMapping(10, "/bin/a")});
    // The second example in the README of the recordings: a store.
    const uint64_t registers[] = {0x2c30006186a, kIp, 0x10002550001, 0x13, 0x31960092, 0, 0};
    Bytes raw(4 + sizeof(registers));
    std::memcpy(raw.data() + 4, registers, sizeof(registers));
    FeedSample sample = MakeSample(20);
    sample.ibs = raw;
    FeedSamples(&session, mine, {sample, MakeSample(21)});
    (void)session.FlushUpTo(UINT64_MAX);
    const ProfileData data = session.Snapshot();
    CHECK(SamplesIn(data, "/bin/a") == 2);
    const auto& counters = data.sources[0].trace.counters;
    const auto has = [&](const std::string& part) {
      return std::any_of(counters.begin(), counters.end(), [&](const auto& counter) {
        return counter.first.find(part) != std::string::npos && counter.second == 1;
      });
    };
    CHECK(has("store"));
    CHECK_FALSE(has("undecodable"));
  }
}

TEST_CASE("memory is of the nodes of this machine, unless another one is fed") {
  for (const bool is_this_machine : {true, false}) {
    CAPTURE(is_this_machine);
    FeedOptions options;
    if (!is_this_machine) options.host = "elsewhere";
    options.files.memory_nodes = [] {
      static const MemoryNodes nodes = {0x1000, {{5, {0b10}}}};
      return &nodes;
    };
    Feed session(options);
    const uint32_t mine = *session.AddSampleSource(SourceOf(SourceKind::kIbs), IbsKind::kOp);
    FeedEvents(&session, {MakeMapping(10, "/bin/a")});
    // A load with both addresses.
    const uint64_t registers[] = {0, kIp, 0, 0, 1 << 18 | 1 << 17 | 1, 0x7040, 0x1040};
    Bytes raw(4 + sizeof(registers));
    std::memcpy(raw.data() + 4, registers, sizeof(registers));
    FeedSample sample = MakeSample(20);
    sample.ibs = raw;
    FeedSamples(&session, mine, {sample});
    (void)session.FlushUpTo(UINT64_MAX);
    const ProfileData data = session.Snapshot();
    REQUIRE(data.ibs_lines.size() == 1);
    CHECK(data.ibs_lines[0].node == (is_this_machine ? 5 : kUnknownNode));
  }
}

TEST_CASE("generated code has the samples of its time") {
  Feed session({});
  const uint32_t mine = *session.AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone);
  const Bytes old_code = {0x90, 0x90, 0xc3}, new_code = {0xcc, 0xcc, 0xc3};
  const auto code = [](uint64_t time, const Bytes& bytes, const char* name) {
    FeedEvent event = MakeEvent(FeedEventKind::kCode, time);
    event.address = 0x7000;
    event.size = bytes.size();
    event.code = bytes;
    event.name = name;
    return event;
  };
  FeedSamples(&session, mine,
              {MakeSample(15, 0x7000), MakeSample(25, 0x7000), MakeSample(26, 0x7000)});
  FeedEvents(&session, {code(20, new_code, "new"), code(10, old_code, "old")});
  (void)session.FlushUpTo(UINT64_MAX);
  const ProfileData data = session.Snapshot();
  REQUIRE(data.counts.size() == 2);
  const auto name_of = [&](const IpCount& count) {
    return data.modules[count.module].chunks.at(0).name;
  };
  CHECK(name_of(data.counts[0]) == "old");
  CHECK(data.counts[0].samples == 1);
  CHECK(name_of(data.counts[1]) == "new");
  CHECK(data.counts[1].samples == 2);
}

TEST_CASE("events say names, build IDs, losses and throttling") {
  Feed session({});
  const uint32_t mine = *session.AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone);
  FeedEvent name = MakeEvent(FeedEventKind::kThreadName, 5);
  name.name = "worker";
  const Bytes id = {1, 2, 3};
  FeedEvent build_id = MakeEvent(FeedEventKind::kBuildId, 0);
  build_id.name = "/bin/a";
  build_id.build_id = id;
  FeedEvent lost = MakeEvent(FeedEventKind::kLost, 30);
  lost.source = mine;
  lost.count = 7;
  FeedEvent throttled = MakeEvent(FeedEventKind::kThrottled, 30);
  throttled.source = mine;
  FeedEvent fork = MakeEvent(FeedEventKind::kFork, 12, 200);
  fork.parent_pid = fork.parent_tid = kPid;
  FeedEvent exec = MakeEvent(FeedEventKind::kExec, 20, 200);
  exec.name = "child";
  FeedEvents(&session, {build_id, name, MakeMapping(10, "/bin/a"), lost, throttled, fork, exec});
  FeedSamples(&session, mine, {MakeSample(11), MakeSample(15, kIp, 200), MakeSample(25, kIp, 200)});
  (void)session.FlushUpTo(UINT64_MAX);
  const ProfileData data = session.Snapshot();
  CHECK(SamplesIn(data, "/bin/a") == 2);
  CHECK(data.modules[data.counts[0].module].build_id == id);
  CHECK(data.sources[0].lost == 7);
  CHECK(data.sources[0].throttled == 1);
  CHECK(data.sources[0].unmapped == 1);
  REQUIRE(data.threads.size() == 2);
  CHECK(data.threads[0].name == "worker");
  CHECK(data.threads[1].name == "child");
}

TEST_CASE("sources are what they were added as") {
  Feed session({});
  size_t consumed = 0;
  CHECK(session.FeedRecords(Sample(1), &consumed).code() == StatusCode::kInvalidState);
  CHECK(session.AddRecordSource(Bytes(63), {}, "").status().code() == StatusCode::kInvalidArgument);
  const uint32_t records = AddSource(&session, Attr());
  const uint32_t samples = *session.AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone);
  CHECK(session.FeedSamples(records, 0, [](size_t) { return FeedSample(); }).code() ==
        StatusCode::kInvalidArgument);
  CHECK(session.FeedSamples(7, 0, [](size_t) { return FeedSample(); }).code() ==
        StatusCode::kInvalidArgument);
  CHECK(session.AddIds(samples, {}).code() == StatusCode::kInvalidArgument);
  CHECK(session.AddIds(7, {}).code() == StatusCode::kInvalidArgument);
  CHECK(session.KindOfSource(records) == SourceKind::kNone);
  CHECK(session.KindOfSource(samples) == SourceKind::kEbs);
  CHECK(session.source_count() == 2);
}

TEST_CASE("of this machine the kernel is the running one and PMUs are known, of others not") {
  const auto pmus = PmuTypes();
  const auto dynamic = std::find_if(pmus.begin(), pmus.end(),
                                    [](const auto& pmu) { return pmu.first >= PERF_TYPE_MAX; });
  if (dynamic == pmus.end()) HBBP_SKIP("no PMU has a type of its own here");
  perf_event_attr attr = Attr(2);
  attr.type = dynamic->first;
  FeedOptions other;
  other.host = "other";
  for (const bool is_other : {false, true}) {
    Feed session(is_other ? other : FeedOptions());
    AddSource(&session, attr);
    FeedRecords(&session, {Sample(10, 0xffffffff81000000)});
    (void)session.FlushUpTo(UINT64_MAX);
    const ProfileData data = session.Snapshot();
    CHECK(SamplesIn(data, is_other ? kRecordedKernel : kRunningKernel) == 1);
    CHECK((data.sources[0].event_name == dynamic->second + "/config=0x2/") == !is_other);
    CHECK(data.host == (is_other ? "other" : KernelName()));
  }
}

TEST_CASE("types of PMUs are read from where the kernel lists them") {
  const TemporaryFolder directory;
  for (const auto& [pmu, type] : {std::pair("ibs_op", "11\n"), {"odd", "x\n"}, {"cpu", "4\n"}}) {
    std::filesystem::create_directory(directory.File(pmu));
    std::ofstream(directory.File(std::string(pmu) + "/type")) << type;
  }
  auto types = PmuTypes(directory.File(""));
  std::sort(types.begin(), types.end());
  CHECK(types == std::vector<std::pair<uint32_t, std::string>>{{4, "cpu"}, {11, "ibs_op"}});
  CHECK(PmuTypes(directory.File("none")).empty());
}

TEST_CASE("attrs of any size are taken") {
  for (const size_t size : {64u, 72u, 112u, 128u, 136u, 200u}) {
    Bytes bytes(size);
    perf_event_attr attr = Attr();
    attr.size = static_cast<uint32_t>(size);
    std::memcpy(bytes.data(), &attr, std::min(size, sizeof(attr)));
    Feed session(AsFed());
    REQUIRE(session.AddRecordSource(bytes, {1}, "").ok());
    FeedRecords(&session, {Mapping(10, "/bin/a"), Sample(20)});
    CHECK(SamplesIn(session.Snapshot(), "/bin/a") == 1);
  }
}

TEST_CASE("threads feed at once while others take snapshots") {
  constexpr uint64_t kThreads = 4, kSamples = 2'000;
  Feed session({});
  const uint32_t mine = *session.AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone);
  AddSource(&session, Attr());
  FeedRecords(&session, {Mapping(1, "/bin/a")});
  std::atomic<bool> ended = false;
  std::atomic<int> failures = 0;
  std::thread observer([&] {
    uint64_t before = 0;
    while (!ended) {
      const uint64_t samples = SamplesIn(session.Snapshot(), "/bin/a");
      if (samples < before || samples > 2 * kThreads * kSamples) ++failures;
      before = samples;
      (void)session.FinishRound();
      (void)session.Info();
    }
  });
  std::vector<std::thread> feeders;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    feeders.emplace_back([&, thread] {
      for (uint64_t i = 0; i < kSamples; ++i) {
        const uint64_t time = 10 + i * kThreads + thread;
        size_t consumed = 0;
        const FeedSample sample = MakeSample(time);
        const bool fed = session.FeedRecords(Sample(time), &consumed).ok() &&
                         session.FeedSamples(mine, 1, [&](size_t) { return sample; }).ok();
        if (!fed) ++failures;
      }
    });
  }
  for (std::thread& feeder : feeders) feeder.join();
  ended = true;
  observer.join();
  (void)session.FlushUpTo(UINT64_MAX);
  CHECK(failures == 0);
  CHECK(SamplesIn(session.Snapshot(), "/bin/a") == 2 * kThreads * kSamples);
}

TEST_CASE("a child of fork goes on with what there was, whoever was feeding") {
  Feed session(AsFed());
  AddSource(&session, Attr());
  FeedRecords(&session, {Mapping(10, "/bin/a"), Sample(20)});
  std::atomic<bool> ended = false;
  std::thread feeder([&] {
    size_t consumed = 0;
    while (!ended) (void)session.FeedRecords(Sample(30), &consumed);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      size_t consumed = 0;
      const uint64_t before = SamplesIn(session.Snapshot(), "/bin/a");
      const bool fed = session.FeedRecords(Sample(40), &consumed).ok();
      ::_exit(fed && SamplesIn(session.Snapshot(), "/bin/a") == before + 1 ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  ended = true;
  feeder.join();
}

// Each at an address of its own, at rising times.
std::vector<Bytes> ManySamples(uint64_t count, uint64_t first = 0) {
  std::vector<Bytes> records;
  for (uint64_t i = first; i < first + count; ++i) {
    records.push_back(Sample(20 + i * 1000, 0x400000 + i * 7919 % 0x100000));
  }
  return records;
}

Bytes TooShortSample() {
  Bytes record = Sample(40);
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof(header));
  header.size = sizeof(header) + 8;
  std::memcpy(record.data(), &header, sizeof(header));
  record.resize(header.size);
  return record;
}

Bytes LargeMapping() { return Record(10).Mmap2(0x400000, 0x100000, 0, 0, 0, 0, "/no/such/file"); }

uint64_t AllSamplesIn(const ProfileData& data) {
  uint64_t samples = data.sources.at(0).unmapped;
  for (const IpCount& count : data.counts) samples += count.samples;
  return samples;
}

TEST_CASE("a host is logged what became of what it feeds") {
  LoggedLines lines;
  FeedOptions options = AsFed();
  options.log = lines.settings(LogLevel::kDebug);
  Feed session(options);
  AddSource(&session, Attr(), {1}, "instructions:u");
  CHECK(lines.Count("samples of instructions:u, each 1000") == 1);
  const uint32_t mine = *session.AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone);
  CHECK(lines.Count("samples of ") == 2);
  FeedRecords(&session, {LargeMapping(), Sample(20)});
  CHECK(lines.messages.size() == 2);
  Bytes unknown = Sample(30);
  const uint32_t type = 99;
  std::memcpy(unknown.data(), &type, sizeof(type));
  FeedRecords(&session, {unknown, unknown});
  CHECK(lines.Count("type 99 records are skipped") == 1);
  FeedEvent lost = MakeEvent(FeedEventKind::kLost, 30);
  lost.source = mine;
  for (const uint64_t count : {3, 1, 4}) {
    lost.count = count;
    FeedEvents(&session, {lost});
  }
  CHECK(lines.Count("3 samples were lost") == 1);
  CHECK(lines.Count("4 samples were lost") == 0);  // not so much more
  CHECK(lines.Count("8 samples were lost") == 1);
  FeedRecords(&session, {TooShortSample()});
  CHECK(lines.Count("SAMPLE record is too short for its fields") == 1);
  const Bytes no_record(64, 0xff);
  size_t consumed = 0;
  CHECK_FALSE(session.FeedRecords(no_record, &consumed).ok());
  CHECK(lines.Count("what was fed is not a record") == 1);
  for (const std::string& message : lines.messages) CHECK(message.find('\n') == message.npos);
}

TEST_CASE("a log may ask the session that it is of") {
  Feed* itself = nullptr;
  int calls = 0;
  FeedOptions options = AsFed();
  options.log.log = [&](LogLevel, const char*) {
    ++calls;
    if (itself != nullptr) CHECK(itself->Info().samples <= 1);
  };
  Feed session(options);
  itself = &session;
  AddSource(&session, Attr());
  FeedRecords(&session, {TooShortSample()});
  CHECK(calls == 2);
}

TEST_CASE("max_memory: slices become wider, samples are dropped, counted and logged of") {
  const bool waits = GENERATE(false, true);
  LoggedLines lines;
  FeedOptions options = waits ? FeedOptions() : AsFed();
  options.log = lines.settings(LogLevel::kDebug);
  options.max_memory = 1 << 20;
  options.files.slice_ns = 1'000'000;
  Feed session(options);
  AddSource(&session, Attr());
  FeedRecords(&session, {LargeMapping()});
  constexpr uint64_t kBatches = 20, kOfBatch = 2000;
  for (uint64_t batch = 0; batch < kBatches; ++batch) {
    FeedRecords(&session, ManySamples(kOfBatch, batch * kOfBatch));
    (void)session.FinishRound();
    CHECK(session.Info().memory_bytes <= options.max_memory);
  }
  (void)session.FlushUpTo(UINT64_MAX);
  const SessionInfo info = session.Info();
  CHECK(info.peak_memory_bytes <= options.max_memory);
  CHECK(info.peak_memory_bytes > options.max_memory / 4);
  CHECK(info.dropped > 0);
  const ProfileData data = session.Snapshot();
  CHECK(AllSamplesIn(data) + info.dropped == kBatches * kOfBatch);
  CHECK(data.sources[0].note.find("no memory for " + std::to_string(info.dropped) + " samples") !=
        std::string::npos);
  CHECK(data.sources[0].note.find("slices were made wider") != std::string::npos);
  CHECK(data.slices.width_ns > 1'000'000);
  CHECK(lines.Count("slices are ") > 0);
  CHECK(lines.Count("compacted: ") > 0);
  CHECK(lines.Count("samples and 0 mappings were dropped: no memory") > 0);
  CHECK(lines.Count("were dropped") < 20);
}

TEST_CASE("whichever allocation of the host fails, each sample is counted or dropped") {
  for (const int every : {0, 1, 2, 3, 7}) {
    for (const bool waits : {false, true}) {
      CAPTURE(every, waits);
      FailingHost host;
      host.every = every;
      {
        FeedOptions options = waits ? FeedOptions() : AsFed();
        options.allocator = host.allocator();
        Feed session(options);
        AddSource(&session, Attr());
        FeedRecords(&session, {LargeMapping()});
        FeedRecords(&session, ManySamples(5000));
        (void)session.FlushUpTo(UINT64_MAX);
        CHECK(session.Info().waiting == 0);
        if (every == 0) CHECK(session.Info().dropped == 0);
        if (every == 1) CHECK(session.Info().dropped == 5000);
        CHECK(AllSamplesIn(session.Snapshot()) + session.Info().dropped == 5000);
        CHECK(host.calls + host.live > 0);
      }
      CHECK(host.live == 0);
    }
  }
}

TEST_CASE("records of IBS are within max_memory as well") {
  FeedOptions options = AsFed();
  options.max_memory = 1 << 20;
  Feed session(options);
  const uint32_t mine = *session.AddSampleSource(SourceOf(SourceKind::kIbs), IbsKind::kOp);
  FeedEvent mapping = MakeMapping(10, "/bin/a");
  mapping.size = 0x1000000;
  FeedEvents(&session, {mapping});
  constexpr uint64_t kSamples = 20'000;
  for (uint64_t i = 0; i < kSamples; ++i) {
    const uint64_t ip = 0x400000 + i * 16;
    const uint64_t registers[] = {0x2c30006186a, ip, 0x10002550001, 0x13, 0x31960092, i * 64, 0};
    Bytes raw(4 + sizeof(registers));
    std::memcpy(raw.data() + 4, registers, sizeof(registers));
    FeedSample sample = MakeSample(20 + i, ip);
    sample.ibs = raw;
    FeedSamples(&session, mine, {sample});
  }
  CHECK(session.Info().peak_memory_bytes <= options.max_memory);
  const ProfileData data = session.Snapshot();
  CHECK(data.ibs_counts.size() > 100);
  const auto& counters = data.sources[0].trace.counters;
  CHECK(std::any_of(counters.begin(), counters.end(), [](const auto& counter) {
    return counter.first == "ibs-sums-dropped" && counter.second > 0;
  }));
}

TEST_CASE("a snapshot is cancelled, also while another thread has the session") {
  Feed session(AsFed());
  const uint32_t mine = *session.AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone);
  FeedEvents(&session, {MakeMapping(10, "/bin/a")});
  CancelFlag flag;
  Work work;
  work.cancel = &flag;
  std::atomic<bool> is_feeding{false}, may_end{false};
  std::thread feeder([&] {
    (void)session.FeedSamples(mine, 1, [&](size_t) {
      is_feeding = true;
      while (!may_end) std::this_thread::yield();
      return MakeSample(20);
    });
  });
  while (!is_feeding) std::this_thread::yield();
  std::thread canceller([&] { flag.Set(true); });
  CHECK_THROWS_AS(session.Snapshot(work), WorkCancelled);
  canceller.join();
  may_end = true;
  feeder.join();
  CHECK_THROWS_AS(session.Snapshot(work), WorkCancelled);
  flag.Set(false);
  std::vector<uint64_t> steps;
  work.progress = [&](uint64_t done, uint64_t) { steps.push_back(done); };
  CHECK(SamplesIn(session.Snapshot(work), "/bin/a") == 1);
  CHECK(steps.size() >= 3);
  CHECK(std::is_sorted(steps.begin(), steps.end()));
}

}  // namespace
}  // namespace hbbp
