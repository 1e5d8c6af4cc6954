// Checks what bursts the worker drains, and when a burst is full or cut.
#include "trace/burst_recorder.h"

#include <unistd.h>

#include <vector>

#include "base/clock.h"
#include "support/catch.h"

namespace hbbp::trace {
namespace {

constexpr uint32_t kBranches = 8;
constexpr uint64_t kInstructions = 100;

struct Part {
  uint32_t tid;
  uint32_t periods;
  uint64_t instructions;
  std::vector<uint64_t> sources;
  PartEnd end;
  BurstCost cost;
};

// The branches and accesses of all parts.
struct Entries {
  std::vector<uint64_t> targets;
  std::vector<RecordedAccess> accesses;
};

// Has a recorder with the slot of this thread.
class Recording {
 public:
  explicit Recording(const BurstLimits& limits = {kBranches, 0, kInstructions}) {
    REQUIRE(slots_.Reserve(4));
    REQUIRE(recorder_.Reserve(4, true));
    recorder_.SetLimits(limits, SetOf(RecordedKind::kAddress));
    bool is_new = false;
    slot_ = slots_.Claim(static_cast<uint32_t>(::getpid()), &is_new);
    REQUIRE(is_new);
    recorder_.AllowThread();
  }
  ~Recording() {
    recorder_.Release();
    slots_.Release();
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  BurstRecorder* operator->() { return &recorder_; }
  ThreadSlot* slot() { return slot_; }

  // Each branch has three instructions.
  void Record(uint64_t source) {
    slot_->instructions += 3;
    REQUIRE(recorder_.Record(slot_, {source, source + 1}));
  }

  // Records what a run of a branch and these accesses leaves. Returns false if no buffer is free.
  bool Run(uint64_t target, std::vector<RecordedAccess> accesses) {
    uint32_t capacity = 0;
    TakenBranch* room = recorder_.Room(slot_, &capacity);
    if (room == nullptr) return false;
    *room = {target - 1, target};
    RunResult result;
    result.branches = 1;
    result.instructions = result.first_branch = result.last_branch = 5;
    result.accesses = static_cast<uint32_t>(accesses.size());
    recorder_.CountRun(slot_, result);
    recorder_.RecordAccesses(slot_, room, result, accesses.data());
    return true;
  }

  uint64_t MissedAccesses() const {
    return slot_->counters[static_cast<int>(Counter::kMissedAccesses)];
  }

  Entries DrainEntries() {
    Entries entries;
    recorder_.Drain(
        [](const BurstView& view, void* all) {
          auto* into = static_cast<Entries*>(all);
          for (uint32_t i = 0; i < view.count; ++i) into->targets.push_back(view.branches[i].to);
          into->accesses.insert(into->accesses.end(), view.accesses,
                                view.accesses + view.access_count);
        },
        &entries);
    return entries;
  }

  std::vector<Part> Drain() {
    std::vector<Part> parts;
    recorder_.Drain(
        [](const BurstView& view, void* all) {
          Part part{view.tid, view.periods, view.instructions, {}, view.end, view.cost};
          for (uint32_t i = 0; i < view.count; ++i) part.sources.push_back(view.branches[i].from);
          static_cast<std::vector<Part>*>(all)->push_back(part);
        },
        &parts);
    return parts;
  }

 private:
  ThreadSlots slots_;
  BurstRecorder recorder_{&slots_};
  ThreadSlot* slot_ = nullptr;
};

}  // namespace

TEST_CASE("a burst is drained when it is finished, once") {
  Recording recording;
  REQUIRE(recording->Begin(recording.slot(), 2));
  for (uint64_t i = 1; i <= 3; ++i) recording.Record(10 * i);
  CHECK(recording->BranchesLeft(*recording.slot()) == kBranches - 3);
  CHECK(recording.Drain().empty());
  recording->Finish(recording.slot());
  const std::vector<Part> parts = recording.Drain();
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].tid == static_cast<uint32_t>(::getpid()));
  CHECK(parts[0].periods == 2);
  // Instructions before the first branch are in no stream.
  CHECK(parts[0].instructions == 6);
  CHECK(parts[0].sources == std::vector<uint64_t>{10, 20, 30});
  CHECK(parts[0].end == PartEnd::kLast);
  CHECK(recording.Drain().empty());
}

