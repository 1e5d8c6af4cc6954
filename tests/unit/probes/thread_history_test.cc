// Tests what follows from the earlier instructions of a thread: strides, callers, trip counts.
#include "probes/thread_history.h"

#include "support/catch.h"
#include "unit/probes/probe_stream.h"

namespace hbbp {
namespace {

constexpr ProbeKeySet kAll =
    SetOf(ProbeKey::kStride) | SetOf(ProbeKey::kCaller) | SetOf(ProbeKey::kTrips);

class History {
 public:
  explicit History(ThreadHistory::Extent extent = ThreadHistory::Extent::kWholeThread)
      : history_(extent) {}

  InstructionEvent Execute(const Code& code, uint64_t pc, uint64_t next, uint64_t address = 0) {
    REQUIRE(set_.Prepare(code, {pc, pc & ~uint64_t{0xfff}}, &instruction_));
    InstructionEvent event;
    event.instruction = &instruction_;
    event.next = next;
    event.address = address;
    event.size = address != 0 ? 8 : 0;
    history_.Complete(keys, &event);
    history_.Follow(keys, event);
    return event;
  }

  ProbeKeySet keys = kAll;

 private:
  ProductionSet set_ = ParseProductions("p: return => null, null");
  ProbedInstruction instruction_;
  ThreadHistory history_;
};

TEST_CASE("history: strides are of one instruction") {
  History history;
  CHECK(history.Execute(kLoad, 0x1000, 0, 0x500).stride == 0);
  CHECK(history.Execute(kLoad, 0x1010, 0, 0x900).stride == 0);
  CHECK(history.Execute(kLoad, 0x1000, 0, 0x540).stride == 0x40);
  CHECK(history.Execute(kLoad, 0x1010, 0, 0x8f8).stride == static_cast<uint64_t>(-8));
}

TEST_CASE("history: callers follow calls and returns") {
  History history;
  CHECK(history.Execute(kNop, 0x1000, 0).caller == 0);
  history.Execute(kCallRax, 0x1010, 0x2000);
  CHECK(history.Execute(kNop, 0x2000, 0).caller == 0x1000);
  history.Execute(kCallRax, 0x2010, 0x3000);
  CHECK(history.Execute(kNop, 0x3000, 0).caller == 0x2000);
  SECTION("a return") {
    history.Execute(kReturn, 0x3020, 0x2012);
    CHECK(history.Execute(kNop, 0x2012, 0).caller == 0x1000);
    history.Execute(kReturn, 0x2020, 0x1012);
    CHECK(history.Execute(kNop, 0x1012, 0).caller == 0);
  }
  SECTION("frames that longjmp left are gone at the next return") {
    history.Execute(kReturn, 0x2020, 0x1012);
    CHECK(history.Execute(kNop, 0x1012, 0).caller == 0);
  }
  SECTION("a return that fits no call changes nothing") {
    history.Execute(kReturn, 0x3020, 0x7777);
    CHECK(history.Execute(kNop, 0x3000, 0).caller == 0x2000);
  }
}

TEST_CASE("history: recursion beyond the maximum depth stays in step") {
  constexpr size_t kDepth = ThreadHistory::kMaxCallDepth + 2;
  History history;
  history.Execute(kCallRax, 0x1010, 0x2000);
  for (size_t i = 0; i < kDepth; ++i) history.Execute(kCallRax, 0x2010, 0x2000);
  CHECK(history.Execute(kNop, 0x2000, 0).caller == 0);
  for (size_t i = 0; i < kDepth - 1; ++i) history.Execute(kReturn, 0x2020, 0x2012);
  CHECK(history.Execute(kNop, 0x2012, 0).caller == 0x2000);
  history.Execute(kReturn, 0x2020, 0x2012);
  CHECK(history.Execute(kNop, 0x2012, 0).caller == 0x1000);
  history.Execute(kReturn, 0x2020, 0x1012);
  CHECK(history.Execute(kNop, 0x1012, 0).caller == 0);
}

TEST_CASE("history: trips are counted until the branch is not taken") {
  History history;
  for (const uint64_t trips : {1, 2, 3}) {
    CHECK(history.Execute(kJneBack, 0x1000, 0xff2).trips == trips);
  }
  CHECK(history.Execute(kJneBack, 0x1000, 0x1002).trips == 4);
  CHECK(history.Execute(kJneBack, 0x1000, 0xff2).trips == 1);
  CHECK(history.Execute(kJneForward, 0x1000, 0x1012).trips == 0);
  CHECK(history.Execute(kJumpBack, 0x1000, 0xff2).trips == 0);
}

TEST_CASE("history: what no production uses is not kept") {
  History history;
  history.keys = 0;
  history.Execute(kCallRax, 0x1010, 0x2000);
  history.Execute(kLoad, 0x2000, 0, 0x500);
  const InstructionEvent event = history.Execute(kLoad, 0x2000, 0, 0x540);
  CHECK(event.stride == 0);
  CHECK(event.caller == 0);
  CHECK(history.Execute(kJneBack, 0x1000, 0xff2).trips == 0);
}

TEST_CASE("history: a part of a thread does not know what was before") {
  constexpr ProbeKeySet kStride = SetOf(ProbeKey::kStride), kCaller = SetOf(ProbeKey::kCaller),
                        kTrips = SetOf(ProbeKey::kTrips);
  History history(ThreadHistory::Extent::kPart);
  CHECK(history.Execute(kLoad, 0x1000, 0, 0x500).unknown == (kStride | kCaller));
  CHECK(history.Execute(kLoad, 0x1000, 0, 0x540).unknown == kCaller);
  CHECK(history.Execute(kCallRax, 0x1010, 0x2000, 0x700).unknown == (kStride | kCaller));
  CHECK(history.Execute(kNop, 0x2000, 0).unknown == 0);
  CHECK(history.Execute(kJneBack, 0x2010, 0x2002).unknown == kTrips);
  CHECK(history.Execute(kJneBack, 0x2010, 0x2012).unknown == kTrips);
  const InstructionEvent second = history.Execute(kJneBack, 0x2010, 0x2012);
  CHECK(second.unknown == 0);
  CHECK(second.trips == 1);
  history.Execute(kReturn, 0x2020, 0x1012);
  CHECK(history.Execute(kNop, 0x1012, 0).unknown == kCaller);
  CHECK(History().Execute(kLoad, 0x1000, 0, 0x500).unknown == 0);
}

}  // namespace
}  // namespace hbbp
