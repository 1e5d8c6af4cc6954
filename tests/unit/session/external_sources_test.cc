// Sessions with sources that the host has written.
#include "session/external_sources.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "session/feed.h"
#include "session/session.h"
#include "support/catch.h"
#include "support/sanitizer.h"

namespace hbbp {
namespace {

// What the calls of a source did, and what they shall do.
struct Script {
  std::atomic<int> starts{0}, drains{0}, stops{0};
  std::function<Status(Feed*)> on_start = [](Feed*) { return OkStatus(); };
  std::function<Status(Feed*)> on_drain = [](Feed*) { return OkStatus(); };
  std::function<Status(Feed*)> on_stop = [](Feed*) { return OkStatus(); };
  std::atomic<bool> has_ended{false};
};

class ScriptedSource : public ExternalSource {
 public:
  explicit ScriptedSource(Script* script) : script_(*script) {}

  Status Start(Feed* feed) override {
    ++script_.starts;
    return script_.on_start(feed);
  }
  Status Drain(Feed* feed, bool* has_ended) override {
    ++script_.drains;
    *has_ended = script_.has_ended;
    return script_.on_drain(feed);
  }
  Status Stop(Feed* feed) override {
    ++script_.stops;
    return script_.on_stop(feed);
  }

 private:
  Script& script_;
};

// A function of this program, as an address that is mapped.
uint64_t CodeAddress() { return reinterpret_cast<uint64_t>(&CodeAddress); }

SourceRecord SourceOf(SourceKind kind) {
  SourceRecord source;
  source.kind = kind;
  source.event = EventKind::kInstructions;
  source.period = 500;
  source.event_name = "mine";
  return source;
}

FeedSample SampleOf(uint32_t pid) {
  FeedSample sample;
  sample.pid = pid;
  sample.tid = pid;
  sample.time_ns = ClockNs(CLOCK_MONOTONIC);
  sample.ip = CodeAddress();
  return sample;
}

Status FeedSampleTo(Feed* feed, uint32_t pid) {
  return feed->FeedSamples(0, 1, [&](size_t) { return SampleOf(pid); });
}

uint32_t OwnPid() { return static_cast<uint32_t>(::getpid()); }

// A source with one sample a drain.
void SampleEachDrain(Script* script) {
  script->on_start = [](Feed* feed) {
    return feed->AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone).status();
  };
  script->on_drain = [](Feed* feed) { return FeedSampleTo(feed, OwnPid()); };
}

void WaitUntil(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Add(const char* name, Script* script, Session* session) {
  REQUIRE(session->AddExternalSource(name, std::make_unique<ScriptedSource>(script)).ok());
}

uint64_t SamplesIn(const ProfileData& data) {
  uint64_t samples = 0;
  for (const IpCount& count : data.counts) samples += count.samples;
  return samples;
}

TEST_CASE("an external source is counted in the session, from every run") {
  Script script;
  SampleEachDrain(&script);
  Session session(nullptr, {});
  Add("mine", &script, &session);
  for (int run = 1; run <= 2; ++run) {
    REQUIRE(session.Start().ok());
    const int drains = script.drains;
    WaitUntil([&] { return script.drains >= drains + 2; });
    CHECK(session.AddExternalSource("late", nullptr).code() == StatusCode::kInvalidState);
    REQUIRE(session.Stop().ok());
    CHECK(script.starts == run);
    CHECK(script.stops == run);
  }
  const ProfileData data = session.Snapshot();
  REQUIRE(data.sources.size() == 1);
  CHECK(data.sources[0].event_name == "mine");
  CHECK(data.sources[0].note == "of the external source mine");
  CHECK(data.sources[0].smallest_period == 500);
  CHECK(SamplesIn(data) == static_cast<uint64_t>(script.drains));
  REQUIRE(data.counts.size() == 1);
  CHECK(data.modules[data.counts[0].module].kind == ModuleKind::kFile);
  CHECK(session.Info().samples == SamplesIn(data));
}

TEST_CASE("external sources are stopped in the reverse order, and once, if a later one fails") {
  std::string calls;
  Script first, second, third;
  first.on_stop = [&](Feed*) {
    calls += "1";
    return OkStatus();
  };
  second.on_stop = [&](Feed*) {
    calls += "2";
    return OkStatus();
  };
  third.on_start = [](Feed*) { return MakeStatus(StatusCode::kPermission, "no right"); };
  Session session(nullptr, {});
  Add("first", &first, &session);
  Add("second", &second, &session);
  Add("third", &third, &session);
  const Status status = session.Start();
  CHECK(status.code() == StatusCode::kPermission);
  CHECK(status.message() == "third: start: no right");
  CHECK(calls == "21");
  CHECK(third.stops == 0);
  CHECK_FALSE(session.Info().running);
  CHECK(session.Stop().code() == StatusCode::kInvalidState);
  third.on_start = [](Feed*) { return OkStatus(); };
  CHECK(session.Start().ok());
  CHECK(session.Stop().ok());
  CHECK(first.starts == 2);
  CHECK(first.stops == 2);
  CHECK(third.stops == 1);
}

TEST_CASE("events of other processes are dropped, and counted") {
  Script script;
  SampleEachDrain(&script);
  std::atomic<bool> was_fed{false};
  script.on_drain = [&](Feed* feed) {
    if (was_fed) return OkStatus();
    FeedEvent mapping;
    mapping.kind = FeedEventKind::kMapping;
    mapping.pid = 1;
    mapping.address = CodeAddress() / 4096 * 4096;
    mapping.size = 4096;
    mapping.name = "/bin/other";
    Status status = feed->FeedEvents(1, [&](size_t) { return mapping; });
    if (status.ok()) status = FeedSampleTo(feed, 1);
    if (status.ok()) status = FeedSampleTo(feed, OwnPid());
    was_fed = true;
    return status;
  };
  Session session(nullptr, {});
  Add("mine", &script, &session);
  REQUIRE(session.Start().ok());
  WaitUntil([&] { return was_fed.load(); });
  REQUIRE(session.Stop().ok());
  const ProfileData data = session.Snapshot();
  CHECK(SamplesIn(data) == 1);
  CHECK(data.sources.at(0).note ==
        "of the external source mine; 2 events of other processes were dropped");
  CHECK(session.Info().dropped == 2);
}

TEST_CASE("a source that has ended is not drained, and one that fails is logged once") {
  Script ended, failing;
  ended.has_ended = true;
  failing.on_start = [](Feed* feed) {
    return feed->AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone).status();
  };
  failing.on_drain = [](Feed*) { return MakeStatus(StatusCode::kIo, "the wire is cut"); };
  std::atomic<int> errors{0};
  SessionSettings settings;
  settings.log.log = [&](LogLevel level, const char*) { errors += level == LogLevel::kError; };
  Session session(nullptr, settings);
  Add("ended", &ended, &session);
  Add("failing", &failing, &session);
  REQUIRE(session.Start().ok());
  WaitUntil([&] { return failing.drains >= 3; });
  REQUIRE(session.Stop().ok());
  CHECK(ended.drains == 1);
  CHECK(ended.stops == 1);
  CHECK(errors == 1);
  CHECK(session.Snapshot().sources.at(0).note ==
        "of the external source failing; failing: drain: the wire is cut");
}

TEST_CASE("a source can feed from any thread, and take snapshots, but not stop the session") {
  Script script;
  Session session(nullptr, {});
  std::atomic<Feed*> feed{nullptr};
  std::atomic<bool> should_end{false};
  std::atomic<uint64_t> fed{0};
  Status in_call[3];
  script.on_start = [&](Feed* given) {
    in_call[0] = session.Start();
    in_call[1] = session.Stop();
    in_call[2] = session.AddExternalSource("more", nullptr);
    HBBP_RETURN_IF_ERROR(
        given->AddSampleSource(SourceOf(SourceKind::kEbs), IbsKind::kNone).status());
    feed = given;
    return OkStatus();
  };
  script.on_drain = [&](Feed*) {
    (void)session.Snapshot();
    return OkStatus();
  };
  script.on_stop = [&](Feed* given) { return FeedSampleTo(given, OwnPid()); };
  Add("mine", &script, &session);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      WaitUntil([&] { return feed.load() != nullptr; });
      while (!should_end) fed += FeedSampleTo(feed, OwnPid()).ok();
    });
  }
  REQUIRE(session.Start().ok());
  WaitUntil([&] { return script.drains >= 3; });
  REQUIRE(session.Stop().ok());
  CHECK(FeedSampleTo(feed, OwnPid()).code() == StatusCode::kInvalidState);
  should_end = true;
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : in_call) CHECK(status.code() == StatusCode::kInvalidState);
  CHECK(SamplesIn(session.Snapshot()) == fed + 1);
}

