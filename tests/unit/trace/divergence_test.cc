// Tests why a program is not where it was predicted to be.
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#include "support/catch.h"
#include "trace/disagreement_log.h"
#include "trace/interpreter/look_ahead.h"
#include "unit/trace/look_ahead_fixture.h"

namespace hbbp::trace {
namespace {

// Adds one to the word at rdi, stores the sum at rsi, and branches.
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

TEST_CASE("a store that is not in memory may be somebody else's, who put back what was there") {
  Prediction prediction(GENERATE(true, false));
  prediction.found.gpr[kRax] = 43;
  prediction.output = 7;
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

TEST_CASE("more reads than are kept explain nothing, and are not a mistake") {
  // Loads each word of an array.
  constexpr uint8_t kLoop[] = {
      0x48, 0x8b, 0x07,        // mov (%rdi), %rax
      0x48, 0x83, 0xc7, 0x08,  // add $8, %rdi
      0xff, 0xc9,              // dec %ecx
      0x75, 0xf5,              // jnz to the first
      0xc3,
  };
  const bool is_long = GENERATE(true, false);
  const uint32_t rounds = is_long ? 4096 : 20;
  static uint64_t words[4096];
  words[0] = 0;
  ucontext_t context;
  REQUIRE(::getcontext(&context) == 0);
  greg_t* registers = context.uc_mcontext.gregs;
  registers[REG_RIP] = reinterpret_cast<greg_t>(kLoop);
  registers[REG_RDI] = reinterpret_cast<greg_t>(words);
  registers[REG_RCX] = rounds;
  LookAheadFixture fixture;
  LookAhead* look_ahead = fixture.look_ahead();
  look_ahead->BeginVerified(context, false, true);
  TakenBranch branches[4];
  for (uint32_t i = 0; i < rounds; ++i) {
    if (i != 0) look_ahead->Continue(context);
    REQUIRE(look_ahead->RunToDynamicBranch(branches, 4, 1000).reason == StopReason::kDynamicBranch);
  }
  MachineState found = look_ahead->state();
  // An instruction may write a register without changing its value.
  ++found.gpr[kRax];
  words[0] = 1;
  CHECK(look_ahead->FindDivergence(found) ==
        (is_long ? Divergence::kReadsNotKept : Divergence::kMemoryChanged));
}

TEST_CASE("locations of disagreements are counted by reason, as many as there is room for") {
  static DisagreementLog log;
  log.Reset();
  const auto read = [] {
    std::map<std::pair<Divergence, uint64_t>, uint64_t> counts;
    log.Visit([&counts](Divergence reason, uint64_t address, uint64_t count) {
      counts[{reason, address}] = count;
    });
    return counts;
  };
  CHECK(read().empty());
  for (const uint64_t address : {10, 20, 10}) log.Add(Divergence::kMemoryChanged, address);
  log.Add(Divergence::kUnexplained, 10);
  CHECK(read() == decltype(read()){{{Divergence::kMemoryChanged, 10}, 2},
                                   {{Divergence::kMemoryChanged, 20}, 1},
                                   {{Divergence::kUnexplained, 10}, 1}});
  log.Reset();
  for (uint64_t address = 1; address < 100; ++address) log.Add(Divergence::kAtomic, address);
  CHECK(read().size() == DisagreementLog::kLocations);
  CHECK(read()[{Divergence::kAtomic, 1}] == 1);
}

}  // namespace hbbp::trace