TEST_CASE("no stream crosses a gap") {
  Recording recording;
  REQUIRE(recording->Begin(recording.slot(), 1));
  for (uint64_t i = 1; i <= 2; ++i) recording.Record(10 * i);
  REQUIRE(recording->StartNextPart(recording.slot(), PartEnd::kAfterGap));
  for (uint64_t i = 3; i <= 5; ++i) recording.Record(10 * i);
  recording->Finish(recording.slot());
  const std::vector<Part> parts = recording.Drain();
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].end == PartEnd::kAfterGap);
  CHECK(parts[0].instructions == 3);
  CHECK(parts[1].end == PartEnd::kLast);
  CHECK(parts[1].instructions == 6);
}

TEST_CASE(
    "accesses are of the streams that branches began, each once, and none is before the first") {
  Recording recording;
  REQUIRE(recording->Begin(recording.slot(), 1));
  recording.Run(0x1000, {{7, 0, 0x900}, {8, 1, 0x1004}, {8, 1, 0x1004}, {9, 1, 0x1008}});
  recording.Run(0x2000, {{10, 0, 0x1010}, {11, 1, 0x2000}});
  // A run without accesses begins the stream of the next ones.
  recording.Run(0x3000, {});
  recording.Run(0x4000, {{12, 0, 0x3002}});
  recording->Finish(recording.slot());
  const Entries entries = recording.DrainEntries();
  CHECK(entries.targets == std::vector<uint64_t>{0x1000, 0x2000, 0x3000, 0x4000});
  CHECK(entries.accesses ==
        std::vector<RecordedAccess>{{8, 0, 4}, {9, 0, 8}, {10, 0, 0x10}, {11, 1, 0}, {12, 2, 2}});
}

TEST_CASE("an instruction has one access or value of each kind") {
  Recording recording;
  REQUIRE(recording->Begin(recording.slot(), 1));
  const RecordedAccess address = {7, 1, 0x1004};
  const RecordedAccess rdi = {8, 1, 0x1004, RecordedKind::kRdi};
  const RecordedAccess rdx = {9, 1, 0x1004, RecordedKind::kRdx};
  const RecordedAccess next = {9, 1, 0x1008, RecordedKind::kRdx};
  recording.Run(0x1000, {address, rdi, rdx, address, rdi, rdx, next});
  recording.Run(0x2000, {});
  recording->Finish(recording.slot());
  CHECK(recording.DrainEntries().accesses ==
        std::vector<RecordedAccess>{{7, 0, 4},
                                    {8, 0, 4, RecordedKind::kRdi},
                                    {9, 0, 4, RecordedKind::kRdx},
                                    {9, 0, 8, RecordedKind::kRdx}});
}

TEST_CASE("more accesses than a buffer has room for go to several") {
  Recording recording;
  constexpr uint32_t kMany = 3 * BurstBuffer::kCapacity;
  std::vector<RecordedAccess> accesses;
  for (uint32_t i = 0; i < kMany; ++i) accesses.push_back({i, 1, 0x1000 + i});
  REQUIRE(recording->Begin(recording.slot(), 1));
  recording.Run(0x1000, accesses);
  recording->Finish(recording.slot());
  const std::vector<RecordedAccess> recorded = recording.DrainEntries().accesses;
  CHECK(recorded.size() + recording.MissedAccesses() == kMany);
  CHECK(recorded.size() >= BurstBuffer::kCapacity);
  for (size_t i = 0; i < recorded.size(); ++i) REQUIRE(recorded[i].number == i);
}

TEST_CASE("runs with few accesses share buffers") {
  constexpr uint32_t kRuns = 500;
  Recording recording({BurstRecorder::kMaxBurstBranches, 0, 1 << 22});
  REQUIRE(recording->Begin(recording.slot(), 1));
  for (uint32_t i = 1; i <= kRuns; ++i) recording.Run(i << 12, {{i, 1, i << 12}});
  recording->Finish(recording.slot());
  CHECK(recording.MissedAccesses() == 0);
  CHECK(recording.DrainEntries().accesses.size() == kRuns);
}

