// Tests look-ahead of another process: a child with other data than this process, stopped by
// ptrace.
#include "trace/interpreter/program_reader.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "isa/control_flow.h"
#include "support/catch.h"
#include "unit/trace/look_ahead_fixture.h"

namespace hbbp::trace {
namespace {

constexpr size_t kNumbers = 200;
constexpr uint32_t kBranches = 250;
constexpr size_t kPage = 4096;

// The child fills these; in this process they stay 0.
uint64_t g_numbers[kNumbers];
double g_fractions[kNumbers];
const volatile uint64_t* g_page;
volatile uint64_t g_sink;

// Takes a path that depends on memory, and stores what it reads again.
[[gnu::noinline]] void Mix() {
  double fraction = 0;
  for (size_t i = 0; i < kNumbers; ++i) {
    if (g_numbers[i] % 3 == 0) g_sink = g_sink + g_numbers[i];
    fraction += g_fractions[i];
    if (fraction > 1) {
      fraction -= 1;
      g_sink = g_sink ^ i;
    }
    g_numbers[(i + 7) % kNumbers] += g_sink;
  }
}

// Without the thread sanitizer, whose calls are branches.
[[gnu::noinline, gnu::no_sanitize_thread]] void ReadPage() { g_sink = *g_page; }

void FillNumbers() {
  uint64_t value = 88172645463325252;
  for (size_t i = 0; i < kNumbers; ++i) {
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
    g_numbers[i] = value;
    g_fractions[i] = static_cast<double>(value % 1000) / 1000;
  }
}

// Has a child that is stopped at the start of `function`.
class StoppedChild {
 public:
  StoppedChild(void (*prepare)(), void (*function)()) : pid_(::fork()) {
    if (pid_ == 0) {
      prepare();
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
      ::raise(SIGSTOP);
      function();
      ::_exit(0);
    }
    REQUIRE(pid_ > 0);
    is_stopped_ = WaitForStop();
    for (int steps = 0; is_stopped_ && Registers().rip != reinterpret_cast<uint64_t>(function);) {
      REQUIRE(++steps < 100'000);
      is_stopped_ = Step();
    }
  }
  ~StoppedChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  StoppedChild(const StoppedChild&) = delete;
  StoppedChild& operator=(const StoppedChild&) = delete;

  // Returns false where ptrace is refused.
  bool is_stopped() const { return is_stopped_; }

  user_regs_struct Registers() const {
    user_regs_struct registers;
    REQUIRE(::ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) == 0);
    return registers;
  }

  bool Step() {
    REQUIRE(::ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) == 0);
    return WaitForStop();
  }

  MemoryReader memory() { return {this, &Copy, pages_.data()}; }
  RegisterReader registers() const { return {this, &LoadGeneral, &LoadVector}; }

 private:
  static const StoppedChild& At(const void* child) {
    return *static_cast<const StoppedChild*>(child);
  }

  static PageCopy Copy(void* child, uint64_t page_address) {
    auto* const to = static_cast<StoppedChild*>(child)->pages_.data();
    const iovec local = {to + MemoryReader::OffsetOf(page_address), kPage};
    const iovec remote = {reinterpret_cast<void*>(page_address), kPage};
    const ssize_t copied = ::process_vm_readv(At(child).pid_, &local, 1, &remote, 1, 0);
    return copied == static_cast<ssize_t>(kPage) ? PageCopy::kUsed : PageCopy::kUnreadable;
  }

  static void LoadGeneral(const void* child, MachineState* state) {
    const user_regs_struct from = At(child).Registers();
    const uint64_t gpr[16] = {from.rax, from.rcx, from.rdx, from.rbx, from.rsp, from.rbp,
                              from.rsi, from.rdi, from.r8,  from.r9,  from.r10, from.r11,
                              from.r12, from.r13, from.r14, from.r15};
    std::memcpy(state->gpr, gpr, sizeof(gpr));
    state->gpr[kNoGpr] = 0;
    state->rip = from.rip;
    state->flags = from.eflags & (kArithmeticFlags | kFlagDf);
    state->fs_base = from.fs_base;
    state->gs_base = from.gs_base;
    state->poison = 0;
    state->has_vector_state = 0;
  }

  static void LoadVector(const void* child, MachineState* state) {
    user_fpregs_struct from;
    std::memset(state->zmm, 0, sizeof(state->zmm));
    std::memset(state->k, 0, sizeof(state->k));
    if (::ptrace(PTRACE_GETFPREGS, At(child).pid_, nullptr, &from) != 0) return;
    static_assert(sizeof(from) == sizeof(state->fxsave));
    std::memcpy(state->fxsave, &from, sizeof(from));
    for (unsigned i = 0; i < 16; ++i) std::memcpy(state->zmm[i], from.xmm_space + 4 * i, 16);
    state->mxcsr = from.mxcsr;
    state->has_vector_state = 1;
  }

