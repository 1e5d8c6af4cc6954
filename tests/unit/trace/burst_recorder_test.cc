// Checks what bursts the worker drains, and when a burst is full or cut.
#include "trace/burst_recorder.h"

#include <unistd.h>

#include <vector>

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

// Has a recorder with the slot of this thread.
class Recording {
 public:
  explicit Recording(const BurstLimits& limits = {kBranches, 0, kInstructions}) {
    REQUIRE(slots_.Reserve(4));
    REQUIRE(recorder_.Reserve(4, true));
    recorder_.SetLimits(limits);
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

TEST_CASE("a burst of one branch makes no stream, and its entries are used again") {
  Recording recording;
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(recording->Begin(recording.slot(), 1));
    recording.Record(10);
    recording->Finish(recording.slot());
  }
  CHECK(recording.Drain().empty());
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

}  // namespace hbbp::trace