TEST_CASE("accesses without a buffer are dropped and counted, and the branches go on") {
  const uint32_t number = GENERATE(1u, 500u, 1000u, 1100u, 2300u, 3000u, 4100u, 5000u, 6200u);
  Recording recording({BurstRecorder::kMaxBurstBranches, 0, 1 << 22});
  std::vector<uint64_t> targets;
  std::vector<RecordedAccess> accesses(number);
  REQUIRE(recording->Begin(recording.slot(), 1));
  for (uint64_t i = 1; recording.MissedAccesses() == 0; ++i) {
    for (uint32_t k = 0; k < number; ++k) accesses[k] = {i << 32 | k, 1, k};
    if (!recording.Run(i << 12, accesses)) break;
    targets.push_back(i << 12);
  }
  const uint64_t last = targets.back();
  if (recording.Run(last + 8, {})) targets.push_back(last + 8);
  recording->Finish(recording.slot());
  const Entries entries = recording.DrainEntries();
  CHECK(entries.targets == targets);
  CHECK(recording.MissedAccesses() != 0);
  for (const RecordedAccess& access : entries.accesses) {
    REQUIRE(access.branch == (access.number >> 32) - 1);
  }
}

TEST_CASE("a burst of one branch makes no stream, and its entries are used again") {
  Recording recording;
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(recording->Begin(recording.slot(), 1));
    recording.Record(10);
    recording->Finish(recording.slot());
  }
  CHECK(recording.Drain().empty());
}

TEST_CASE("a burst whose only branch is behind all instructions has no accesses") {
  Recording recording({kBranches, 5, kInstructions});
  REQUIRE(recording->Begin(recording.slot(), 1));
  recording.Run(0x1000, {{7, 0, 0x900}, {8, 1, 0x1004}});
  REQUIRE(recording->IsFull(*recording.slot()));
  recording->Finish(recording.slot());
  CHECK(recording.Drain().empty());
  CHECK(recording.slot()->skipped == 0);
}

TEST_CASE("the next burst stands for those that made no stream") {
  Recording recording;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(recording->Begin(recording.slot(), 2));
    recording.Record(10);
    recording->Finish(recording.slot());
  }
  REQUIRE(recording->Begin(recording.slot(), 1));
  for (uint64_t i = 1; i <= 2; ++i) recording.Record(10 * i);
  recording->Finish(recording.slot());
  const std::vector<Part> parts = recording.Drain();
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].periods == 7);
}

TEST_CASE("a burst is cut unless it is full, or ends at a limit") {
  enum Case { kFew, kAllBranches, kAllInstructions, kLimit };
  const Case which = GENERATE(kFew, kAllBranches, kAllInstructions, kLimit);
  Recording recording;
  REQUIRE(recording->Begin(recording.slot(), 1));
  for (uint64_t i = 1; i <= (which == kAllBranches ? kBranches : 2); ++i) recording.Record(10 * i);
  if (which == kAllInstructions) recording.slot()->instructions = kInstructions - 1;
  recording.slot()->is_limited = which == kLimit;
  recording->Finish(recording.slot());
  const std::vector<Part> parts = recording.Drain();
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].cost.is_cut == (which == kFew));
}

TEST_CASE("a burst ends at the first branch from its instructions on") {
  constexpr uint64_t kEnd = 10;
  Recording recording({kBranches, kEnd, kInstructions});
  REQUIRE(recording->Begin(recording.slot(), 1));
  const auto room = [&recording] {
    uint32_t capacity = 0;
    REQUIRE(recording->Room(recording.slot(), &capacity) != nullptr);
    return capacity;
  };
  for (uint64_t i = 1; i <= 3; ++i) {
    CHECK(room() == kBranches + 1 - i);
    recording.Record(10 * i);
    CHECK(recording->InstructionsLeft(*recording.slot()) == kEnd - 3 * i);
    CHECK(!recording->IsFull(*recording.slot()));
  }
  SECTION("the branch after them may be far") {
    recording.slot()->instructions = kEnd;
    CHECK(room() == 1);
    CHECK(recording->InstructionsLeft(*recording.slot()) == kInstructions - kEnd);
    CHECK(!recording->IsFull(*recording.slot()));
    recording.slot()->instructions = kInstructions / 2;
  }
  SECTION("or be the last of them") { recording.slot()->instructions = kEnd - 3; }
  recording.Record(40);
  CHECK(recording->IsFull(*recording.slot()));
  recording->Finish(recording.slot());
  const std::vector<Part> parts = recording.Drain();
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].sources == std::vector<uint64_t>{10, 20, 30, 40});
  CHECK(parts[0].cost.has_all_instructions);
  CHECK(!parts[0].cost.is_cut);
}

