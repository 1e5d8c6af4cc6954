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
    values_.Complete(branch, offset, FindWrittenRegisters(code), &event_);
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

TEST_CASE("values: arguments are known from a call on until they are written to") {
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
  // There was no room for it at this call.
  burst.Execute(kCallRax, 2, 1);
  CHECK(burst.unknown() == (is_skipped ? kRdx : 0));
  const Code write = GENERATE(Code{0xb2, 0x01},              // mov dl, 1
                              Code{0x48, 0x0f, 0x44, 0xd0},  // cmove rdx, rax
                              Code{0x48, 0xf7, 0xe1});       // mul rcx
  burst.Execute(write, 3, 0);
  CHECK(burst.unknown() == (is_skipped ? kRdx : 0));
  burst.Execute(kNop, 3, 4);
  CHECK(burst.unknown() == kRdx);
}

TEST_CASE("values: what is written is all of a register, whatever part an instruction writes to") {
  const auto bit = [](unsigned number) { return static_cast<RegisterSet>(1u << number); };
  constexpr unsigned kRax = 0, kRcx = 1, kRdxNumber = 2, kRbx = 3, kRsp = 4, kR11 = 11;
  CHECK(FindWrittenRegisters(kNop) == 0);
  CHECK(FindWrittenRegisters(Code{0xb7, 0x01}) == bit(kRbx));  // mov bh, 1
  CHECK(FindWrittenRegisters(Code{0x48, 0x39, 0xca}) == 0);    // cmp rdx, rcx
  CHECK(FindWrittenRegisters(Code{0x0f, 0xa2}) ==
        (bit(kRax) | bit(kRbx) | bit(kRcx) | bit(kRdxNumber)));              // cpuid
  CHECK(FindWrittenRegisters(Code{0x0f, 0x05}) == (bit(kRcx) | bit(kR11)));  // syscall
  CHECK(FindWrittenRegisters(kCallRax) == bit(kRsp));
  CHECK(FindWrittenRegisters(Code{0x06}) == 0xffff);  // none in 64-bit code
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
  burst.Execute(kNop, 1, 1);
  CHECK(burst.unknown() == kRdx);
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