TEST_CASE("bursts of an external tracer weigh their period by their extent") {
  Script script;
  script.on_start = [](Feed* feed) {
    return feed->AddSampleSource(SourceOf(SourceKind::kSwbt), IbsKind::kNone).status();
  };
  script.on_stop = [](Feed* feed) {
    const uint64_t code = CodeAddress();
    const std::vector<TakenBranch> branches(3, {{code + 8}, {code}});
    FeedBurst burst;
    burst.pid = burst.tid = OwnPid();
    burst.period = 1000;
    burst.extent = 40;
    burst.branches = branches;
    return feed->FeedBursts(0, 1, [&](size_t) { return burst; });
  };
  Session session(nullptr, {});
  Add("tracer", &script, &session);
  REQUIRE(session.Start().ok());
  REQUIRE(session.Stop().ok());
  const ProfileData data = session.Snapshot();
  REQUIRE(data.sources.size() == 1);
  CHECK(data.sources[0].burst_extent == BurstExtent::kEvents);
  CHECK(data.sources[0].trace.bursts == 1);
  CHECK(data.sources[0].trace.taken_branches == 3);
  REQUIRE(data.branches.size() == 2);
  CHECK(data.branches[0].weights == 2 * 1000.0 / 40);
}

TEST_CASE("the child of a fork forgets the sources of its parent, and may start them again") {
  Script script;
  SampleEachDrain(&script);
  Session session(nullptr, {});
  Add("mine", &script, &session);
  REQUIRE(session.Start().ok());
  WaitUntil([&] { return session.Info().samples > 0; });
  const pid_t child = ::fork();
  if (child == 0) {
    const int starts = script.starts;
    int result = 0;
    if (session.Info().running || session.Info().samples != 0) result = 1;
    if (!session.Snapshot().sources.empty()) result = 2;
    if (script.stops != 0) result = 3;
    // It cannot start threads in the child of a process with threads.
    if (result == 0 && !kHasThreadSanitizer) {
      if (!session.Start().ok() || script.starts != starts + 1) result = 4;
      while (session.Info().samples < 2) ::usleep(1000);
      if (!session.Stop().ok() || script.stops != 1) result = 5;
      if (SamplesIn(session.Snapshot()) < 2) result = 6;
    }
    ::_exit(result);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(session.Info().running);
  CHECK(session.Stop().ok());
  CHECK(script.stops == 1);
}

}  // namespace
}  // namespace hbbp