TEST_CASE("a burst that ends before its instructions is cut") {
  Recording recording({kBranches, 10, kInstructions});
  REQUIRE(recording->Begin(recording.slot(), 1));
  for (uint64_t i = 1; i <= 3; ++i) recording.Record(10 * i);
  recording.slot()->instructions = 20;  // no branch is at their end
  recording->Finish(recording.slot());
  const std::vector<Part> parts = recording.Drain();
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].cost.is_cut);
  CHECK(!parts[0].cost.has_all_instructions);
}

TEST_CASE("a burst has the time of handlers since the one before it began") {
  Recording recording;
  for (const uint64_t before : {0, 11, 11}) {
    REQUIRE(recording->Begin(recording.slot(), 1));
    for (uint64_t i = 1; i <= 2; ++i) recording.Record(10 * i);
    recording->Finish(recording.slot());
    recording.slot()->handlers_ns += 7;  // the handler that ends
    recording.slot()->handlers_ns += 4;  // one that began no burst
    const std::vector<Part> parts = recording.Drain();
    REQUIRE(parts.size() == 1);
    CHECK(parts[0].cost.handlers_ns == before);
  }
}

TEST_CASE("a burst that is longer than it should be has no instructions left") {
  Recording recording;
  REQUIRE(recording->Begin(recording.slot(), 1));
  recording.slot()->instructions = kInstructions - 1;
  CHECK(recording->InstructionsLeft(*recording.slot()) == 1);
  recording.slot()->instructions = kInstructions + 1;
  CHECK(recording->InstructionsLeft(*recording.slot()) == 0);
}

TEST_CASE("a drain is requested in time, so that no burst is without a buffer") {
  Recording recording({kBranches, 0, 0});
  Wakeup request;
  recording->SetDrainRequest(&request);
  // Waits for a request, not for longer than that.
  const auto is_requested = [&request](uint64_t longest_ns) {
    const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
    const uint64_t end_ns = begin_ns + longest_ns;
    constexpr uint64_t kSecondNs = 1'000'000'000;
    request.WaitUntil(
        {static_cast<time_t>(end_ns / kSecondNs), static_cast<long>(end_ns % kSecondNs)});
    return ClockNs(CLOCK_MONOTONIC) < end_ns;
  };
  constexpr uint64_t kLongNs = 60'000'000'000;
  constexpr uint64_t kShortNs = 1'000'000;
  const auto record = [&recording] {
    if (!recording->Begin(recording.slot(), 1)) return false;
    for (uint64_t i = 0; i < kBranches; ++i) recording.Record(i);
    recording->Finish(recording.slot());
    return true;
  };
  int until_full = 0;
  while (record()) ++until_full;
  CHECK(is_requested(kLongNs));
  (void)recording.Drain();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < until_full / 8; ++i) REQUIRE(record());
    (void)recording.Drain();
    for (int i = 0; i < until_full / 2; ++i) REQUIRE(record());
    CHECK(is_requested(kLongNs));
    CHECK_FALSE(is_requested(kShortNs));
    (void)recording.Drain();
  }
  // Also of buffers that fill up during a drain.
  struct Busy {
    const decltype(record)& more;
    int rounds;
  } busy{record, until_full / 3};
  for (int i = 0; i < until_full / 2; ++i) REQUIRE(record());
  CHECK(is_requested(kLongNs));
  recording->Drain(
      [](const BurstView&, void* pointer) {
        auto* const during = static_cast<Busy*>(pointer);
        for (; during->rounds > 0; --during->rounds) REQUIRE(during->more());
      },
      &busy);
  CHECK(is_requested(kLongNs));
  (void)recording.Drain();
  recording->SetDrainRequest(nullptr);
  while (record()) continue;
  CHECK_FALSE(is_requested(kShortNs));
}

}  // namespace hbbp::trace
