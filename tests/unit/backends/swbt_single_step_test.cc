// Interrupts code before each of its instructions, by the trap flag, and sends a sample there. The
// burst that starts there must have the branches that the program then takes.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "isa/control_flow.h"
#include "support/branch_tracing.h"
#include "support/catch.h"
#include "support/single_step.h"
#include "trace/signal_data.h"

namespace hbbp {
namespace {

constexpr uint32_t kBranches = 24;

struct Steps {
  std::vector<uint64_t> path;  // allocated before, because a signal handler writes it
  size_t count = 0;
  uint64_t sample_data = 0;
  bool may_sample = false;
};

// The signal waits until the handler of the trap returns, and comes at the same instruction.
void SampleHere(const ucontext_t& context, void* user) {
  auto* steps = static_cast<Steps*>(user);
  const auto ip = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  const bool is_new = steps->count == 0 || steps->path[steps->count - 1] != ip;
  if (!is_new || steps->count == steps->path.size()) return;
  steps->path[steps->count++] = ip;
  if (!steps->may_sample) return;
  // The worker must have time to empty the buffers.
  if (steps->count % 16 == 0) SleepMs(2);
  siginfo_t info = {};
  info.si_signo = SIGTRAP;
  info.si_code = SI_QUEUE;
  trace::SetSignalData(&info, steps->sample_data);
  ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::gettid(), SIGTRAP, &info);
}

struct Work {
  char text[400];
  double number;
  size_t length;
};

int Compare(const void* left, const void* right) {
  return std::strcmp(static_cast<const char*>(left), static_cast<const char*>(right));
}

// Formats, parses, sorts by pointer to function, and calls string functions with vector
// instructions.
void DoWork(void* argument) {
  auto* work = static_cast<Work*>(argument);
  std::snprintf(work->text, sizeof(work->text), "%s %d %.6f %x", "pelican heron stork", 4711,
                3.14159, 48879);
  work->number = std::strtod("-271.8281828e-2", nullptr);
  char words[8][8] = {"stork", "heron", "egret", "ibis", "bittern", "crane", "coot", "rail"};
  std::qsort(words, 8, 8, Compare);
  for (const char* word : words) std::strcat(work->text, word);
  work->length = std::strlen(work->text);
}

std::vector<TakenBranch> TakenBranchesOf(const Steps& steps) {
  std::vector<TakenBranch> branches;
  std::map<uint64_t, ControlFlow> decoded;
  for (size_t i = 0; i + 1 < steps.count; ++i) {
    const uint64_t ip = steps.path[i], next = steps.path[i + 1];
    ControlFlow& flow = decoded[ip];
    if (flow.length == 0) {
      REQUIRE(DecodeControlFlow({reinterpret_cast<const uint8_t*>(ip), kMaxInstructionLength}, ip,
                                &flow));
    }
    if (next != ip + flow.length) branches.push_back({ip, next});
  }
  return branches;
}

bool AreEqual(const TakenBranch& left, const TakenBranch& right) {
  return left.from == right.from && left.to == right.to;
}

TEST_CASE("a burst may begin at every instruction") {
  BackendConfig config = BranchConfig(TraceMode::kLookAhead, kBranches);
  config.period = uint64_t{1} << 40;
  Work expected = {}, work = {};
  DoWork(&expected);
  Steps steps;
  steps.path.resize(100'000);
  const BranchSink sink = TraceBranches(config, [&] {
    steps.sample_data = trace::Tracer::Get().SampleData(1);
    struct Argument {
      Steps* steps;
      Work* work;
    } argument = {&steps, &work};
    const auto sleep_and_work = [](void* pointer) {
      auto* both = static_cast<Argument*>(pointer);
      // The stepper's handler precedes the tracer's until the worker finds that out.
      SleepMs(400);
      both->steps->may_sample = true;
      both->steps->count = 0;
      DoWork(both->work);
      both->steps->may_sample = false;
    };
    SingleStep::Run(sleep_and_work, &argument, SampleHere, &steps);
  });
  CAPTURE(sink.Describe(), steps.count);
  CHECK(std::memcmp(&work, &expected, sizeof(work)) == 0);
  REQUIRE(steps.count > 2000);
  CHECK(sink.CounterOf("samples") > steps.count * 95 / 100);
  CHECK(sink.bursts.size() > steps.count * 90 / 100);

  const std::vector<TakenBranch> taken = TakenBranchesOf(steps);
  size_t wrong = 0;
  auto position = taken.begin();
  for (const auto& [tid, burst] : sink.bursts) {
    // The last bursts continue after the code that was stepped through.
    const bool is_whole = burst.size() == kBranches;
    const auto found = std::search(position, taken.end(), burst.begin(), burst.end(), AreEqual);
    if (found != taken.end()) {
      position = found;
    } else if (is_whole && taken.end() - position > 2 * kBranches) {
      ++wrong;
    }
  }
  CHECK(wrong == 0);
  CHECK(taken.end() - position <= 2 * kBranches);
}

}  // namespace
}  // namespace hbbp
