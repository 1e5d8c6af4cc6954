// Checks what mode verify makes of hits that come late. Breakpoints are armed where this program
// never comes, and a handler has the registers that a hit would have.
#include "trace/verify_walk.h"

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <functional>

#include "support/catch.h"
#include "trace/interpreter/code_cache.h"

namespace hbbp::trace {
namespace {

// Four rounds are left at its start.
__asm__(
    ".pushsection .text\n"
    "hbbp_verified_loop:\n\t"
    "decl %ebx\n"
    "hbbp_verified_branch:\n\t"
    "jnz hbbp_verified_loop\n\t"
    "ret\n"
    ".popsection");
extern "C" const char hbbp_verified_loop[], hbbp_verified_branch[];
constexpr uint64_t kRounds = 4;

std::function<void(ucontext_t*)>* in_handler = nullptr;

void CallInHandler(int, siginfo_t*, void* context) {
  (*in_handler)(static_cast<ucontext_t*>(context));
}

// Calls body(registers of this thread), as a handler gets them.
void WithContext(std::function<void(ucontext_t*)> body) {
  in_handler = &body;
  struct sigaction action = {}, before;
  action.sa_sigaction = &CallInHandler;
  action.sa_flags = SA_SIGINFO;
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  ::raise(SIGUSR1);
  REQUIRE(::sigaction(SIGUSR1, &before, nullptr) == 0);
}

struct Outcome {
  bool is_refused;  // breakpoints cannot be set here
  WalkEnd at_sample, at_hit;
  uint64_t hits_elsewhere, registers_disagree, verified;
};

class Verification {
 public:
  Verification() {
    REQUIRE(slots_.Reserve(4));
    REQUIRE(recorder_.Reserve(4, true));
    code_cache_ = CodeCache::Create(1 << 20, nullptr);
    REQUIRE(code_cache_ != nullptr);
    REQUIRE(look_aheads_.Reserve(code_cache_));
    recorder_.SetLimits({256, 0, 0}, 0);
    recorder_.AllowThread();
    breakpoints_.Configure(1, true, false);
    bool is_new = false;
    slot_ = slots_.Claim(static_cast<uint32_t>(::gettid()), &is_new);
    REQUIRE(is_new);
  }
  ~Verification() {
    look_aheads_.Unmap();
    CodeCache::Destroy(code_cache_);
    recorder_.Release();
    slots_.Release();
  }
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;

  // A burst begins in front of the loop, and its first hit comes after so many rounds more than it
  // should.
  Outcome Verify(bool hits_may_be_late, uint64_t rounds_late) {
    walk_.SetHitsMayBeLate(hits_may_be_late);
    Outcome outcome = {};
    REQUIRE(recorder_.Begin(slot_, 1));
    WithContext([&](ucontext_t* context) {
      greg_t* const registers = context->uc_mcontext.gregs;
      const ucontext_t interrupted = *context;
      registers[REG_RIP] = reinterpret_cast<greg_t>(hbbp_verified_loop);
      registers[REG_RBX] = kRounds;
      outcome.at_sample = walk_.Begin(slot_, context);
      registers[REG_RIP] = reinterpret_cast<greg_t>(hbbp_verified_branch);
      registers[REG_RBX] = static_cast<greg_t>(kRounds - 1 - rounds_late);
      registers[REG_EFL] = FlagsBehindDec(registers[REG_EFL], registers[REG_RBX]);
      outcome.at_hit = walk_.Continue(slot_, context);
      ResumeBreakpoints::Disarm(slot_);
      walk_.Release(slot_);
      *context = interrupted;
    });
    recorder_.Finish(slot_);
    outcome.is_refused = Count(Counter::kBreakpointRefused) + Count(Counter::kNoDebugRegister) != 0;
    outcome.hits_elsewhere = Count(Counter::kHitElsewhere);
    outcome.registers_disagree = Count(Counter::kRegistersDisagree);
    outcome.verified = Count(Counter::kVerified);
    return outcome;
  }

 private:
  // `result` is small, and not negative.
  static greg_t FlagsBehindDec(greg_t flags, greg_t result) {
    constexpr greg_t kOfSfAf = 0x890, kZf = 0x40, kPf = 0x4;
    flags &= ~(kOfSfAf | kZf | kPf);
    if (result == 0) flags |= kZf;
    if (__builtin_popcountll(static_cast<uint64_t>(result)) % 2 == 0) flags |= kPf;
    return flags;
  }

  uint64_t Count(Counter counter) const { return slot_->counters[static_cast<uint32_t>(counter)]; }

  ThreadSlots slots_;
  BurstRecorder recorder_{&slots_};
  CodeCache* code_cache_ = nullptr;
  LookAheadPool look_aheads_;
  ResumeBreakpoints breakpoints_{&slots_};
  VerifyWalk walk_{&slots_, &recorder_, &breakpoints_, &look_aheads_};
  ThreadSlot* slot_ = nullptr;
};

TEST_CASE("a hit that comes when it should is verified") {
  for (const bool hits_may_be_late : {false, true}) {
    CAPTURE(hits_may_be_late);
    const Outcome outcome = Verification().Verify(hits_may_be_late, 0);
    if (outcome.is_refused) HBBP_SKIP("breakpoints cannot be set here");
    CHECK(outcome.at_sample == WalkEnd::kWaits);
    CHECK(outcome.at_hit == WalkEnd::kWaits);
    CHECK(outcome.verified == 1);
    CHECK(outcome.registers_disagree == 0);
    CHECK(outcome.hits_elsewhere == 0);
  }
}

// Real-time signals are not synchronous: the thread may be at the breakpoint again.
TEST_CASE("a hit that comes a round of the loop late ends the burst, without a disagreement") {
  const Outcome outcome = Verification().Verify(true, 1);
  if (outcome.is_refused) HBBP_SKIP("breakpoints cannot be set here");
  CHECK(outcome.at_sample == WalkEnd::kWaits);
  CHECK(outcome.at_hit == WalkEnd::kBurstEnds);
  CHECK(outcome.hits_elsewhere == 1);
  CHECK(outcome.verified == 0);
  CHECK(outcome.registers_disagree == 0);
}

TEST_CASE("where hits are synchronous, other registers are a disagreement") {
  const Outcome outcome = Verification().Verify(false, 1);
  if (outcome.is_refused) HBBP_SKIP("breakpoints cannot be set here");
  CHECK(outcome.at_sample == WalkEnd::kWaits);
  CHECK(outcome.registers_disagree == 1);
  CHECK(outcome.hits_elsewhere == 0);
}

}  // namespace
}  // namespace hbbp::trace