  bool WaitForStop() const {
    int status = 0;
    return ::waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status);
  }

  pid_t pid_;
  bool is_stopped_ = false;
  std::vector<uint8_t> pages_ = std::vector<uint8_t>(MemoryReader::kPagesBytes);
};

// The branches of the child, which has the same code.
std::vector<TakenBranch> StepThrough(StoppedChild* child, size_t branches) {
  std::vector<TakenBranch> taken;
  while (taken.size() < branches) {
    const uint64_t ip = child->Registers().rip;
    ControlFlow flow;
    REQUIRE(DecodeControlFlow({reinterpret_cast<const uint8_t*>(ip), 15}, ip, &flow));
    REQUIRE(child->Step());
    const uint64_t next = child->Registers().rip;
    if (flow.kind != BranchKind::kNone && next != ip + flow.length) taken.push_back({ip, next});
  }
  return taken;
}

bool AreSame(const std::vector<TakenBranch>& found, const std::vector<TakenBranch>& predicted) {
  if (found.size() != predicted.size()) return false;
  return found.empty() ||
         std::memcmp(found.data(), predicted.data(), found.size() * sizeof(TakenBranch)) == 0;
}

}  // namespace

TEST_CASE("look-ahead follows another process by its memory and registers") {
  StoppedChild child(&FillNumbers, &Mix);
  if (!child.is_stopped()) HBBP_SKIP("ptrace is refused");
  LookAheadFixture fixture;
  LookAhead* look_ahead = fixture.look_ahead();
  std::vector<TakenBranch> predicted(kBranches);
  // The second run uses blocks of the code cache.
  for (int i = 0; i < 2; ++i) {
    look_ahead->Begin(child.registers(), child.memory());
    const RunResult result = look_ahead->Run(predicted.data(), kBranches, 1'000'000);
    CHECK(result.reason == StopReason::kFull);
    REQUIRE(result.branches == kBranches);
  }
  CHECK(AreSame(StepThrough(&child, kBranches), predicted));
  const user_regs_struct found = child.Registers();
  const MachineState& state = look_ahead->state();
  CHECK(state.poison == 0);
  CHECK(state.rip == found.rip);
  CHECK(state.gpr[kRax] == found.rax);
  CHECK(state.gpr[kRcx] == found.rcx);
  CHECK(state.gpr[kRdx] == found.rdx);
  CHECK(state.gpr[kRsp] == found.rsp);
}

TEST_CASE("what only this process has is not taken for memory of another one") {
  void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  g_page = static_cast<const volatile uint64_t*>(page);
  const auto unmap = [] { ::munmap(const_cast<uint64_t*>(g_page), kPage); };
  {
    StoppedChild child(unmap, &ReadPage);
    if (!child.is_stopped()) HBBP_SKIP("ptrace is refused");
    LookAheadFixture fixture;
    fixture.look_ahead()->Begin(child.registers(), child.memory());
    TakenBranch branch;
    const RunResult result = fixture.look_ahead()->Run(&branch, 1, 1000);
    CHECK(result.reason == StopReason::kUnreadableMemory);
    CHECK(result.branches == 0);
  }
  unmap();
}

TEST_CASE("a burst has the page faults that another process will have") {
  static uint64_t page[2 * kPage / sizeof(uint64_t)];
  g_page = page;
  StoppedChild child([] {}, &ReadPage);
  if (!child.is_stopped()) HBBP_SKIP("ptrace is refused");
  // All pages but those of the code are new.
  MemoryReader memory = child.memory();
  memory.copy = [](void* of_child, uint64_t page_address) {
    const PageCopy copied =
        static_cast<StoppedChild*>(of_child)->memory().copy(of_child, page_address);
    const bool is_code = page_address == reinterpret_cast<uint64_t>(&ReadPage) / kPage * kPage;
    return copied == PageCopy::kUsed && !is_code ? PageCopy::kNew : copied;
  };
  LookAheadFixture fixture;
  TakenBranch branch;
  const auto count = [&](const MemoryReader& reader) {
    fixture.look_ahead()->Begin(child.registers(), reader);
    (void)fixture.look_ahead()->Run(&branch, 1, 100);
    return fixture.look_ahead()->stats().memory_use.page_faults;
  };
  CHECK(count(child.memory()) == 0);
  CHECK(count(memory) > 0);
}

}  // namespace hbbp::trace
