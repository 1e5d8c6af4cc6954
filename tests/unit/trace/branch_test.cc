#include "trace/branch.h"

#include <cstring>
#include <vector>

#include "support/catch.h"

namespace hbbp::trace {
namespace {

constexpr uint64_t kAddress = 0x401000;

Branch Describe(std::vector<uint8_t> code) {
  code.resize(code.size() + 16, 0x90);
  Branch branch;
  REQUIRE(DescribeBranch(code.data(), code.size(), kAddress, &branch));
  return branch;
}

bool IsBranch(std::vector<uint8_t> code) {
  Branch branch;
  return DescribeBranch(code.data(), code.size(), kAddress, &branch);
}

MachineState StateWith(uint64_t flags, uint64_t rcx = 0) {
  MachineState state;
  std::memset(&state, 0, sizeof(state));
  state.flags = flags;
  state.gpr[kRcx] = rcx;
  return state;
}

BranchOutcome Outcome(const std::vector<uint8_t>& code, const MachineState& state) {
  return Evaluate(Describe(code), state);
}

// Returns the result of the processor's setcc for each set of flags.
bool ProcessorFulfils(uint8_t condition, uint64_t flags) {
  bool result = false;
#define HBBP_CASE(number, suffix)                                                       \
  case number:                                                                          \
    asm volatile("push %1; popf; set" suffix " %0" : "=q"(result) : "r"(flags) : "cc"); \
    break;
  switch (condition) {
    HBBP_CASE(0, "o")
    HBBP_CASE(1, "no")
    HBBP_CASE(2, "b")
    HBBP_CASE(3, "ae")
    HBBP_CASE(4, "e")
    HBBP_CASE(5, "ne")
    HBBP_CASE(6, "be")
    HBBP_CASE(7, "a")
    HBBP_CASE(8, "s")
    HBBP_CASE(9, "ns")
    HBBP_CASE(10, "p")
    HBBP_CASE(11, "np")
    HBBP_CASE(12, "l")
    HBBP_CASE(13, "ge")
    HBBP_CASE(14, "le")
    HBBP_CASE(15, "g")
    default:
      break;
  }
#undef HBBP_CASE
  return result;
}

TEST_CASE("condition codes mean what the processor takes them for, for all flags") {
  constexpr uint64_t kBits[] = {kFlagCf, kFlagPf, kFlagAf, kFlagZf, kFlagSf, kFlagOf};
  for (unsigned set = 0; set < 64; ++set) {
    uint64_t flags = 0;
    for (unsigned i = 0; i < 6; ++i) {
      if (set & (1u << i)) flags |= kBits[i];
    }
    for (uint8_t condition = 0; condition < 16; ++condition) {
      CAPTURE(int{condition}, flags);
      CHECK(FlagsFulfil(condition, flags) == ProcessorFulfils(condition, flags | 0x202));
    }
  }
}

TEST_CASE("a conditional branch goes to its target or on, in its short and its long form") {
  for (const auto& code : {std::vector<uint8_t>{0x74, 0x10},
                           {0x0f, 0x84, 0x0c, 0, 0, 0},
                           {0x2e, 0x74, 0x0f},
                           {0xf2, 0x74, 0x0f}}) {
    const BranchOutcome taken = Outcome(code, StateWith(kFlagZf));
    CHECK(taken.known);
    CHECK(taken.taken);
    CHECK(taken.next == kAddress + 0x12);
    const BranchOutcome not_taken = Outcome(code, StateWith(0));
    CHECK(not_taken.known);
    CHECK_FALSE(not_taken.taken);
    CHECK(not_taken.next == kAddress + code.size());
  }
}

TEST_CASE("loops and jrcxz look at the counter as it will be") {
  const std::vector<uint8_t> loop = {0xe2, 0x10}, loope = {0xe1, 0x10}, loopne = {0xe0, 0x10},
                             jrcxz = {0xe3, 0x10}, jecxz = {0x67, 0xe3, 0x10},
                             loop32 = {0x67, 0xe2, 0x10};
  CHECK(Outcome(loop, StateWith(0, 2)).taken);
  CHECK_FALSE(Outcome(loop, StateWith(0, 1)).taken);
  CHECK(Outcome(loop, StateWith(0, 0)).taken);
  CHECK(Outcome(loope, StateWith(kFlagZf, 2)).taken);
  CHECK_FALSE(Outcome(loope, StateWith(0, 2)).taken);
  CHECK(Outcome(loopne, StateWith(0, 2)).taken);
  CHECK_FALSE(Outcome(loopne, StateWith(kFlagZf, 2)).taken);
  CHECK(Outcome(jrcxz, StateWith(0, 0)).taken);
  CHECK_FALSE(Outcome(jrcxz, StateWith(0, uint64_t{1} << 32)).taken);
  CHECK(Outcome(jecxz, StateWith(0, uint64_t{1} << 32)).taken);
  CHECK_FALSE(Outcome(loop32, StateWith(0, (uint64_t{1} << 32) + 1)).taken);
}

TEST_CASE("the code alone resolves direct jumps and calls, and nothing else") {
  CHECK(IsResolvedByCode(Describe({0xeb, 0x10})));
  CHECK(IsResolvedByCode(Describe({0xe9, 0, 1, 0, 0})));
  CHECK(IsResolvedByCode(Describe({0xe8, 0, 1, 0, 0})));
  CHECK_FALSE(IsResolvedByCode(Describe({0x74, 0x10})));
  CHECK_FALSE(IsResolvedByCode(Describe({0xe3, 0x10})));
  CHECK_FALSE(IsResolvedByCode(Describe({0xc3})));
  CHECK_FALSE(IsResolvedByCode(Describe({0xff, 0xe0})));
  CHECK(Outcome({0xe8, 0, 1, 0, 0}, StateWith(0)).next == kAddress + 5 + 0x100);
  CHECK(Describe({0xe8, 0, 1, 0, 0}).stack_change == -8);
}

TEST_CASE("targets are found in registers and in memory") {
  MachineState state = StateWith(0);
  uint64_t table[4] = {1, 2, 3, 0x7777};
  state.gpr[kRax] = 0x1234;
  state.gpr[kR11] = 0x5678;
  CHECK(Outcome({0xff, 0xe0}, state).next == 0x1234);        // jmp rax
  CHECK(Outcome({0x41, 0xff, 0xd3}, state).next == 0x5678);  // call r11
  CHECK(Outcome({0x3e, 0xff, 0xe0}, state).next == 0x1234);  // notrack jmp rax
  state.gpr[kRbx] = reinterpret_cast<uint64_t>(table);
  state.gpr[kRdx] = 2;
  CHECK(Outcome({0xff, 0x64, 0xd3, 0x08}, state).next == 0x7777);  // jmp [rbx + rdx*8 + 8]
  state.gpr[kRsp] = reinterpret_cast<uint64_t>(&table[1]);
  CHECK(Outcome({0xc3}, state).next == 2);  // ret
  CHECK(Describe({0xc3}).stack_change == 8);
  CHECK(Describe({0xc2, 0x10, 0x00}).stack_change == 24);  // ret 16
  CHECK(Describe({0xf3, 0xc3}).stack_change == 8);
}

TEST_CASE("a target relative to rip or to a segment is found") {
  MachineState state = StateWith(0);
  static uint64_t slot = 0x4242;
  state.fs_base = reinterpret_cast<uint64_t>(&slot) - 0x10;
  CHECK(Outcome({0x64, 0xff, 0x24, 0x25, 0x10, 0, 0, 0}, state).next == 0x4242);  // jmp fs:[16]
  const Branch branch = Describe({0xff, 0x25, 0x10, 0, 0, 0});                    // jmp [rip + 16]
  CHECK(branch.target.constant == kAddress + 6 + 0x10);
  CHECK(branch.target.base == kNoGpr);
}

TEST_CASE("a target in memory that is not there is unknown") {
  MachineState state = StateWith(0);
  state.gpr[kRsp] = 0x10;
  CHECK_FALSE(Outcome({0xc3}, state).known);
  state.gpr[kRsp] = uint64_t{0xffff'8000'0000'0000};
  CHECK_FALSE(Outcome({0xc3}, state).known);
}

TEST_CASE("an instruction that does not continue in the program is not a branch") {
  CHECK_FALSE(IsBranch({0x90}));
  CHECK_FALSE(IsBranch({0x0f, 0x05}));  // syscall
  CHECK_FALSE(IsBranch({0xcc}));        // int3
  CHECK_FALSE(IsBranch({0xcb}));        // retf
  CHECK_FALSE(IsBranch({0xff, 0x28}));  // jmp far
  CHECK_FALSE(IsBranch({0x06}));        // invalid
  CHECK_FALSE(IsBranch({0xe8, 0x00}));  // cut off
}

}  // namespace
}  // namespace hbbp::trace
