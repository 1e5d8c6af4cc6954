// Tests where registers of arguments and divisors are known.
#include "probes/burst_values.h"

#include <vector>

#include "support/catch.h"
#include "unit/probes/probe_stream.h"

namespace hbbp {
namespace {

constexpr ProbeKeySet kRdx = SetOf(ProbeKey::kRdx);
constexpr ProbeKeySet kDivisor = SetOf(ProbeKey::kDivisor);

class Burst {
 public:
  Burst(ProbeKeySet keys, const std::vector<RecordedAccess>& recorded) : values_(keys, recorded) {}

  // Executes the instruction. Its event is event() then.
  void Execute(const Code& code, uint32_t branch, uint32_t offset) {
    REQUIRE(set_.Prepare(code, {0x1000 + offset, 0x1000}, &instruction_));
    event_ = {};
    event_.instruction = &instruction_;
    values_.Complete(branch, offset, &event_);
  }
  BurstValues& values() { return values_; }
  ProbeKeySet unknown() const { return event_.unknown; }
  uint64_t NumberOf(ProbeKey key) const {
    return EventValues(set_.taxonomies(), event_, state_).NumberOf(key);
  }

 private:
  const ProductionSet set_ = ParseProductions("p: return => null, null");
  const BurstState state_;
  ProbedInstruction instruction_;
  InstructionEvent event_;
  BurstValues values_;
};

TEST_CASE("values: arguments are known at a call and at what it leads to") {
  const std::vector<RecordedAccess> recorded = {{8, 0, 2, RecordedKind::kRdx},
                                                {9, 1, 1, RecordedKind::kRdx}};
  Burst burst(kRdx, recorded);
  burst.Execute(kNop, 0, 0);
  CHECK(burst.unknown() == kRdx);
  burst.Execute(kCallForward, 0, 2);
  CHECK(burst.unknown() == 0);
  CHECK(burst.NumberOf(ProbeKey::kRdx) == 8);
  burst.Execute(kNop, 1, 0);
  CHECK(burst.unknown() == 0);
  CHECK(burst.NumberOf(ProbeKey::kRdx) == 8);
  burst.Execute(kJumpRax, 1, 1);
  CHECK(burst.NumberOf(ProbeKey::kRdx) == 9);
  const bool is_skipped = GENERATE(false, true);
  if (is_skipped) burst.values().SkipStream();
  burst.Execute(kNop, 2, 0);
  CHECK(burst.unknown() == (is_skipped ? kRdx : 0));
  // The interpreter did not know it there.
  burst.Execute(kCallRax, 2, 1);
  CHECK(burst.unknown() == kRdx);
  burst.Execute(kNop, 3, 0);
  CHECK(burst.unknown() == kRdx);
}

TEST_CASE("values: divisors have the size and the sign of their operand") {
  const Code idiv_dl = {0xf6, 0xfa};
  const Code div_bh = {0xf6, 0xf7};
  const Code idiv_memory = {0x48, 0xf7, 0x3b};  // idiv qword [rbx]
  const std::vector<RecordedAccess> recorded = {
      {5, 0, 0, RecordedKind::kRdx},
      {0xfe, 1, 0, RecordedKind::kDivisor},
      {0xfe, 1, 2, RecordedKind::kDivisor},
      {static_cast<uint64_t>(-3), 1, 4, RecordedKind::kDivisor}};
  Burst burst(kDivisor | kRdx, recorded);
  burst.Execute(kCallRax, 0, 0);
  CHECK(burst.unknown() == 0);
  CHECK(burst.NumberOf(ProbeKey::kDivisor) == 0);
  // The whole register is not known, though the call has passed it.
  burst.Execute(idiv_dl, 1, 0);
  CHECK(burst.unknown() == kRdx);
  CHECK(burst.NumberOf(ProbeKey::kDivisor) == static_cast<uint64_t>(-2));
  burst.Execute(div_bh, 1, 2);
  CHECK(burst.NumberOf(ProbeKey::kDivisor) == 0xfe);
  burst.Execute(idiv_memory, 1, 4);
  CHECK(burst.NumberOf(ProbeKey::kDivisor) == static_cast<uint64_t>(-3));
  burst.Execute(kDiv, 1, 7);
  CHECK(burst.unknown() == (kDivisor | kRdx));
}

TEST_CASE("values: productions that use none cost nothing, and know all") {
  const std::vector<RecordedAccess> recorded = {{5, 0, 0, RecordedKind::kRdx}};
  Burst burst(SetOf(ProbeKey::kPc), recorded);
  burst.Execute(kCallRax, 0, 0);
  CHECK(burst.unknown() == 0);
}

}  // namespace
}  // namespace hbbp
