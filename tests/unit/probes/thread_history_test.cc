// Tests what follows from the earlier instructions of a thread: strides, reuse distances, callers,
// trip counts, paths.
#include "probes/thread_history.h"

#include <bit>

#include "support/catch.h"
#include "unit/probes/probe_stream.h"

namespace hbbp {
namespace {

constexpr ProbeKeySet kAll = SetOf(ProbeKey::kStride) | SetOf(ProbeKey::kCaller) |
                             SetOf(ProbeKey::kTrips) | SetOf(ProbeKey::kReuse) | kPaths;

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
    event.unknown = unknown;
    history_.Complete(keys, &event);
    history_.Follow(keys, event);
    return event;
  }

  ProbeKeySet keys = kAll;
  ProbeKeySet unknown = 0;

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

TEST_CASE("history: reuse distances are of lines, rounded down to a power of two") {
  History history;
  CHECK(history.Execute(kLoad, 0x1000, 0, 0x500).reuse == ReuseDistances::kFirst);
  CHECK(history.Execute(kStore, 0x1010, 0, 0x538).reuse == 0);
  CHECK(history.Execute(kStore, 0x1010, 0, 0x53c).reuse == 0);  // and in the next line
  CHECK(history.Execute(kLoad, 0x1000, 0, 0x540).reuse == 0);
  CHECK(history.Execute(kLoad, 0x1000, 0, 0x500).reuse == 1);
  for (uint64_t address = 0x600; address < 0x600 + 4 * 64; address += 64) {
    history.Execute(kLoad, 0x1000, 0, address);
  }
  CHECK(history.Execute(kLoad, 0x1000, 0, 0x540).reuse == 4);  // 5
  CHECK(history.Execute(kNop, 0x1000, 0).reuse == 0);
  CHECK(history.Execute(kLoad, 0x1000, 0, ~uint64_t{0}).reuse == ReuseDistances::kFirst);
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

bool HasPath(const InstructionEvent& event, uint64_t start, uint64_t path, bool ends) {
  INFO(event.path_start << " " << event.path << " " << event.ends_path);
  return event.path_start == start && event.path == path && event.ends_path == ends;
}

TEST_CASE("history: a path has the outcomes of conditional branches up to a backward one") {
  History history;
  CHECK(HasPath(history.Execute(kNop, 0x1000, 0x1001), 0x1000, 0b1, false));
  CHECK(HasPath(history.Execute(kJneForward, 0x1001, 0x1013), 0x1000, 0b11, false));
  CHECK(HasPath(history.Execute(kJneForward, 0x1013, 0x1015), 0x1000, 0b110, false));
  CHECK(HasPath(history.Execute(kJneBack, 0x1015, 0x1017), 0x1000, 0b1100, false));
  CHECK(HasPath(history.Execute(kJneBack, 0x1017, 0x1009), 0x1000, 0b11001, true));
  CHECK(HasPath(history.Execute(kNop, 0x1009, 0x100a), 0x1009, 0b1, false));
  CHECK(HasPath(history.Execute(kJumpBack, 0x1010, 0x1002), 0x1009, 0b1, true));
  CHECK(HasPath(history.Execute(kJumpRax, 0x1002, 0x1800), 0x1002, 0b1, true));
  CHECK(HasPath(history.Execute(kNop, 0x1800, 0x1801), 0x1800, 0b1, false));
}

TEST_CASE("history: a call interrupts a path") {
  History history;
  history.Execute(kJneForward, 0x1000, 0x1012);
  CHECK(HasPath(history.Execute(kCallRax, 0x1012, 0x2000), 0x1000, 0b11, false));
  CHECK(HasPath(history.Execute(kJneForward, 0x2000, 0x2002), 0x2000, 0b10, false));
  CHECK(HasPath(history.Execute(kCallRax, 0x2002, 0x3000), 0x2000, 0b10, false));
  SECTION("and returns resume it") {
    CHECK(HasPath(history.Execute(kReturn, 0x3000, 0x2004), 0x3000, 0b1, true));
    CHECK(HasPath(history.Execute(kReturn, 0x2004, 0x1014), 0x2000, 0b10, true));
    CHECK(HasPath(history.Execute(kJneForward, 0x1014, 0x1016), 0x1000, 0b110, false));
  }
  SECTION("also a return over several calls") {
    CHECK(HasPath(history.Execute(kReturn, 0x3000, 0x1014), 0x3000, 0b1, true));
    CHECK(HasPath(history.Execute(kNop, 0x1014, 0x1015), 0x1000, 0b11, false));
  }
  SECTION("but one that fits no call begins another path") {
    CHECK(HasPath(history.Execute(kReturn, 0x3000, 0x7777), 0x3000, 0b1, true));
    CHECK(HasPath(history.Execute(kNop, 0x7777, 0x7778), 0x7777, 0b1, false));
  }
}

TEST_CASE("history: a path ends behind 63 outcomes") {
  History history;
  for (int i = 1; i < ThreadHistory::kMaxOutcomes; ++i) {
    CHECK_FALSE(history.Execute(kJneForward, 0x1000, 0x1012).ends_path);
  }
  const uint64_t all_taken = ~uint64_t{0};
  CHECK(HasPath(history.Execute(kJneForward, 0x1000, 0x1012), 0x1000, all_taken, true));
  CHECK(HasPath(history.Execute(kJneForward, 0x1012, 0x1014), 0x1012, 0b10, false));
}

TEST_CASE("history: what no production uses is not kept") {
  History history;
  history.keys = 0;
  history.Execute(kCallRax, 0x1010, 0x2000);
  history.Execute(kLoad, 0x2000, 0, 0x500);
  const InstructionEvent event = history.Execute(kLoad, 0x2000, 0, 0x540);
  CHECK(event.stride == 0);
  CHECK(event.reuse == 0);
  CHECK(event.caller == 0);
  CHECK(HasPath(history.Execute(kJneBack, 0x1000, 0xff2), 0, 1, false));
  CHECK(history.Execute(kJneBack, 0x1000, 0xff2).trips == 0);
}

TEST_CASE("history: a part of a thread knows how many lines there are at least") {
  History history(ThreadHistory::Extent::kPart);
  for (uint64_t line = 0; line < 6; ++line) {
    const InstructionEvent first = history.Execute(kLoad, 0x1000, 0, 0x800 + 64 * line);
    CHECK((first.unknown & SetOf(ProbeKey::kReuse)) != 0);
    CHECK(first.reuse == std::bit_floor(line));
  }
  const InstructionEvent again = history.Execute(kLoad, 0x1000, 0, 0x800);
  CHECK((again.unknown & SetOf(ProbeKey::kReuse)) == 0);
  CHECK(again.reuse == 4);
}

TEST_CASE("history: behind an unknown address nothing is known of lines") {
  History history(ThreadHistory::Extent::kPart);
  history.Execute(kLoad, 0x1000, 0, 0x800);
  history.unknown = SetOf(ProbeKey::kAddress);
  CHECK((history.Execute(kLoad, 0x1000, 0, 0x900).unknown & SetOf(ProbeKey::kReuse)) != 0);
  history.unknown = 0;
  const InstructionEvent again = history.Execute(kLoad, 0x1000, 0, 0x800);
  CHECK((again.unknown & SetOf(ProbeKey::kReuse)) != 0);
  CHECK(again.reuse == 0);
  CHECK((history.Execute(kLoad, 0x1000, 0, 0x800).unknown & SetOf(ProbeKey::kReuse)) == 0);
}

TEST_CASE("history: a part of a thread does not know what was before") {
  constexpr ProbeKeySet kStride = SetOf(ProbeKey::kStride), kCaller = SetOf(ProbeKey::kCaller),
                        kTrips = SetOf(ProbeKey::kTrips), kReuse = SetOf(ProbeKey::kReuse),
                        kPath = SetOf(ProbeKey::kPath) | SetOf(ProbeKey::kPathStart);
  History history(ThreadHistory::Extent::kPart);
  CHECK(history.Execute(kLoad, 0x1000, 0, 0x500).unknown == (kStride | kCaller | kReuse | kPath));
  CHECK(history.Execute(kLoad, 0x1000, 0, 0x508).unknown == (kCaller | kPath));
  CHECK(history.Execute(kCallRax, 0x1010, 0x2000, 0x700).unknown ==
        (kStride | kCaller | kReuse | kPath));
  CHECK(history.Execute(kNop, 0x2000, 0).unknown == 0);
  CHECK(history.Execute(kJneBack, 0x2010, 0x2002).unknown == kTrips);
  CHECK(history.Execute(kJneBack, 0x2010, 0x2012).unknown == kTrips);
  const InstructionEvent second = history.Execute(kJneBack, 0x2010, 0x2012);
  CHECK(second.unknown == 0);
  CHECK(second.trips == 1);
  history.Execute(kReturn, 0x2020, 0x1012);
  CHECK(history.Execute(kNop, 0x1012, 0).unknown == (kCaller | kPath));
  history.Execute(kReturn, 0x1013, 0x3000);
  CHECK(history.Execute(kNop, 0x3000, 0).unknown == (kCaller | kPath));
  CHECK(History().Execute(kLoad, 0x1000, 0, 0x500).unknown == 0);
}

}  // namespace
}  // namespace hbbp
