// Tests how the registers of interrupted code are read from a signal's context, and the protection
// keys in a handler. Capture() loads a random state into the processor, raises a signal
// (NativeExecutor), and returns what a handler reads. MadeFrame makes frames with parts that are
// unused, missing or cut off.
#include "trace/native/signal_context.h"

#include <asm/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "support/catch.h"
#include "support/native_executor.h"
#include "unit/trace/random_state.h"
#include "unit/trace/state_difference.h"

namespace hbbp::testing {
namespace {

using trace::LoadGeneralRegisters;
using trace::LoadVectorState;
using trace::MachineState;
using trace::PrepareSignalContext;
using trace::TakeProtectionKeys;

MachineState* caught;
bool with_vectors;

void StoreContext(int, siginfo_t*, void* context) {
  auto* user = static_cast<ucontext_t*>(context);
  LoadGeneralRegisters(*user, caught);
  if (with_vectors) LoadVectorState(*user, caught);
  user->uc_mcontext.gregs[REG_RIP] += 2;  // over ud2
}

// Returns what a handler reads of `state` at an instruction that cannot run.
std::unique_ptr<MachineState> Capture(NativeExecutor* executor, MachineState* state,
                                      uint8_t garbage = 0xa5) {
  auto result = std::make_unique<MachineState>();
  std::memset(static_cast<void*>(result.get()), garbage, sizeof(MachineState));
  caught = result.get();
  // This runs on the stack that the executor has set up.
  struct sigaction action = {};
  action.sa_sigaction = StoreContext;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  struct sigaction old_action;
  sigaction(SIGILL, &action, &old_action);
  constexpr uint8_t kUndefined[] = {0x0f, 0x0b};
  CHECK(executor->Run(kUndefined, state) == 0);
  sigaction(SIGILL, &old_action, nullptr);
  return result;
}

}  // namespace

TEST_CASE("a signal's context has all registers of the interrupted code") {
  PrepareSignalContext();
  NativeExecutor executor;
  if (!executor.is_usable()) HBBP_SKIP("the host forbids writable and executable memory");
  with_vectors = true;
  Random random(7);
  for (int trial = 0; trial < 200; ++trial) {
    auto state = std::make_unique<MachineState>();
    FillState(&random, state.get());
    const auto result = Capture(&executor, state.get());
    const std::string difference =
        FindDifference(*state, *result, trace::kArithmeticFlags | trace::kFlagDf);
    CHECK(difference == "");
    CHECK(result->rip == executor.code_address());
    CHECK(result->gpr[trace::kNoGpr] == 0);
    CHECK(result->poison == 0);
    CHECK(result->has_vector_state == 1);
    CHECK((result->flags & ~(trace::kArithmeticFlags | trace::kFlagDf)) == 0);
  }
}

TEST_CASE("general registers come without vectors") {
  PrepareSignalContext();
  NativeExecutor executor;
  if (!executor.is_usable()) HBBP_SKIP("the host forbids writable and executable memory");
  with_vectors = false;
  Random random(8);
  auto state = std::make_unique<MachineState>();
  FillState(&random, state.get());
  const auto result = Capture(&executor, state.get());
  CHECK(std::memcmp(result->gpr, state->gpr, 16 * 8) == 0);
  CHECK(result->has_vector_state == 0);
  CHECK(result->zmm[0][0] == 0xa5);
  uint64_t fs_base = 0;
  uint64_t gs_base = 0;
  syscall(SYS_arch_prctl, ARCH_GET_FS, &fs_base);
  syscall(SYS_arch_prctl, ARCH_GET_GS, &gs_base);
  CHECK(result->fs_base == fs_base);
  CHECK(result->gs_base == gs_base);
}

TEST_CASE("state in its initial configuration is zero") {
  PrepareSignalContext();
  NativeExecutor executor;
  if (!executor.is_usable()) HBBP_SKIP("the host forbids writable and executable memory");
  with_vectors = true;
  auto state = std::make_unique<MachineState>();
  std::memset(static_cast<void*>(state.get()), 0, sizeof(MachineState));
  constexpr uint16_t kX87Control = 0x037f;
  std::memcpy(state->fxsave, &kX87Control, sizeof(kX87Control));
  state->mxcsr = 0x9fc0;
  const auto result = Capture(&executor, state.get());
  CHECK(FindDifference(*state, *result, trace::kArithmeticFlags) == "");
  CHECK(result->mxcsr == 0x9fc0);
  CHECK(result->zmm[31][63] == 0);
}

namespace {

// Makes a frame as the kernel writes it, with few components in use.
struct MadeFrame {
  explicit MadeFrame(uint64_t in_use) {
    std::memset(bytes, 0xee, sizeof(bytes));
    constexpr uint32_t kMagic = 0x46505853;
    constexpr uint64_t kFeatures = 0xe7;
    constexpr uint32_t kSize = sizeof(bytes);
    std::memcpy(bytes + 24, &mxcsr, 4);
    std::memcpy(bytes + 464, &kMagic, 4);
    std::memcpy(bytes + 472, &kFeatures, 8);
    std::memcpy(bytes + 480, &kSize, 4);
    std::memcpy(bytes + 512, &in_use, 8);
    std::memset(&context, 0, sizeof(context));
    context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(bytes);
  }

