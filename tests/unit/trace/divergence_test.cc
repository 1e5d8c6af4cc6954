// Why a program is not where it was predicted to be.
#include <ucontext.h>

#include <cstdint>
#include <cstring>

#include "support/catch.h"
#include "trace/look_ahead.h"
#include "unit/trace/look_ahead_fixture.h"

namespace hbbp::trace {
namespace {

// Adds one to what rdi points to and stores that where rsi points to; then a branch.
constexpr uint8_t kCode[] = {
    0x48, 0x8b, 0x07,        // mov (%rdi), %rax
    0x48, 0x83, 0xc0, 0x01,  // add $1, %rax
    0x48, 0x89, 0x06,        // mov %rax, (%rsi)
    0x48, 0x83, 0xf8, 0x05,  // cmp $5, %rax
    0x74, 0x00,              // jz
    0xc3,
};

class Prediction {
 public:
  explicit Prediction(bool keeps_reads = true) {
    std::memcpy(code, kCode, sizeof(kCode));
    ucontext_t context;
    REQUIRE(::getcontext(&context) == 0);
    greg_t* registers = context.uc_mcontext.gregs;
    registers[REG_RIP] = reinterpret_cast<greg_t>(code);
    registers[REG_RDI] = reinterpret_cast<greg_t>(&input);
    registers[REG_RSI] = reinterpret_cast<greg_t>(&output);
    TakenBranch branches[4];
    look_ahead()->BeginVerified(context, false, keeps_reads);
    const RunResult result = look_ahead()->RunToDynamicBranch(branches, 4, 1000);
    REQUIRE(result.reason == StopReason::kDynamicBranch);
    found = look_ahead()->state();
    REQUIRE(found.gpr[kRax] == 42);
    // The program does the same.
    output = 42;
  }

  LookAhead* look_ahead() { return fixture_.look_ahead(); }
  Divergence Find() { return look_ahead()->FindDivergence(found); }

  uint8_t code[64] = {};
  alignas(64) uint64_t input = 41;
  alignas(64) uint64_t output = 7;
  MachineState found;

 private:
  LookAheadFixture fixture_;
};

}  // namespace

TEST_CASE("a wrong register that nothing explains is a mistake") {
  Prediction prediction;
  prediction.found.gpr[kRax] = 43;
  CHECK(prediction.Find() == Divergence::kUnexplained);
}

TEST_CASE("memory that was read and has changed explains a wrong register") {
  Prediction prediction;
  prediction.input = 50;
  prediction.found.gpr[kRax] = 51;
  prediction.output = 51;
  CHECK(prediction.Find() == Divergence::kMemoryChanged);
}

TEST_CASE("memory that was read, stored to and has changed may be somebody else's store") {
  Prediction prediction;
  prediction.found.gpr[kRax] = 43;
  prediction.output = 43;
  CHECK(prediction.Find() == Divergence::kStoreChanged);
}

TEST_CASE("code that has changed explains a wrong register") {
  Prediction prediction;
  prediction.code[6] = 2;
  prediction.found.gpr[kRax] = 43;
  CHECK(prediction.Find() == Divergence::kCodeChanged);
}

TEST_CASE("registers that no predicted instruction writes show another path") {
  Prediction prediction;
  prediction.found.gpr[kRax] = 43;
  prediction.found.gpr[kRbx] += 8;
  CHECK(prediction.Find() == Divergence::kOtherPath);
}

TEST_CASE(
    "without what was read nothing is called a mistake, and another path is seen all the same") {
  Prediction prediction(false);
  prediction.input = 50;
  prediction.found.gpr[kRax] = 51;
  CHECK(prediction.Find() == Divergence::kReadsNotKept);
  prediction.found.gpr[kRbx] += 8;
  CHECK(prediction.Find() == Divergence::kOtherPath);
}

TEST_CASE("what an earlier prediction read is forgotten") {
  Prediction prediction;
  prediction.input = 50;
  ucontext_t context;
  REQUIRE(::getcontext(&context) == 0);
  prediction.look_ahead()->BeginVerified(context, false, true);
  CHECK(prediction.Find() != Divergence::kMemoryChanged);
}

}  // namespace hbbp::trace
