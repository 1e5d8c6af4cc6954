// Start gives each source a Run: a feed, whose events pass EventsOfProcess and go to the recorder
// of the session. The worker calls Drain. Stop and a failed Start end the runs in reverse order;
// EndRun then leaves in the sources of the recorder what their feed knew. The rest is called for
// snapshots.
#include "session/external_sources.h"

#include <unistd.h>

#include <atomic>
#include <deque>
#include <new>
#include <utility>

#include "base/clock.h"
#include "perf/mmap_mapping.h"
#include "session/feed.h"

namespace hbbp {
namespace {

// Passes on what belongs to one process, as events of pid 0 do; a sample without a time is of now.
class EventsOfProcess : public ForwardingSink {
 public:
  EventsOfProcess(pid_t pid, EventSink* next)
      : ForwardingSink(next), pid_(static_cast<uint32_t>(pid != 0 ? pid : ::getpid())) {}

  void OnMapping(MappingEvent mapping) override {
    if (IsOwn(&mapping.pid)) next().OnMapping(std::move(mapping));
  }
  void OnCode(CodeEvent code) override {
    if (IsOwn(&code.pid)) next().OnCode(std::move(code));
  }
  void OnData(const DataEvent& data) override {
    DataEvent own = data;
    if (IsOwn(&own.pid)) next().OnData(own);
  }
  void OnFork(const ForkEvent& fork) override {
    uint32_t pid = fork.pid;
    if (IsOwn(&pid)) next().OnFork(fork);
  }
  void OnExec(uint32_t pid) override {
    if (IsOwn(&pid)) next().OnExec(pid);
  }
  void OnExit(uint32_t pid) override {
    if (IsOwn(&pid)) next().OnExit(pid);
  }
  void OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) override {
    if (IsOwn(&pid)) next().OnThreadName(pid, tid, name);
  }
  void OnSample(const IpSample& sample) override {
    WithOwn(sample, [this](const IpSample& own) { next().OnSample(own); });
  }
  void OnBurst(const BurstSample& burst) override {
    WithOwn(burst, [this](const BurstSample& own) { next().OnBurst(own); });
  }
  void OnIbsOp(const IpSample& sample, const IbsOp& op) override {
    WithOwn(sample, [this, &op](const IpSample& own) { next().OnIbsOp(own, op); });
  }
  void OnIbsFetch(const IpSample& sample, const IbsFetch& fetch) override {
    WithOwn(sample, [this, &fetch](const IpSample& own) { next().OnIbsFetch(own, fetch); });
  }

  uint64_t dropped() const { return dropped_; }

 private:
  bool IsOwn(uint32_t* pid) {
    if (*pid == 0) *pid = pid_;
    if (*pid == pid_) return true;
    if (*pid != kKernelPid) ++dropped_;
    return false;
  }
  template <typename Sample, typename PassOn>
  void WithOwn(Sample sample, PassOn&& pass_on) {
    if (!IsOwn(&sample.pid)) return;
    if (sample.time_ns == 0 || sample.time_ns == kNoTime) {
      sample.time_ns = ClockNs(CLOCK_MONOTONIC);
    }
    pass_on(sample);
  }

  const uint32_t pid_;
  uint64_t dropped_ = 0;
};

// A feed, and what stands between it and the recorder.
struct Run {
  Run(uint32_t owner, const ExternalSources::Target& target)
      : events(target.pid, target.recorder),
        feed({target.data_mutex, &events,
              [this, owner, recorder = target.recorder](SourceRecord source) {
                numbers.push_back(recorder->AddSource(std::move(source), owner));
                return numbers.back();
              },
              target.log, target.memory},
             {}) {}

  std::vector<uint32_t> numbers;  // of its sources in the recorder
  EventsOfProcess events;
  Feed feed;

  uint64_t dropped() const { return feed.dropped_records() + events.dropped(); }
};

struct Member {
  Member(std::string name, std::unique_ptr<ExternalSource> source)
      : driver(std::move(name), std::move(source)) {}

  std::unique_ptr<Run> run;     // the current one, or the last
  uint64_t dropped_before = 0;  // in the runs before
  ExternalSourceDriver driver;
  // These are guarded by the mutex of the session.
  bool is_in_run = false;
  std::string problem;  // the last that it had; empty: none
};

class SessionExternalSources : public ExternalSources {
 public:
  explicit SessionExternalSources(const Target& target) : target_(target) {}

  Status Start() override;
  void Drain() override;
  Status Stop() override;
  bool IsInCall() const override;

  void Add(std::string name, std::unique_ptr<ExternalSource> source) override {
    members_.emplace_back(std::move(name), std::move(source));
  }
  void ReportStatistics() override;
  void Complete(std::span<SourceRecord> sources) override;
  void AddTo(SessionInfo* info) const override;
  std::vector<uint32_t> numbers() const override;
  void ResetInChild() override;