  static constexpr uint32_t mxcsr = 0x5fa1;
  alignas(64) uint8_t bytes[2696];
  ucontext_t context;
};

uint16_t X87Control(const MachineState& state) {
  uint16_t control = 0;
  std::memcpy(&control, state.fxsave, sizeof(control));
  return control;
}

}  // namespace

TEST_CASE("parts that a frame marks as unused are not read") {
  PrepareSignalContext();
  auto state = std::make_unique<MachineState>();
  const MadeFrame nothing(0);
  LoadVectorState(nothing.context, state.get());
  CHECK(state->mxcsr == MadeFrame::mxcsr);
  CHECK(X87Control(*state) == 0x037f);
  CHECK(state->fxsave[4] == 0);
  CHECK(state->zmm[0][0] == 0);
  CHECK(state->zmm[15][31] == 0);
  CHECK(state->zmm[31][63] == 0);
  CHECK(state->k[7] == 0);

  const MadeFrame sse(2);
  LoadVectorState(sse.context, state.get());
  CHECK(state->zmm[3][15] == 0xee);
  CHECK(state->zmm[3][16] == 0);
  CHECK(X87Control(*state) == 0x037f);

  const MadeFrame x87(1);
  LoadVectorState(x87.context, state.get());
  CHECK(state->zmm[3][15] == 0);
  CHECK(X87Control(*state) == 0xeeee);
}

TEST_CASE("a frame without XSAVE has what FXSAVE has") {
  PrepareSignalContext();
  auto state = std::make_unique<MachineState>();
  MadeFrame frame(0);
  std::memset(frame.bytes + 464, 0, 48);
  LoadVectorState(frame.context, state.get());
  CHECK(state->zmm[15][15] == 0xee);
  CHECK(state->zmm[15][16] == 0);
  CHECK(X87Control(*state) == 0xeeee);
  CHECK(state->mxcsr == MadeFrame::mxcsr);
}

TEST_CASE("a frame that is shorter than its parts is not read beyond its end") {
  PrepareSignalContext();
  auto state = std::make_unique<MachineState>();
  MadeFrame frame(0xe7);
  constexpr uint32_t kShort = 600;
  std::memcpy(frame.bytes + 480, &kShort, 4);
  LoadVectorState(frame.context, state.get());
  CHECK(state->zmm[0][15] == 0xee);
  CHECK(state->zmm[0][16] == 0);
  CHECK(state->k[0] == 0);
}

namespace {

int protection_key;
volatile int* keyed_word;
int word_in_handler;
int rights_before, rights_after;

void ReadKeyedWord(int, siginfo_t*, void* context) {
  rights_before = pkey_get(protection_key);
  TakeProtectionKeys(*static_cast<ucontext_t*>(context));
  rights_after = pkey_get(protection_key);
  if (rights_after == 0) word_in_handler = *keyed_word;
}

}  // namespace

TEST_CASE("a handler takes the rights of what it interrupted to keys") {
  PrepareSignalContext();
  protection_key = pkey_alloc(0, 0);
  if (protection_key < 0) HBBP_SKIP("this machine has no memory protection keys");
  constexpr size_t kBytes = 4096;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  REQUIRE(pkey_mprotect(memory, kBytes, PROT_READ | PROT_WRITE, protection_key) == 0);
  keyed_word = static_cast<int*>(memory);
  *keyed_word = 42;
  struct sigaction action = {};
  action.sa_sigaction = ReadKeyedWord;
  action.sa_flags = SA_SIGINFO;
  struct sigaction old_action;
  sigaction(SIGUSR1, &action, &old_action);
  word_in_handler = 0;
  raise(SIGUSR1);
  CHECK(rights_before != 0);
  CHECK(rights_after == 0);
  CHECK(word_in_handler == 42);

  pkey_set(protection_key, PKEY_DISABLE_ACCESS);
  raise(SIGUSR1);
  CHECK(rights_after == PKEY_DISABLE_ACCESS);
  CHECK(pkey_get(protection_key) == PKEY_DISABLE_ACCESS);

  sigaction(SIGUSR1, &old_action, nullptr);
  munmap(memory, kBytes);
  pkey_free(protection_key);
}

TEST_CASE("a context without floating-point state is in the initial state") {
  auto state = std::make_unique<MachineState>();
  ucontext_t context;
  std::memset(&context, 0, sizeof(context));
  LoadVectorState(context, state.get());
  CHECK(state->mxcsr == 0x1f80);
  CHECK(X87Control(*state) == 0x037f);
  CHECK(state->zmm[0][0] == 0);
  CHECK(state->has_vector_state == 1);
}

}  // namespace hbbp::testing