 private:
  Status StartMember(size_t index);
  Status StopMembers(size_t count);
  void EndRun(Member* member);
  void RecordProblem(const Status& status, Member* member);
  static void CompleteMember(const Member& member, std::span<SourceRecord> sources);

  const Target target_;
  std::deque<Member> members_;
  std::atomic<bool> is_running_{false};
};

Status SessionExternalSources::StartMember(size_t index) {
  Member& member = members_[index];
  {
    const auto owner = static_cast<uint32_t>(Recorder::kBackend + 1 + index);
    std::lock_guard data(*target_.data_mutex);
    target_.recorder->BeginRun(owner);
    if (member.run != nullptr) member.dropped_before += member.run->dropped();
    member.run = std::make_unique<Run>(owner, target_);
    member.problem.clear();
    member.is_in_run = true;
  }
  Status status = member.driver.Start(&member.run->feed);
  if (!status.ok()) EndRun(&member);
  return status;
}

Status SessionExternalSources::Start() {
  size_t started = 0;
  Status status;
  try {
    while (status.ok() && started < members_.size()) {
      status = StartMember(started);
      if (status.ok()) ++started;
    }
  } catch (const std::bad_alloc&) {
    status = Status(StatusCode::kNoMemory, "out of memory");  // so short that it needs none
  }
  if (status.ok()) {
    is_running_ = true;
  } else {
    (void)StopMembers(started);
  }
  return status;
}

void SessionExternalSources::Drain() {
  for (Member& member : members_) {
    if (!is_running_) return;
    bool has_ended = false;
    const Status status = member.driver.Drain(&has_ended);
    if (!is_running_) return;
    RecordProblem(status, &member);
    if (!has_ended) (void)member.run->feed.FinishRound();
  }
}

Status SessionExternalSources::Stop() {
  return is_running_.exchange(false) ? StopMembers(members_.size()) : OkStatus();
}

// The last one that was started is the first to be stopped.
Status SessionExternalSources::StopMembers(size_t count) {
  Status first;
  while (count-- > 0) {
    Member& member = members_[count];
    Status status = member.driver.Stop();
    RecordProblem(status, &member);
    EndRun(&member);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

// What is known of its sources stays with them, because the next run has another feed.
void SessionExternalSources::EndRun(Member* member) {
  std::lock_guard data(*target_.data_mutex);
  Feed& feed = member->run->feed;
  feed.Close();
  feed.ReportStatistics();
  member->is_in_run = false;
  CompleteMember(*member, target_.recorder->aggregator().sources());
}

// A source that fails each time is logged once.
void SessionExternalSources::RecordProblem(const Status& status, Member* member) {
  if (status.ok() || status.message() == member->problem) return;
  target_.log->Log(LogLevel::kError, "%s", status.message().c_str());
  std::lock_guard data(*target_.data_mutex);
  member->problem = status.message();
}

bool SessionExternalSources::IsInCall() const {
  for (const Member& member : members_) {
    if (member.driver.IsInCall()) return true;
  }
  return false;
}

void SessionExternalSources::ReportStatistics() {
  for (Member& member : members_) {
    if (member.is_in_run) member.run->feed.ReportStatistics();
  }
}

void SessionExternalSources::Complete(std::span<SourceRecord> sources) {
  for (const Member& member : members_) {
    if (member.is_in_run) CompleteMember(member, sources);
  }
}

void SessionExternalSources::CompleteMember(const Member& member, std::span<SourceRecord> sources) {
  const Run& run = *member.run;
  run.feed.CompleteSources(sources);
  std::string note = "of the external source " + member.driver.name();
  if (run.events.dropped() != 0) {
    AppendNote(std::to_string(run.events.dropped()) + " events of other processes were dropped",
               &note);
  }
  AppendNote(member.problem, &note);
  for (const uint32_t number : run.numbers) {
    std::string& notes = sources[number].note;
    const bool is_of_earlier_run = notes.find(note) != std::string::npos;
    if (!is_of_earlier_run) AppendNote(note, &notes);
  }
}

void SessionExternalSources::AddTo(SessionInfo* info) const {
  for (const Member& member : members_) {
    if (member.run == nullptr) continue;
    info->waiting += member.run->feed.waiting();
    info->dropped += member.dropped_before + member.run->dropped();
  }
}

std::vector<uint32_t> SessionExternalSources::numbers() const {
  std::vector<uint32_t> numbers;
  for (const Member& member : members_) {
    if (member.run == nullptr) continue;
    numbers.insert(numbers.end(), member.run->numbers.begin(), member.run->numbers.end());
  }
  return numbers;
}

void SessionExternalSources::ResetInChild() {
  is_running_ = false;
  for (Member& member : members_) {
    member.is_in_run = false;
    if (member.run != nullptr) {
      member.run->feed.Abandon();
      member.run->numbers.clear();  // the child counts anew
    }
    member.driver.ResetInChild();
  }
}

}  // namespace

std::unique_ptr<ExternalSources> MakeExternalSources(const ExternalSources::Target& target) {
  return std::make_unique<SessionExternalSources>(target);
}

}  // namespace hbbp
